#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 90
# settings: one: programs of one process
# docs/guide/limits.md lists by profile whether a program gets all objects together, and how many queues as large as
# stated: it gets them, to 1 %.
. "$(dirname "$0")/../../lib/lib.sh"
[ -z "${SAN_RDMAEMU-}" ] || skip_all "a sanitizer maps terabytes"
page=$TOP/docs/guide/limits.md

# holds PROFILE MODE CELL - the program makes what the cell says: "all 8", or "1,365 of 65,000"
holds() {
	local out made of want want_of cell=${3//,/}
	want=$(sed -E 's/^ *(all )?([0-9]+).*/\2/' <<<"$cell")
	want_of=$(sed -E 's/.* ([0-9]+) *$/\1/' <<<"$cell")
	out=$(limit "$RDMAEMU" run --profile "$1" --fabric "$1" -- "$T/app_device_advertised" "$2") || return
	read -r made of < <(sed -n 's/^made \(.*\) of \(.*\)/\1 \2/p' <<<"$out")
	echo "$out, the page has:$3"
	! grep -q '^not ok' <<<"$out" && [ "$of" = "$want_of" ] &&
		[ $((made * 100)) -ge $((want * 99)) ] && [ $((made * 100)) -le $((want * 101)) ]
}

rows=0
while IFS='|' read -r _ profiles together cqs qps qps_sge _; do
	for profile in $(tr -d '`,' <<<"$profiles"); do
		rows=$((rows + 1))
		is "$profile: the page says all together" "$together" " all "
		RUN_FLAGS="--profile $profile --fabric $profile" app app_device_advertised objects
		check "$profile: CQs" holds "$profile" cqs "$cqs"
		check "$profile: QPs with one SGE" holds "$profile" qps "$qps"
		check "$profile: QPs with max_sge" holds "$profile" qps_sge "$qps_sge"
		limit "$RDMAEMU" fabric stop --fabric "$profile" >/dev/null 2>&1
	done
done < <(sed -n '/^| profile | QPs, CQs/,/^$/p' "$page" | sed '1,2d')
files=("$TOP"/profiles/*.conf)
is "the table has all profiles" "$rows" "${#files[@]}"
done_testing
