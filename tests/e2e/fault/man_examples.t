#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: what is written in a page
# Every rule that rdmaemu-faults(7) shows can be added, and traffic continues under it. tests/e2e/docs/commands.t runs
# the commands of the page.
. "$(dirname "$0")/../../lib/lib.sh"

PAGE=$TOP/man/rdmaemu-faults.7
FAULT=$T/app_fault_packets

# examples - the lines of the page's examples, as a reader sees them, without comments
examples() {
	awk '/^\.EX/ { on = 1; next } /^\.EE/ { on = 0 } on' "$PAGE" |
		sed 's/\\-/-/g; s/\\e/\\/g; s/[[:space:]]*#.*//'
}

# node_in RULE - the node that its packets are of
node_in() {
	case $1 in
	*node=*) expr "$1 " : '.*node=\([^ ]*\) ' ;;
	*) echo a ;;
	esac
}

# under RULE - it is added, shown, and what goes on under it ends; then it is removed
under() {
	local node out
	node=$(node_in "$1")
	"$RDMAEMU" fault add "$1" || return
	out=$("$RDMAEMU" fault list) || return
	echo "$out"
	[ "$(wc -l <<<"$out")" -gt 1 ] || return
	# Completions with an error are expected; no completion at all is a failure.
	limit "$RDMAEMU" run --node "$node" -- "$FAULT" local RC send 20 3000 timeout=8 retry=3 >"$TEST_DIR/out"
	grep -c '^send ' "$TEST_DIR/out"
	"$RDMAEMU" fault clear && [ "$(grep -c '^send ' "$TEST_DIR/out")" = 20 ]
}

check "the page is there" test -r "$PAGE"
n=0
while read -r line; do
	case $line in
	'' | '$ '*) continue ;;
	*)
		[ $n != 0 ] || "$RDMAEMU" fabric start
		check "$line" under "$line"
		;;
	esac
	n=$((n + 1))
done < <(examples)
check "there are examples, $n" test $n -gt 40
check "the fabric is sound" "$RDMAEMU" status --audit
"$RDMAEMU" fabric stop
done_testing
