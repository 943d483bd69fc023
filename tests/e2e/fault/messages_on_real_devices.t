#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `cm drop` and `cm reject` on real devices: a program does not get the event of a message, and a rejected request is
# really rejected. The emulator of an outer run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
need rping

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real RULE COMMAND... - what each end of its connections gets
real() {
	printf '%s must-fire\n' "$1" >rules
	emu "$R" run --real --fresh --scenario rules -- "${@:2}" 2>&1 | sort -s -k1,1
}

# emulated RULE COMMAND... - likewise without a run in the run
emulated() {
	printf '%s must-fire\n' "$1" >rules
	limit "$R" run --fresh --scenario rules -- "${@:2}" 2>&1 | sort -s -k1,1
}

connected="listener: CONNECT_REQUEST, 0
listener: ESTABLISHED, 0
listener: DISCONNECTED, 0"
ends="client: ESTABLISHED, 0
client: DISCONNECTED, 0"

# --- rejected

rejected="client: REJECTED, 28
$ends
$connected"
is "a rejected request" "$(real 'cm reject REQ nth=1' "$T/app_cm_messages" client 2)" "$rejected"
is "and on the emulator" "$(emulated 'cm reject REQ nth=1' "$T/app_cm_messages" client 2)" "$rejected"
is "two of them" "$(real 'cm reject for=2' "$T/app_cm_messages" client 3)" "client: REJECTED, 28
$rejected"
is "the second one" "$(real 'cm reject REQ after=1 for=1' sh -c "'$T/app_cm_messages' client; '$T/app_cm_messages' client 2")" \
	"$(printf '%s\n' "$ends" "$rejected" "$connected" | sort -s -k1,1)"
is "every other one" "$(real 'cm reject REQ every=2' "$T/app_cm_messages" client 2)" "$rejected"
refused="client: Connection refused
client: connected
listener: request"
is "that rdma_get_request() waits for" "$(real 'cm reject REQ nth=1' "$T/app_cm_messages" endpoints 2)" "$refused"
is "and on the emulator" "$(emulated 'cm reject REQ nth=1' "$T/app_cm_messages" endpoints 2)" "$refused"

# --- dropped

is "a dropped RTU" "$(real 'cm drop RTU nth=1' "$T/app_cm_messages" client)" "$ends
$(grep -v ESTABLISHED <<<"$connected")"
is "a dropped REP" "$(real 'cm drop REP nth=1' "$T/app_cm_messages" listener)" "client: DISCONNECTED, 0
$connected"
# The outer fabric's clock is fast: CM gives up after a minute.
echo 'cm drop REQ nth=1 must-fire' >rules
is "a dropped REQ has no answer" "$(limit "$R" run --fresh --time-scale 100 -- \
	"$R" run --real --fresh --scenario rules -- "$T/app_cm_messages" client 2>&1)" "client: UNREACHABLE, -110"

# --- a real program, and the journal

port=$(free_port)
echo 'cm reject REQ nth=1' >rules
# Reason 8: nobody listens yet. No program sees that request.
# shellcheck disable=SC2016
emu "$R" run --real --fresh --explain --must-fire --scenario rules -- sh -c 'rping -s -p "$0" -C 2 >server 2>&1 & server=$!
	for i in 1 2; do
		while timeout "$1" rping -c -v -a 127.0.0.1 -p "$0" -C 2 >client$i 2>&1
			grep -q "REJECTED, error 8" client$i; do sleep 0.1; done
	done
	wait $server' "$port" $((60 * SLOW * PATIENCE)) >out 2>&1
check "rping says that it is rejected" grep -q 'RDMA_CM_EVENT_REJECTED, error 28' client1
is "and is connected next" "$(grep -c 'ping data' client2)" 2
is "the journal names the rule" "$(grep 'by fault rule' out | sed -E 's/ [0-9]+\.[0-9]+ / /; s/\[[0-9]+\]//; s/  +/ /g')" \
	"error RDMA_CM_EVENT_CONNECT_REQUEST rping CM REQ: by fault rule f1: cm reject REQ nth=1 (rules:1)"

# --- what cannot be

# refused RULE WORDS - the rule is refused with these words
refused() {
	echo "$1" >rules
	is "refused: $1" "$(emu "$R" run --real --scenario rules --dry-run -- true 2>&1)" "rdmaemu: rules:1: $2"
}
where="a message, and which of them: where a real message comes from is not known"
refused "cm reject reason=3" "'reason=': expected none: rdma_reject() rejects with reason 28, of the consumer"
refused "cm drop port=1" "'port': expected $where"
refused "cm drop direction=rx device=rdmaemu0" "'device': expected $where"
refused "cm drop MRA" "'MRA': expected a message that causes an event of the rdma_cm"
some="fail, wc, defer, cq hold, cq delay, limit, cm drop, cm reject, event, kill, pause or resume"
refused "cm delay 1ms" "'cm delay': expected $some: a real wire cannot be touched"
refused "cm mra" "'cm mra': expected $some: a real wire cannot be touched"
done_testing
