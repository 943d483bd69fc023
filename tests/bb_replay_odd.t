#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the programs are on nodes of their own
# `rdmaemu replay DIR --as PROGRAM --unexpected WHAT -- OTHER`: a live program that does something else; and keys that
# were recorded are those that it sees, whatever it registers.
. "$(dirname "$0")/lib.sh"
need rping

S=10.77.0.1
P=24712
cd "$TEST_DIR" || exit 1

# live STATUS WORDS DIR ARGS... - a replay has that status and says these words, on either stream
live() {
	local want=$1 words=$2 status=0
	shift 2
	limit "$RDMAEMU" replay "$@" -- "${LIVE[@]}" >out 2>&1 </dev/null || status=$?
	cat out
	[ "$status" = "$want" ] || echo "status $status, not $want"
	[ "$status" = "$want" ] && grep -qE -- "$words" out
}

L=$T/app_cm_lengths
client() {
	LIVE=("$L" client "$S" "$P" "$@")
}

LONG=(--timeout $((60 * SLOW)))
# Where something is waited for in vain: it bounds the live program's start as well.
SHORT=(--timeout $((10 * SLOW)))
client 10 20 30 1
check "recorded" live 0 '^recorded: 2 programs' D --as server --mode once --command "$L server $P" --node a --live-node b "${LONG[@]}"
check "as recorded" live 0 'no divergence$' D --as server "${LONG[@]}"
client 10 15 20 30 1
check "one more: a divergence" live 1 "the completion's byte_len differs" D --as server "${LONG[@]}"
check "fail is the default" live 1 "the completion's byte_len differs" D --as server --unexpected fail "${LONG[@]}"
check "ignored" live 0 'no divergence, 1 unexpected$' D --as server --unexpected ignore "${LONG[@]}"
check "waited beyond" live 0 'no divergence, 1 unexpected$' D --as server --unexpected wait "${LONG[@]}"
check "which is said" grep -q 'unexpected: .*byte_len=15 .*; waiting for: .*byte_len=20 ' out
check "and nothing was said by ignore" live 0 '^1 programs' D --as server --unexpected ignore "${LONG[@]}"
check "on stderr" test "$(grep -c unexpected: out)" = 0
client 20 10 30 1
check "in another order: put aside" live 0 'no divergence, 1 unexpected$' D --as server --unexpected wait "${LONG[@]}"
check "in another order: what was ignored does not come again" live 1 'byte_len=20 .*' D --as server --unexpected ignore "${SHORT[@]}"
client 5 6 7 8 9 11 12 13 14 15 16 17 10 20 30 1
check "more of them than there are receives" live 0 'no divergence, 12 unexpected$' D --as server --unexpected ignore "${LONG[@]}"
client 10 20 1
check "wait: what does not come" live 1 'byte_len=30 .*' D --as server --unexpected wait "${SHORT[@]}"
check "is a divergence" grep -q "others came" out
client 10 20 30 1 also
check "a connection beyond the record" live 1 'replayed: .*CONNECT_REQUEST' D --as server "${LONG[@]}"
check "is refused where it is ignored" live 0 'no divergence, 1 unexpected$' D --as server --unexpected ignore "${LONG[@]}"
check "and the live program sees that" grep -q '^refused$' out

# rping tells its peer addresses and keys.
LIVE=(rping -s -C 3)
check "a server that registers" live 0 '^recorded: 2 programs' K --as rping --mode once --command "rping -c -a $S -C 3" \
	--node b --live-node a --live-first "${LONG[@]}"
LIVE=("$L" mrs 40 "${LIVE[@]}")
if [ "${SAN_RDMAEMU-}" ]; then
	skip "as the record's keys are" "a sanitizer's heap has addresses that are never free in another process"
else
	check "as the record's keys are" live 0 'no divergence$' K --as rping "${LONG[@]}"
fi

refuses() {
	rdmaemu_refuses replay "$1" 2 "${@:2}"
}
refuses "nothing of the kind" "expected fail, wait or ignore" D --as server --unexpected never -- true
refuses "with all programs" "expected --as with them" D --unexpected wait
done_testing
