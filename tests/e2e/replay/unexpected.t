#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: the programs are on nodes of their own
# `rdmaemu replay DIR --as PROGRAM --unexpected WHAT -- OTHER`: a live program that deviates from the recorded one. It
# sees the recorded keys, whatever it registers.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/live.sh"
need rping

S=10.77.0.1
P=24712
cd "$TEST_DIR" || exit 1

L=$T/app_cm_lengths
client() {
	LIVE=("$L" client "$S" "$P" "$@")
}

client 10 20 30 1
check "recorded" live 0 '^recorded: 2 programs' D --as server --mode once --command "$L server $P" --node a --live-node b
check "as recorded" live 0 'no divergence$' D --as server
client 10 15 20 30 1
check "one more: a divergence" live 1 "the completion's byte_len differs" D --as server
check "fail is the default" live 1 "the completion's byte_len differs" D --as server --unexpected fail
check "ignored" live 0 'no divergence, 1 unexpected$' D --as server --unexpected ignore
check "waited beyond" live 0 'no divergence, 1 unexpected$' D --as server --unexpected wait
check "which is said" grep -q 'unexpected: .*byte_len=15 .*; waiting for: .*byte_len=20 ' out
check "and nothing was said by ignore" live 0 '^1 programs' D --as server --unexpected ignore
check "on stderr" test "$(grep -c unexpected: out)" = 0
client 20 10 30 1
check "in another order: put aside" live 0 'no divergence, 1 unexpected$' D --as server --unexpected wait
# The timeout for packets that never come; it also bounds the live program's start.
WAIT=10 check "in another order: what was ignored does not come again" live 1 'byte_len=20 .*' D --as server --unexpected ignore
client 5 6 7 8 9 11 12 13 14 15 16 17 10 20 30 1
check "more of them than there are receives" live 0 'no divergence, 12 unexpected$' D --as server --unexpected ignore
client 10 20 1
WAIT=10 check "wait: what does not come" live 1 'byte_len=30 .*' D --as server --unexpected wait
check "is a divergence" grep -q "others came" out
client 10 20 30 1 also
check "a connection beyond the record" live 1 'replayed: .*CONNECT_REQUEST' D --as server
check "is refused where it is ignored" live 0 'no divergence, 1 unexpected$' D --as server --unexpected ignore
check "and the live program sees that" grep -q '^refused$' out

# rping tells its peer addresses and keys.
LIVE=(rping -s -C 3)
check "a server that registers" live 0 '^recorded: 2 programs' K --as rping --mode once --command "rping -c -a $S -C 3" \
	--node b --live-node a --live-first
LIVE=("$L" mrs 40 "${LIVE[@]}")
if [ "${SAN_RDMAEMU-}" ]; then
	skip "as the record's keys are" "a sanitizer's heap has addresses that are never free in another process"
else
	check "as the record's keys are" live 0 'no divergence$' K --as rping
fi

refuses() {
	rdmaemu_refuses replay "$1" 2 "${@:2}"
}
refuses "nothing of the kind" "expected fail, wait or ignore" D --as server --unexpected never -- true
refuses "with all programs" "expected --as with them" D --unexpected wait
done_testing
