#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a run in a run
# `rdmaemu run --real --emulate`: a program has real and emulated devices in one list, and uses either, or both at a
# time. The emulator of an outer run stands for the machine's devices.
. "$(dirname "$0")/../../lib/lib.sh"
# shellcheck source=tests/lib/plain_real.sh
. "$TOP/tests/lib/plain_real.sh"
need ibv_devices ibv_devinfo ibv_rc_pingpong ib_write_bw rping python3

R=$RDMAEMU
printf 'name machine\ndevices 2\n' >"$TEST_DIR/machine"

# machine COMMAND... - on a machine that has machine0 and machine1
machine() {
	limit "$R" run --fresh --profile "$TEST_DIR/machine" -- "$@"
}

# both OPTION... -- COMMAND... - on that machine, with emulated devices of their own fabric
both() {
	machine "$R" run --real --emulate --fresh "$@"
}

# devices OPTION... - what ibv_devices lists
devices() {
	both "$@" -- ibv_devices 2>&1 | awk 'NR > 2 { printf "%s%s", n++ ? " " : "", $1 }'
}

# --- the list

is "one list has both" "$(devices)" "machine0 machine1 rdmaemu0"
is "real devices are chosen by name" "$(devices --real=machine1)" "machine1 rdmaemu0"
is "emulated ones by the profile" "$(devices --real=machine0 --profile rxe)" "machine0 rxe0"
is "--explain says so" "$(both --real=machine1 --explain -- true 2>&1 | head -1)" \
	"rdmaemu: on real devices: machine1; and on the emulator"
out=$(both --profile "$TEST_DIR/machine" -- ibv_devices 2>&1)
is "one name for two devices is said once" "$(grep -c 'real and emulated devices are both called machine0' <<<"$out")" 1
is "and the real one has it" "$(grep -c '^ *machine[01] ' <<<"$out")" 2
is "without a device, auto is the emulator alone" "$(limit "$R" run --fresh --real=auto --emulate -- sh -c \
	'ibv_devices | sed -n "s/^ *\(rdmaemu0\) .*/\1/p"; echo "${LD_PRELOAD##*/}"' 2>/dev/null)" $'rdmaemu0\nlibrdmaemu.so'

# --- programs

check "each device is opened" both -- ibv_devinfo
out=$(both --real=machine0 -- "$T/app_device_beside" machine0 rdmaemu0 2>&1) || out+=$'\nnot ok: status '$?
echo "$out"
! grep -q '^not ok' <<<"$out" || FAILED=$((FAILED + 1))

# Fabrics for all of them, which do not begin anew with each program.
export RDMAEMU_LINGER=60000
pair_runs() {
	sides pair "$1" "$2" "$R" run --fabric machine --profile "$TEST_DIR/machine" -- \
		"$R" run --real --emulate --fabric beside --
	went_well pair || { cat "$TEST_DIR/pair.status"; tail -n 5 "$TEST_DIR"/pair.{server,client}; return 1; }
}

# pairs_run DEVICE GREP_ARG... - those of the pairs of programs for that device
pairs_run() {
	local device=$1 server client
	shift
	while IFS=$'\t' read -r server client; do
		check "$device: $(pair_name "$server")" pair_runs "$server" "$client"
	done < <(program_pairs "$device" 127.0.0.1 0 emulator "$(free_port)" | grep -E "$@")
}
cm=' -R |rping|ucmatose|rdma_server|udaddy|mckey'
pairs_run rdmaemu0 -v -e "$cm"
pairs_run machine0 -e "$cm|ibv_rc_pingpong|ib_write_bw"
unset RDMAEMU_LINGER
"$R" fabric stop --fabric beside >/dev/null 2>&1
"$R" fabric stop --fabric machine >/dev/null 2>&1

# --- libraries that the program loads itself; rdma_cm

cat >"$TEST_DIR/lists.py" <<'END'
import ctypes


def names(get, free, name):
    get.restype = ctypes.POINTER(ctypes.c_void_p)
    n = ctypes.c_int()
    devices = get(ctypes.byref(n))
    text = [name(devices[i]).decode() for i in range(n.value)]
    free(devices)
    return ' '.join(text)


verbs = ctypes.CDLL('libibverbs.so.1')
cm = ctypes.CDLL('librdmacm.so.1')
name_of = verbs.ibv_get_device_name
name_of.restype = ctypes.c_char_p
name_of.argtypes = [ctypes.c_void_p]
print(names(verbs.ibv_get_device_list, verbs.ibv_free_device_list, name_of), '/',
      # The first member of a context is its device.
      names(cm.rdma_get_devices, cm.rdma_free_devices,
            lambda ctx: name_of(ctypes.cast(ctx, ctypes.POINTER(ctypes.c_void_p))[0])))
END
is "rdma_cm has both, also where the program loads the libraries" \
	"$(both -- python3 "$TEST_DIR/lists.py")" "machine0 machine1 rdmaemu0 / machine0 machine1 rdmaemu0"

# --- the run's options are about the emulated devices

echo "fail call=ibv_alloc_pd errno=ENOSPC" >"$TEST_DIR/pd"
# pd DEVICE - whether it has a PD, where a rule says that it has none
pd() {
	both --real=machine0 --scenario "$TEST_DIR/pd" -- ibv_rc_pingpong -d "$1" nobody.invalid 2>&1 |
		grep -o "Couldn't allocate PD\|Couldn't connect\|.* for nobody.invalid:.*" | head -1
}
is "rules fail calls for emulated devices" "$(pd rdmaemu0)" "Couldn't allocate PD"
isnt_pd=$(pd machine0)
check "and none for real ones" test -n "$isnt_pd" -a "$isnt_pd" != "Couldn't allocate PD"
is "a node's devices are emulated" \
	"$(both --real=machine0 --node b --explain -- ibv_devinfo -d rdmaemu0 2>&1 | grep -c 'hca_id:.rdmaemu0')" 1

# --- a run on real devices around it: its rules, journal and status are about the real side

# around DEVICE OPTION... -- what a program of that device prints at its end, with the outer run's report
around() {
	machine "$R" run --real --fresh --explain "${@:2}" -- "$R" run --real=machine0 --emulate --fresh -- \
		ibv_rc_pingpong -d "$1" nobody.invalid 2>&1
}
out=$(around machine0 --scenario "$TEST_DIR/pd")
is "rules of the real side" "$(grep -c "^Couldn't allocate PD" <<<"$out")" 1
is "its journal" "$(grep -c 'ENOSPC .* ibv_rc_pingpong.* ibv_alloc_pd(context=ctx1): by fault rule f1' <<<"$out")" 1
out=$(around rdmaemu0 --scenario "$TEST_DIR/pd")
is "they are not about the emulated one" "$(grep -c "Couldn't allocate PD\|^error" <<<"$out")" 0
is "that rule never matched" "$(grep -c "fault f1 never matched" <<<"$out")" 1

# held DEVICE COMMAND... - run COMMAND while a server of that device waits for a client
held() {
	local port pid in
	port=$(free_port)
	rm -f "$TEST_DIR/hold"
	mkfifo "$TEST_DIR/hold"
	machine "$R" run --real --fabric outer --explain -- "$R" run --real=machine0 --emulate --fresh -- \
		sh -c "ibv_rc_pingpong -d $1 -p $port & read -r line; kill \$!" <"$TEST_DIR/hold" >"$TEST_DIR/held" 2>&1 &
	pid=$!
	exec {in}>"$TEST_DIR/hold"
	wait_listen "$port" $pid
	"${@:2}"
	exec {in}>&-
	wait $pid
}
# real_qps - the queue pairs in the outer run's status
real_qps() {
	"$R" status -v --fabric outer | sed -nE 's/^qp 0x[0-9a-f]+: (RC [A-Z]+), .* (real device [a-z0-9]+).*/\1, \2/p'
}
is "status: a queue pair of machine0" "$(held machine0 real_qps)" "RC INIT, real device machine0"
is "status: none of rdmaemu0" "$(held rdmaemu0 real_qps)" ""

# --- misuse

rdmaemu_refuses run "--emulate alone" 2 "run: --emulate: expected --real with it" --emulate -- true
rdmaemu_refuses run "with --real=no" 2 "run: --emulate: expected --real with it" --real=no --emulate -- true
rdmaemu_refuses run "without a device" 2 "run: --real: no RDMA device: " --real --emulate -- true
rdmaemu_refuses run "with --check" 2 "run: --check: expected one kind of devices" --real --emulate --check -- true
rdmaemu_refuses run "with --lend" 2 "run: --lend: expected no real devices" --real --emulate --lend -- true
rdmaemu_refuses run "with --lend=auto" 2 "run: --lend: expected no real devices" --real --emulate --lend=auto -- true
rdmaemu_refuses record "a recording" 2 "--emulate" -o "$TEST_DIR/trace" --real --emulate -- true
done_testing
