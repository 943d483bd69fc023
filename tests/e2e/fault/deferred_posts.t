#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `defer`: work requests begin later, those after them on their queue wait, and nothing else changes; on emulated
# devices, and on real ones, for which the emulator of an outer run stands.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# run_deferred real|emulated RULE HOW - what the program prints
run_deferred() {
	echo "$2" >rules
	case $1 in
	real) emu "$R" run --real --fresh --scenario rules --must-fire -- "$T/app_fault_defer" "$3" 2>&1 ;;
	*) limit "$R" run --fresh --scenario rules --must-fire -- "$T/app_fault_defer" "$3" 2>&1 ;;
	esac
}

# deferred RULE HOW EXPECTED
deferred() {
	for on in emulated real; do
		is "$on: $2" "$(run_deferred $on "$1" "$2")" "$3"
	done
}

deferred "defer 200ms opcode=SEND nth=1" time "1 2 later done"
deferred "defer 200ms type=RC wr_id=1" batch "1 2 later done"
deferred "defer 10s posts=2 nth=2" posts "1 then nothing then nothing 2 3 4 done"
deferred "defer 10s nth=2" err "1 then nothing flushed then nothing done"
deferred "defer 10s nth=2" reset "1 then nothing 4 then nothing done"
deferred "defer 10s nth=2" destroy "1 then nothing 5 then nothing done"
deferred "defer 10s nth=2" exit "1 then nothing done"
deferred "defer 10s nth=1" full "all places, ENOMEM then nothing flushed then nothing done"
deferred "defer 200ms nth=1" inline "1 as posted done"

# The library below may look at an address handle when the request is posted, or later.
is "real: ah" "$(run_deferred real "defer 10s type=UD" ah)" "then nothing 1 done"
is "real: refused" "$(run_deferred real "defer 200ms nth=1" refused)" "flushed then nothing done"
is "real: receive" "$(run_deferred real "defer 10s posts=1 opcode=RECV nth=1" receive)" "then nothing 1 done"
for how in chain "chain extended" batch "batch extended" receives; do
	for rule in "defer 1ms" "defer 100ms posts=1 nth=2" "defer 1ms opcode=RECV"; do
		echo "$rule" >rules
		# shellcheck disable=SC2086
		is "real: nothing else changes: $how, $rule" \
			"$(emu "$R" run --real --fresh --scenario rules -- "$T/app_fault_work" $how 2>/dev/null)" \
			"$(emu "$T/app_fault_work" $how)"
	done
done

fails="wc status=RETRY_EXC_ERR opcode=SEND nth=2"
printf '%s\n' "$fails" >fails
printf '%s\n' "defer 1ms" "$fails" >rules
is "real: a deferred one that fails" \
	"$(emu "$R" run --real --fresh --scenario rules --must-fire -- "$T/app_fault_work" chain 2>&1)" \
	"$(limit "$R" run --fresh --scenario fails -- "$T/app_fault_work" chain)"

# --- what cannot be

# refused RULE - the message, from its word on
refused() {
	echo "$1" >rules
	limit "$R" run --fresh --scenario rules -- true 2>&1 | sed "s/^[^']*//"
}

is "emulated devices have late receives" "$(refused "defer 1ms opcode=RECV")" \
	"'opcode=': expected an opcode of sends: on emulated devices \`rnr\` makes receives late"
is "a time is needed" "$(refused "defer posts=2")" "'defer': expected a time after it"
is "packets are not posted" "$(refused "defer 1ms opcode=ACK")" \
	"'opcode=': expected an opcode of work requests as RDMA_WRITE, or RECV"
is "types that do not post it" "$(refused "defer 1ms type=UD opcode=RDMA_READ")" \
	"'opcode=': expected an opcode that queue pairs of these types post"
done_testing
