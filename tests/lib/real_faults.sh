# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What fault rules do to programs on real devices, which must be the same as on emulated ones; sourced after
# tests/lib/lib.sh by tests that work in a directory of their own and define
#	real ARGS...	`rdmaemu run --real` with these: on an emulated device of an outer run, or the guest's

# on_both NAME RULE PROGRAM ARGS... - the rule fires on both, and the program prints the same
on_both() {
	local wanted
	printf '%s must-fire\n' "$2" >rules
	wanted=$(emulated --fresh --scenario rules -- "${@:3}" 2>&1)
	[ -n "$wanted" ] || wanted="no output on the emulator"
	is "$1" "$(real --fresh --scenario rules -- "${@:3}" 2>&1)" "$wanted"
}

emulated() {
	limit "$RDMAEMU" run "$@"
}

# by_rule real|emulated RULE PROGRAM ARGS... - what the program prints on such a device with a rule, which fires
by_rule() {
	printf '%s must-fire\n' "$2" >rules
	"$1" --fresh --scenario rules -- "${@:3}" 2>&1
}

# faults_of_completions - each status that `wc` has, and what it selects
faults_of_completions() {
	local status rule n plain work=$T/app_fault_work
	for status in LOC_LEN_ERR LOC_QP_OP_ERR LOC_PROT_ERR GENERAL_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR \
		RESP_TIMEOUT_ERR REM_ABORT_ERR REM_INV_REQ_ERR REM_OP_ERR; do
		on_both "$status of a send" "wc status=$status opcode=SEND nth=2" "$work" chain
	done
	for status in LOC_LEN_ERR LOC_PROT_ERR LOC_QP_OP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR GENERAL_ERR; do
		on_both "$status of a receive" "wc status=$status opcode=RECV nth=3" "$work" receives
	done
	on_both "the first of a chain" "wc status=RETRY_EXC_ERR nth=1" "$work" chain
	on_both "the last of a chain" "wc status=RETRY_EXC_ERR nth=4" "$work" chain
	on_both "a chain, read by ibv_start_poll()" "wc status=RETRY_EXC_ERR nth=2" "$work" chain extended
	on_both "a batch of ibv_wr_send()" "wc status=RETRY_EXC_ERR nth=2" "$work" batch
	on_both "a batch, read by ibv_start_poll()" "wc status=RETRY_EXC_ERR nth=3" "$work" batch extended
	on_both "requests of a size" "wc status=GENERAL_ERR size=64 nth=2" "$work" chain
	on_both "requests of a wr_id" "wc status=GENERAL_ERR wr_id=7 type=RC nth=2" "$work" chain
	on_both "requests of a program" "wc status=RETRY_EXC_ERR nth=2 program=app_fault_work" "$work" chain

	plain=$(real --fresh -- "$work" chain)
	for rule in size=65.. wr_id=8 type=UC qp=0x3fff program=other opcode=RDMA_WRITE after=4; do
		echo "wc status=GENERAL_ERR $rule" >rules
		is "not hit: $rule" "$(real --fresh --scenario rules -- "$work" chain)" "$plain"
	done

	# A program's process knows eight rules by itself. With more than these, each hits what it names.
	for n in 8 9 20; do
		seq 100 $((98 + n)) | sed 's/.*/wc status=GENERAL_ERR wr_id=&/' >rules
		is "not hit: $((n - 1)) rules" "$(real --fresh --scenario rules -- "$work" chain)" "$plain"
		echo "wc status=RETRY_EXC_ERR nth=2 must-fire" >>rules
		is "the last of $n rules" "$(real --fresh --scenario rules -- "$work" chain)" \
			"$(emulated --fresh --scenario rules -- "$work" chain)"
	done
}

# faults_of_late_completions - `cq delay`
faults_of_late_completions() {
	local how late="1 2 3 4 late, others in the meantime" work=$T/app_fault_late
	is "late: the second of four sends" "$(by_rule real "cq delay 300ms opcode=SEND nth=2" "$work")" "$late"
	is "late: the first" "$(by_rule real "cq delay 300ms opcode=SEND type=RC nth=1" "$work")" "$late"
	is "late: all of them" "$(by_rule real "cq delay 300ms opcode=SEND size=8" "$work")" "$late"
	is "late: one of a wr_id" "$(by_rule real "cq delay 300ms opcode=SEND wr_id=3" "$work")" "$late"
	is "late: where a channel says when to poll" "$(by_rule real "cq delay 300ms opcode=SEND nth=2" "$work" channel)" \
		"1 2 3 4 late, the poll has taken the time"
	is "late: a send without a completion does not count" \
		"$(by_rule real "cq delay 300ms opcode=SEND nth=1" "$work" quiet)" "${late#1 }"
	is "late: a queue pair takes its completions with it" \
		"$(by_rule real "cq delay 300ms opcode=SEND nth=1" "$work" destroy)" "0
0"
	for how in chain "chain extended" batch "batch extended" receives; do
		# shellcheck disable=SC2086
		is "late: nothing else changes: $how" "$(by_rule real "cq delay 1ms" "$T/app_fault_work" $how)" \
			"$(emulated -- "$T/app_fault_work" $how)"
	done
}

# faults_of_deferred_posts real|emulated [HOW...] - `defer`, but in these ways
faults_of_deferred_posts() {
	local on rule how wanted
	while IFS='|' read -r on rule how wanted; do
		[[ $on != *"$1"* || " ${*:2} " == *" $how "* ]] ||
			is "$1: $how" "$(by_rule "$1" "$rule" "$T/app_fault_defer" "$how")" "$wanted"
	done <<-END
		real emulated|defer 200ms opcode=SEND nth=1|time|1 2 later done
		real emulated|defer 200ms type=RC wr_id=1|batch|1 2 later done
		real emulated|defer 10s posts=2 nth=2|posts|1 then nothing then nothing 2 3 4 done
		real emulated|defer 10s nth=2|err|1 then nothing flushed then nothing done
		real emulated|defer 10s nth=2|reset|1 then nothing 4 then nothing done
		real emulated|defer 10s nth=2|destroy|1 then nothing 5 then nothing done
		real emulated|defer 10s nth=2|exit|1 then nothing done
		real emulated|defer 10s nth=1|full|all places, ENOMEM then nothing flushed then nothing done
		real emulated|defer 200ms nth=1|inline|1 as posted done
		real|defer 10s type=UD|ah|then nothing 1 done
		real|defer 200ms nth=1|refused|flushed then nothing done
		real|defer 10s posts=1 opcode=RECV nth=1|receive|then nothing 1 done
	END
}

# faults_of_wakeups real|emulated - `cq hold`. On emulated devices a completion ends the wait; on real ones, the time.
faults_of_wakeups() {
	local how long=10s short=10s
	[ "$1" = emulated ] || long=300ms short=50ms
	for how in "" extended; do
		# shellcheck disable=SC2086
		is "$1: the bug shows${how:+, $how}" \
			"$(by_rule "$1" "cq hold $long" "$T/app_fault_lost_wakeup" bug $how)" "sleeps, and a message is there"
		# shellcheck disable=SC2086
		is "$1: a correct program works${how:+, $how}" \
			"$(by_rule "$1" "cq hold $short" "$T/app_fault_lost_wakeup" correct $how)" "all messages have come"
	done
}

# --- asynchronous events

# raised real|emulated HOW RULE... - what app_fault_raised gets when these rules are added one by one, in which A and B
# stand for the numbers of its queue pairs, as they are
raised() {
	local on=$1 how=$2 fabric pid rule a b
	echo 'event COMM_EST program=app_fault_raised at=3600s' >rules
	mkdir -p raised
	: >raised/out
	# The fabric of an earlier run may still be there, and end.
	fabric=raised-$(date +%s%N)
	"$on" --fabric "$fabric" --scenario rules -- "$T/app_fault_raised" "$how" $(($# - 2)) >raised/out 2>&1 &
	pid=$!
	wait_for 30 grep -q ^ready raised/out
	read -r _ a b < <(grep ^ready raised/out)
	shift 2
	for rule; do
		rule=${rule//qp=A/qp=$a}
		limit "$RDMAEMU" fault add --fabric "$fabric" "${rule//qp=B/qp=$b}" 2>&1 | grep -v ' added'
	done
	wait $pid
	sed "s/^ready.*/ready/; /never matched: event COMM_EST/d" raised/out
}

# events_alike HOW RULE... - a check that both are the same
events_alike() {
	local wanted
	wanted=$(raised emulated "$@")
	is "events: $*" "$(raised real "$@")" "${wanted:-nothing on the emulator}"
}

# faults_of_events - `event`, for each that a real device can have
faults_of_events() {
	local name
	for name in QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST PATH_MIG PATH_MIG_ERR; do
		events_alike block "event $name qp=A"
	done
	for name in PORT_ERR LID_CHANGE PKEY_CHANGE GID_CHANGE SM_CHANGE CLIENT_REREGISTER; do
		events_alike poll "event IBV_EVENT_$name port=1"
	done
	is "events: in their order" "$(raised real poll "event COMM_EST qp=A" "event SRQ_LIMIT_REACHED" \
		"event IBV_EVENT_CLIENT_REREGISTER port=1" "event PATH_MIG qp=B" "event QP_FATAL qp=B")" "ready
COMM_EST: a
SRQ_LIMIT_REACHED: srq
CLIENT_REREGISTER: port 1
PATH_MIG: b
QP_FATAL: b
a: RTS
b: ERR, Work Request Flushed Error
waits for the acknowledgement
done"
	is "events: seen by epoll_wait(2)" "$(raised real epoll "event DEVICE_FATAL" "event SRQ_LIMIT_REACHED")" "ready
DEVICE_FATAL: device
SRQ_LIMIT_REACHED: srq
done"
	is "events: children have closed the descriptor" "$(raised real children "event COMM_EST qp=B")" "ready
COMM_EST: b
a: RTS
b: RTS
waits for the acknowledgement
done"
	is "events: of one of two contexts" "$(raised real twice "event COMM_EST qp=B" "event QP_FATAL qp=A")" "ready
COMM_EST: b
QP_FATAL: a
a: ERR, Work Request Flushed Error
b: RTS
waits for the acknowledgement
done"
}
