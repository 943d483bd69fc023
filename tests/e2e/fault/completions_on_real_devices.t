#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `wc` on real devices: a program sees the same completions as on emulated ones. The emulator of an outer run stands for
# the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/real_faults.sh"
need ibv_rc_pingpong

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

faults_of_completions

# --- a real program, and the journal

echo "wc status=RETRY_EXC_ERR opcode=SEND program=ibv_rc_pingpong nth=5" >rules
port=$(free_port)
# The ends send in turn, so the fifth request is the client's third. The server waits for the next message then.
# shellcheck disable=SC2016
real --fresh --explain --scenario rules --must-fire -- sh -c 'ibv_rc_pingpong -p "$0" -n 100 >server 2>&1 & server=$!
	"$1" wait "$0" $server "$2" && timeout "$2" ibv_rc_pingpong -p "$0" -n 100 localhost
	echo "client: $?"; kill $server; wait $server; echo "server: $?"; grep -c Failed server' \
	"$port" "$T/sys_port" $((60 * SLOW * PATIENCE)) >out 2>&1
is "the client says so, the server waits" "$(grep '^Failed\|^client:\|^server:\|^[0-9]*$' out)" \
	"Failed status transport retry counter exceeded (12) for wr_id 2
client: 1
server: 143
0"
is "and the journal which request it was" "$(grep 'by fault rule' out | sed -E 's/^error +//; s/ [0-9]+\.[0-9]+ / /; s/\[[0-9]+\]//; s/  +/ /g')" \
	"IBV_WC_RETRY_EXC_ERR ibv_rc_pingpong SEND(bytes=4096): by fault rule f1: wc status=RETRY_EXC_ERR opcode=SEND program=ibv_rc_pingpong nth=5 (rules:1)"

# A request that the device itself fails: the outer run loses all messages.
echo "loss 100% opcode=SEND" >lossy
# shellcheck disable=SC2016
limit "$R" run --fresh --scenario lossy -- "$R" run --real --fresh --explain -- sh -c 'ibv_rc_pingpong -p "$0" -n 100 >server 2>&1 &
	server=$!
	"$1" wait "$0" $server "$2" && timeout "$2" ibv_rc_pingpong -p "$0" -n 100 localhost
	kill $server; wait $server' "$(free_port)" "$T/sys_port" $((60 * SLOW * PATIENCE)) >out 2>&1
is "the journal describes it: size, entries, key, post, age, counters" \
	"$(grep RETRY_EXC out | sed -E 's/^error +//; s/ [0-9]+\.[0-9]+ / /; s/\[[0-9]+\]//; s/lkey=0x[0-9a-f]+/lkey=K/; s/age=[0-9]+ms/age=N/; s/  +/ /g' |
		grep -v ^Failed)" \
	"IBV_WC_RETRY_EXC_ERR ibv_rc_pingpong SEND(bytes=4096 entries=1 lkey=K post=1 age=N): no cause is known; counters of the device: retry_exceeded_err +1, completer_retry_err +7"

# --- what cannot be

for rule in "status=FATAL_ERR" "status=GENERAL_ERR conn=1" "status=GENERAL_ERR port=1" "status=GENERAL_ERR peer=b"; do
	echo "wc $rule" >rules
	is "refused: $rule" "$(real --scenario rules --dry-run -- true 2>&1 | sed 's/: expected.*//')" \
		"rdmaemu: rules:1: '$(sed 's/.* //; s/=.*//' <<<"$rule")$(grep -q FATAL <<<"$rule" && echo =)'"
done
done_testing
