#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command, without a fabric
# `rdmaemu run --real`: a program on the machine's own devices is as without rdmaemu. A libibverbs of this test's stands
# for the machine's, so that it has the devices that $STUB names; those called ghost* cannot be opened.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc ibv_devices

R=$RDMAEMU
cat >"$TEST_DIR/stub.c" <<'END'
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void **ibv_get_device_list(int *n)
{
	static void *list[8];
	char *text = strdup(getenv("STUB")), *word;

	if (!strcmp(text, "crash"))
		abort();
	for (*n = 0; (word = strtok(*n ? NULL : text, " ")); (*n)++)
		list[*n] = word;
	return list;
}

const char *ibv_get_device_name(void *device)
{
	return device;
}

void *ibv_open_device(void *device)
{
	errno = ENXIO;
	return strncmp(device, "ghost", 5) ? device : NULL;
}

int ibv_close_device(void *context)
{
	return 0;
}
END
mkdir "$TEST_DIR/stub" "$TEST_DIR/broken"
gcc -shared -fPIC -o "$TEST_DIR/stub/libibverbs.so.1" "$TEST_DIR/stub.c" || skip_all "gcc makes no library"
echo broken >"$TEST_DIR/broken/libibverbs.so.1"

# on DEVICES COMMAND... - on a machine that has these devices
on() {
	STUB=$1 LD_LIBRARY_PATH=$TEST_DIR/stub limit "${@:2}"
}

# refuses NAME DEVICES STATUS WORDS ARGS... - as rdmaemu_refuses run, on such a machine
refuses() {
	STUB=$2 LD_LIBRARY_PATH=$TEST_DIR/stub rdmaemu_refuses run "$1" "${@:3}"
}

# --- the program is as without rdmaemu

# one_process - without the numbers of a process and of its pipes
one_process() {
	sed -E 's/pipe:\[[0-9]+\]/pipe/; s,/proc/[0-9]+,/proc/N,'
}

# same NAME COMMAND... - it prints the same, and ends the same
same() {
	local name=$1 plain real
	shift
	plain=$(on fake0 "$@" 2>&1; echo "status $?")
	real=$(on fake0 "$R" run --real -- "$@" 2>&1; echo "status $?")
	is "$name" "$(one_process <<<"$real")" "$(one_process <<<"$plain")"
}
same "environment" env
same "libraries" sh -c 'exec sed "s/.* //" /proc/self/maps'
same "descriptors" find /proc/self/fd -printf '%f %l\n'
same "signals" sed -n '/^Sig[^Q]/p' /proc/self/status
same "limits" sh -c 'ulimit -a; umask; pwd'
same "arguments" printf '<%s>' 'a b' '' --help --
same "exit status" sh -c 'exit 77'
same "death by a signal" bash -c 'kill -TERM $$'
is "no fabric is started" "$(ls "$RDMAEMU_DIR" 2>/dev/null)" ""
out=$(on fake0 "$R" run --real -- /no/such/program 2>&1)
is "no such program" "$? $out" "127 rdmaemu: /no/such/program: No such file or directory"
out=$(on fake0 "$R" run --real -- "$TEST_DIR/stub.c" 2>&1)
is "not executable" "$? $out" "126 rdmaemu: $TEST_DIR/stub.c: Permission denied"

# --- which devices

is "--explain names them" "$(on 'fake0 ghost0 fake1' "$R" run --real --explain -- true 2>&1)" \
	"rdmaemu: on real devices: fake0, fake1; ghost0 cannot be opened (No such device or address)
rdmaemu: nothing to explain: no failed call or completion of true"
refuses "no device" "" 2 "run: --real: no RDMA device: libibverbs lists none, /sys/class/infiniband has " --real -- true
refuses "one that does not open" ghost0 2 "no RDMA device: ghost0 cannot be opened (No such device or address), /sys" \
	--real -- true
refuses "a provider that crashes" crash 2 "a program that lists them by libibverbs ends with signal 6, /sys" --real -- true
LD_LIBRARY_PATH=$TEST_DIR/broken rdmaemu_refuses run "a library that cannot be loaded" 2 \
	"no RDMA device: libibverbs cannot be loaded ($TEST_DIR/broken/libibverbs.so.1: " --real -- true

# --- the variable, and auto

# device DEVICES ARGS... - whose devices a program gets: "real", or the emulated one's name
device() {
	local devices=$1
	shift
	on "$devices" "$R" run "$@" -- env -u LD_LIBRARY_PATH sh -c 'if [ "$LD_PRELOAD" ]; then
		ibv_devices | sed -n "s/^ *\(rdmaemu[^ ]*\).*/\1/p"; else echo real; fi'
}
is "the variable" "$(RDMAEMU_REAL=yes device fake0)" real
is "a flag wins" "$(RDMAEMU_REAL=yes device '' --real=no)" rdmaemu0
is "auto, with a device" "$(device fake0 --real=auto)" real
is "auto, without" "$(device '' --real=auto)" rdmaemu0
is "auto, with one that does not open" "$(device ghost0 --real=auto)" rdmaemu0
is "auto by the variable" "$(RDMAEMU_REAL=auto device fake0)" real
is "auto says which: real" "$(on fake0 "$R" run --real=auto --explain -- true 2>&1 | head -1)" \
	"rdmaemu: on real devices: fake0"
is "auto says which: the emulator" "$(on '' "$R" run --real=auto --explain -- true 2>&1 | sed 's/, .sys.*//; /nothing/d')" \
	"rdmaemu: on the emulator: no RDMA device: libibverbs lists none"
is "what is decided holds for runs in the run" \
	"$(RDMAEMU_REAL=auto on '' "$R" run -- "$R" run --node b -- sh -c 'echo $RDMAEMU_REAL $RDMAEMU_NODE')" "no b"
RDMAEMU_REAL=yes refuses "the variable is named" "" 2 "run: RDMAEMU_REAL: no RDMA device" -- true
RDMAEMU_REAL='a b' refuses "no value of it" fake0 125 "RDMAEMU_REAL='a b': expected auto, yes, no, or names" -- true
refuses "no value of the option" fake0 2 "run: --real 'a b': expected auto, yes, no, or names" --real='a b' -- true
refuses "nor is an empty one" fake0 2 "run: --real '': expected auto, yes, no, or names" --real= -- true

# --- names

is "named ones" "$(on 'fake0 ghost0 fake1 fake2' "$R" run --real=fake2,fake0,ghost0 --explain -- true 2>&1 | head -1)" \
	"rdmaemu: on real devices: fake0, fake2; ghost0 cannot be opened (No such device or address)"
is "the tap hides the others" "$(on fake0 "$R" run --real=fake0 -- sh -c 'echo "$RDMAEMU_REAL ${LD_PRELOAD##*/}"')" \
	"fake0 librdmaemu-tap.so"
refuses "none of the names is there" 'fake0 fake1' 2 \
	"run: --real=mlx5_0,fake: no RDMA device: libibverbs lists none of these, but fake0, fake1, /sys" --real=mlx5_0,fake -- true
RDMAEMU_REAL=fake1 refuses "by the variable" fake0 2 "run: RDMAEMU_REAL=fake1: no RDMA device" -- true
is "--real takes names out of the variable" \
	"$(RDMAEMU_REAL=fake1 on fake0 "$R" run --real -- sh -c 'echo "$RDMAEMU_REAL $LD_PRELOAD"')" "yes "
echo "devices 3" >"$TEST_DIR/profile"
named() {
	"$R" run --fresh --profile "$TEST_DIR/profile" -- "$R" "$@" | awk 'NR > 2 { print $1 }'
}
is "a program sees the named ones" "$(named run --real=rdmaemu2,rdmaemu1 -- ibv_devices)" $'rdmaemu1\nrdmaemu2'
is "so does a recorded one" "$(named record --real=rdmaemu2 -o "$TEST_DIR/named" -- ibv_devices)" rdmaemu2
is "and a run in its run" "$(named run --real=rdmaemu1 -- "$R" run -- ibv_devices)" rdmaemu1

# --- options that need a fabric

echo 'loss 1%' >"$TEST_DIR/rules"
for option in --isolated --linger=1 --seed=2 --first-mr=2 --profile=rxe --subnet=10.5.0.0/16 --listen=127.0.0.1:1 \
	--join=127.0.0.1:1 --plaintext --name=x --time-scale=2 --clock=manual --chaos --node=a \
	"--capture=$TEST_DIR/x.pcapng" --lossy --control; do
	refuses "--real $option" fake0 2 "run: ${option%%=*}: expected a fabric, which there is none of with --real" \
		--real "$option" -- true
done
refuses "auto, with a device, and a node" fake0 2 "run: --node: expected a fabric" --real=auto --node a -- true
is "auto, and what the fabric would be like" "$(device fake0 --real=auto --seed 3 --fabric f)" real
is "auto, and what the fabric is like" "$(device '' --real=auto --seed 3 --fabric f)" rdmaemu0
refuses "a rule about packets" fake0 125 "$TEST_DIR/rules:1: 'loss': expected fail, wc, defer, cq hold, cq delay, limit, cm drop, cm reject, event, kill, pause or resume: a real wire" \
	--real "--scenario=$TEST_DIR/rules" -- true
RDMAEMU_SCENARIO=$TEST_DIR/rules refuses "a scenario of the environment" fake0 125 "rules:1: 'loss': expected fail" \
	--real -- true
STUB=fake0 LD_LIBRARY_PATH=$TEST_DIR/stub rdmaemu_refuses record "a scenario of a recording" 2 \
	"record: --scenario: expected a fabric" -o "$TEST_DIR/trace" --real "--scenario=$TEST_DIR/rules" -- true
RDMAEMU_LINGER=0 check "other settings of the environment" on fake0 "$R" run --real -- true

# --- on the emulator of an outer run

emu sh -c "env >'$TEST_DIR/outer'; exec '$R' run --real -- env >'$TEST_DIR/inner'"
is "within a run: its environment" "$(cat "$TEST_DIR/inner")" "$(cat "$TEST_DIR/outer")"
is "within a run: its devices" "$(emu "$R" run --real --explain -- true 2>&1 | head -1)" "rdmaemu: on real devices: rdmaemu0"
echo "fail call=ibv_alloc_pd errno=ENOSPC" >"$TEST_DIR/pd"
echo "fail call=ibv_open_device errno=ENXIO" >"$TEST_DIR/open"
is "within a run with rules: they are in force" \
	"$("$R" run --fresh --scenario "$TEST_DIR/pd" -- \
	"$R" run --real -- ibv_rc_pingpong 2>&1 | grep -v ^rdmaemu:)" "Couldn't allocate PD"
is "within a run: a device that does not open" \
	"$("$R" run --fresh --scenario "$TEST_DIR/open" -- \
	"$R" run --real -- true 2>&1 | sed -n 's/, .sys.*//p')" \
	"rdmaemu: run: --real: no RDMA device: rdmaemu0 cannot be opened (No such device or address)"

# --- other verbs

is "doctor names them" "$(on 'fake0 ghost0' "$R" doctor | grep '^[a-z]* *real ' | tr -s ' ')" \
	"ok real fake0, for 'rdmaemu run --real'
note real ghost0 cannot be opened (No such device or address)"
is "doctor, without a device" "$(on '' "$R" doctor | sed -n 's/, .sys.*//; /^ok  *real /s/  */ /gp')" \
	"ok real no device for 'rdmaemu run --real': libibverbs lists none"
RDMAEMU_REAL=yes check "record: the variable" on fake0 "$R" record -o "$TEST_DIR/trace" -- true
is "record: real devices" "$(sed -n 's/^real //p' "$TEST_DIR/trace/trace")" yes
check "record --real=auto: the emulator" on '' "$R" record --real=auto -o "$TEST_DIR/auto" -- true
is "record --real=auto: the emulator" "$(sed -n 's/^real //p' "$TEST_DIR/auto/trace")" no
rdmaemu_refuses replay "replay --real=auto" 2 "expected yes, no or names of devices, not auto" --real=auto "$TEST_DIR/auto"
# Devices of a trace correspond to those that a program sees, by their place.
"$R" run --fresh --linger 0 -- "$R" record --real -o "$TEST_DIR/pd_trace" -- /usr/bin/python3 -c '
import ctypes
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = verbs.ibv_alloc_pd.restype = ctypes.c_void_p
pd = verbs.ibv_alloc_pd(ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(verbs.ibv_get_device_list(None)[0]))))
assert pd'
replayed() {
	limit "$R" run --fresh --profile "$TEST_DIR/profile" --scenario "$TEST_DIR/no_pd" -- "$R" replay "$@" "$TEST_DIR/pd_trace" 2>&1 |
		grep -v ^rdmaemu
}
echo "limit max_pd=0 device=rdmaemu1" >"$TEST_DIR/no_pd"
is "replay: on all devices" "$(replayed --real | grep -o 'no divergence')" "no divergence"
is "replay: on the named one" "$(replayed --real=rdmaemu1 | grep -c 'replayed: NULL')" 1
rdmaemu_refuses replay "replay on a device that is not there" 2 "--real=mlx5_9: no RDMA device" --real=mlx5_9 "$TEST_DIR/pd_trace"
done_testing
