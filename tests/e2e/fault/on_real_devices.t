#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# Fault rules on real devices: calls fail as on emulated ones. The emulator of an outer run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo ibv_rc_pingpong gcc python3

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

# rules FILE RULE... - a scenario
rules() {
	printf '%s\n' "${@:2}" >"$1"
}

# outcome COMMAND... - its status and what it prints
outcome() {
	local out status=0
	out=$("$@" 2>&1) || status=$?
	echo "$status: $out"
}

# --- each call, as on the emulator

"$T/app_cm_calls" rules | grep -v '_addrinfo \|write_cm_event ' >each
real --fresh --scenario each --must-fire -- "$T/app_cm_calls" >out 2>err </dev/null
is "each call that the tap sees fails once" "$(grep -c . each) $(cat err)" "122 "
is "and returns what it does on the emulator" \
	"$(grep '^not ok' out | grep -v 'rdma_resolve_addrinfo\|rdma_query_addrinfo\|rdma_write_cm_event')" ""
check "and works then" grep -q '^# destroyed' out

rules mr 'fail call=ibv_reg_mr errno=ENOMEM nth=1'
is "a program ends as on the emulator" "$(outcome real --fresh --scenario mr -- ibv_rc_pingpong)" \
	"$(outcome limit "$R" run --fresh --scenario mr -- ibv_rc_pingpong)"
is "--explain has the call, and its arguments" "$(real --fresh --explain --scenario mr -- ibv_rc_pingpong 2>&1 |
	sed -E 's/.*\] //; s/addr=0x[0-9a-f]+/addr=A/')" \
	"rdmaemu: on real devices: rdmaemu0
Couldn't register MR
rdmaemu: 1 error, 0 notices of ibv_rc_pingpong
ibv_reg_mr(pd=pd1 addr=A length=4096 access=IBV_ACCESS_LOCAL_WRITE): by fault rule f1: fail call=ibv_reg_mr errno=ENOMEM nth=1 (mr:1)"

# --- calls that fail without a rule

cat >fails.c <<'END'
#include <infiniband/verbs.h>
#include <fcntl.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_async_event event;
	int i;

	if (!pd || fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK))
		return 1;
	for (i = 0; i < 3; i++)
		if (ibv_reg_mr(pd, NULL, 4096, IBV_ACCESS_LOCAL_WRITE) || !ibv_get_async_event(ctx, &event))
			return 2;
	return 0;
}
END
gcc -o fails fails.c -libverbs
is "the journal has them, and who made them" "$(real --explain -- ./fails 2>&1 |
	sed -E 's/ [0-9]+\.[0-9]+ / TIME /g; s/\[[0-9]+\]/[PID]/; s/  +/ /g')" \
	"rdmaemu: on real devices: rdmaemu0
rdmaemu: 3 errors, 0 notices of ./fails
error EFAULT TIME fails[PID] ibv_reg_mr(pd=pd1 addr=0x0 length=4096 access=IBV_ACCESS_LOCAL_WRITE): no cause is known; \
3 times, the last at TIME s"

cat >waits.c <<'END'
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_async_event event;

	if (!ctx || puts("open") < 0 || fflush(stdout) || ibv_get_async_event(ctx, &event))
		return 1;
	ibv_ack_async_event(&event);
	return 0;
}
END
gcc -o waits waits.c -libverbs
real --explain -- ./waits >waits.out 2>waits.err &
waits=$!
wait_for 20 grep -q open waits.out
limit "$R" fault add event IBV_EVENT_CLIENT_REREGISTER >/dev/null
wait $waits
is "the journal has events of a device, too" "$? $(sed -nE 's/ [0-9]+\.[0-9]+ / TIME /; s/\[[0-9]+\]/[PID]/; s/  +/ /g
	/REREGISTER/p' waits.err)" "0 error IBV_EVENT_CLIENT_REREGISTER TIME waits[PID]: no cause is known"

# --- counts

rules second 'fail call=ibv_open_device errno=EMFILE nth=2'
three='for i in 1 2 3; do ibv_devinfo >/dev/null 2>&1; echo $?; done'
is "a rule counts calls of all programs of a run" "$(real --fresh --scenario second --must-fire -- sh -c "$three" |
	tr '\n' ' ')" "0 1 0 "
rules named 'fail program=ibv_devinfo call=ibv_open_device errno=EMFILE nth=1'
is "or of one program" "$(real --fresh --scenario named --must-fire -- \
	sh -c 'ibv_devices >/dev/null; ibv_devinfo >/dev/null 2>&1; echo $?')" 1
rules half 'fail call=ibv_alloc_pd errno=ENOMEM prob=0.5 seed=7'
cat >pd.c <<'END'
#include <infiniband/verbs.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	int i;

	for (i = 0; ctx && i < 16; i++)
		putchar(ibv_alloc_pd(ctx) ? '+' : '-');
	fflush(stdout);
	if (!fork()) {
		list = ibv_get_device_list(NULL);
		ctx = ibv_open_device(list[0]);
		for (i = 0; ctx && i < 16; i++)
			putchar(ibv_alloc_pd(ctx) ? '+' : '-');
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
END
gcc -o pd pd.c -libverbs || skip_all "gcc makes no program"
emulated=$(limit "$R" run --fresh --scenario half -- ./pd 2>/dev/null)
is "chance decides, in a child of fork(), too" "${#emulated} $(sed 's/[+-]*//' <<<"${emulated/+-/}")" "32 "
is "and equally on the emulator" "$(real --fresh --scenario half -- ./pd 2>/dev/null)" "$emulated"

# --- rules that had to fire

rules never 'fail call=ibv_create_ah errno=EINVAL'
is "--must-fire, and it has not" "$(outcome real --fresh --scenario never --must-fire -- true)" \
	"123: rdmaemu: fault f1 must fire, but never matched: fail call=ibv_create_ah errno=EINVAL (never:1)"
rules lists 'fail call=ibv_get_device_list errno=EPERM'
is "and it has" "$(outcome real --fresh --scenario lists --must-fire -- sh -c 'ibv_devices >/dev/null 2>&1; echo $?')" "0: 1"

# --- rules that can never hit

# refused RULE WORDS - by a run, by --dry-run, and when it is added to a fabric
refused() {
	local line
	rules bad '# a comment' "$1"
	line="'$2"
	is "refused: $1" "$(outcome real --fresh --scenario bad -- true)" "125: rdmaemu: bad:2: $line"
	is "with --dry-run: $1" "$(outcome real --scenario bad --dry-run -- true)" "125: rdmaemu: bad:2: $line"
	is "when it is added: $1" "$(outcome "$R" fault add --fabric real "$1")" "1: rdmaemu: fault: $line"
}
some="expected fail, wc, defer, cq hold, cq delay, limit, cm drop, cm reject, event, kill, pause or resume"
mkfifo go
real --fabric real -- sh -c 'touch begun; read -r line <go' &
sleeper=$!
running() {
	limit "$R" status --fabric real 2>/dev/null
}
# The fabric of an earlier run may still be there, and end.
wait_for 20 test -e begun
refused 'loss 1%' "loss': $some: a real wire cannot be touched"
refused 'partition a|b' "partition': $some: a real wire cannot be touched"
refused 'link down port=1' "link': $some: the links of real devices cannot be changed"
refused 'kill program=x opcode=SEND_ONLY' "kill': expected at=, or no condition: packets of a real wire are not seen"
refused 'fail call=ibv_reg_mr errno=ENOMEM node=a' "a': expected program= or pid=: programs on real devices have no node"
refused 'fail call=rdma_write_cm_event errno=EINVAL' \
	"rdma_write_cm_event': expected a call that is seen on real devices, too"
is "--dry-run prints the others" "$(outcome real --scenario mr --dry-run -- false)" \
	"0: f1: fail call=ibv_reg_mr errno=ENOMEM nth=1  # mr:1"

# --- the fabric

tap=$(readlink -f "$(dirname "$R")/../lib/librdmaemu-tap.so")
is "a program that cannot join it says so, and goes on" \
	"$(outcome emu sh -c "RDMAEMU_REAL_SOCKET=/none LD_PRELOAD=$tap:\$LD_PRELOAD exec ./fails")" \
	"0: rdmaemu: /none: No such file or directory: no fault rule applies to fails"
is "status says what the fabric is for" "$(running | head -1 | grep -o ', of real devices')" ", of real devices"
is "emulated programs do not use it" "$(outcome limit "$R" run --fabric real -- true)" \
	"125: rdmaemu: fabric real is one of programs on real devices; choose another --fabric"
"$R" fabric start --fabric emulated
is "nor programs on real devices one of emulated ones" "$(outcome real --fabric emulated -- true)" \
	"125: rdmaemu: fabric emulated is one of programs on emulated devices; choose another --fabric"
"$R" fabric stop --fabric emulated

real --fabric real -- ibv_rc_pingpong -p "$(free_port)" >/dev/null 2>&1 &
server=$!
has_server() {
	limit "$R" status --fabric real --json | json "[c['name'] for c in d['clients']]" | grep -q ibv_rc_pingpong
}
wait_for 20 has_server
check "rules can be added while a program runs" limit "$R" fault add --fabric real kill program=ibv_rc_pingpong
wait $server
is "kill ends it" $? 137
echo >go
wait $sleeper
is "a run with nothing to report ends as its program" $? 0
done_testing
