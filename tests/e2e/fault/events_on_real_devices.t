#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `event` on real devices: a program gets the events, by its descriptor, as on emulated ones, and those of the device,
# too. The emulator of an outer run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/real_faults.sh"
need gcc

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

faults_of_events

# --- counts, and the journal

# begin COMMAND... - run a program that gets $events events, and add rules once it is ready
events=1
begin() {
	: >out
	"$@" "$T/app_fault_raised" poll $events >out 2>&1 &
	program=$!
	wait_for 30 grep -q ^ready out
}

hits() {
	limit "$R" fault list --fabric "$1" --json | json "[r['hits'] for r in d['faults']]"
}

echo 'event COMM_EST program=app_fault_raised at=3600s' >rules
# Each of two queue pairs gets an event. The third ends the program, and with it the fabric, once the hits are counted.
events=3 begin real --fabric counts --explain --scenario rules --
for rule in "SQ_DRAINED" "COMM_EST qp=0xffff" "COMM_EST device=other" "COMM_EST program=other" "QP_LAST_WQE_REACHED"; do
	limit "$R" fault add --fabric counts "event $rule" >/dev/null
done
is "not raised: in another state, on other objects" "$(hits counts)" "[0, 0, 0, 0, 0, 0]"
limit "$R" fault add --fabric counts "event QP_FATAL device=rdmaemu0 must-fire" >/dev/null
has_two() {
	[ "$(hits counts)" = "[0, 0, 0, 0, 0, 0, 1]" ]
}
check "one hit, of two queue pairs" wait_for 20 has_two
limit "$R" fault add --fabric counts "event IBV_EVENT_CLIENT_REREGISTER" >/dev/null
wait $program
is "the journal says which rule has raised it" \
	"$(sed -En 's/^error +(IBV_EVENT_QP_FATAL) .*: (by fault rule f7: .*), the last .*/\1 \2/p' out)" \
	"IBV_EVENT_QP_FATAL by fault rule f7: event QP_FATAL device=rdmaemu0 must-fire; 2 times"

echo 'event QP_FATAL at=3600s' >rules
begin real --fabric passing --scenario rules --
limit "$R" fault add event IBV_EVENT_CLIENT_REREGISTER >/dev/null
wait $program
is "an event of the device passes" "$(grep -v ^ready out | head -2)" "CLIENT_REREGISTER: port 1
done"

begin real --fabric late --explain --
limit "$R" fault add --fabric late event QP_FATAL >/dev/null
is "a rule that comes after the device was opened raises nothing" "$(hits late)" "[0]"
check "the fabric says so" grep -q "has opened it before a rule .event. was there" \
	<(limit "$R" log --fabric late --verbose 2>&1)
limit "$R" fault add event IBV_EVENT_CLIENT_REREGISTER >/dev/null
wait $program
is "and the program goes on" "$(grep -v "^ready\|^rdmaemu" out | head -2)" "CLIENT_REREGISTER: port 1
done"

# --- signals

cat >signals.c <<'END'
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tick(int signo)
{
	(void)signo;
	if (write(1, ".\n", 2) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = argc > 1 ? SA_RESTART : 0 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_async_event event;

	if (!ctx || sigaction(SIGUSR1, &act, NULL) || puts("ready") < 0 || fflush(stdout))
		return 1;
	if (ibv_get_async_event(ctx, &event))
		printf("%s\n", strerror(errno));
	else
		printf("%s\n", ibv_event_type_str(event.event_type));
	return !argv;
}
END
gcc -o signals signals.c -libverbs
# signalled [restart] - what the program prints if it gets a signal, and then an event
signalled() {
	local job
	: >out
	real --fabric signals --scenario rules -- sh -c 'echo $$ >pid; exec "$@"' sh ./signals "$@" >out 2>&1 &
	job=$!
	wait_for 30 grep -q ready out
	wait_for 30 grep -q '^State:.S' "/proc/$(cat pid)/status"
	kill -USR1 "$(cat pid)"
	wait_for 30 grep -q "^\." out
	limit "$R" fault add event IBV_EVENT_CLIENT_REREGISTER >/dev/null
	wait $job
	grep -v "ready\|never matched" out
}
is "a signal ends the call" "$(signalled)" ".
Interrupted system call"
is "or not, with SA_RESTART" "$(signalled restart)" ".
client reregistration"

# --- what cannot be

# refused RULE WORD WORDS - the rule is refused with these words
refused() {
	echo "$1" >rules
	is "refused: $1" "$(emu "$R" run --real --scenario rules --dry-run -- true 2>&1)" "rdmaemu: rules:1: '$2': expected $3"
}
truly="an event of a queue pair, a port or a device, or SRQ_LIMIT_REACHED: nothing makes a real device do what goes with \
this one"
refused "event CQ_ERR" IBV_EVENT_CQ_ERR "$truly"
refused "event SRQ_ERR" IBV_EVENT_SRQ_ERR "$truly"
refused "event WQ_FATAL" IBV_EVENT_WQ_FATAL "$truly"
refused "event RDMA_CM_EVENT_DEVICE_REMOVAL" RDMA_CM_EVENT_DEVICE_REMOVAL "$truly"
refused "event QP_FATAL opcode=SEND_ONLY" event "at=, or no condition: packets of a real wire are not seen"
done_testing
