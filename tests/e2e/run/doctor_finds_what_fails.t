#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the machine itself
# `rdmaemu doctor` succeeds where all can work, names what fails with its remedy where not, and leaves nothing.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 gcc
cd "$TEST_DIR" || exit 1

# doctor NAME STATUS PATTERN COMMAND... - the exit status, and a line of the output that matches
doctor() {
	local name=$1 want=$2 pattern=$3 status=0
	shift 3
	limit "$@" >out 2>err </dev/null || status=$?
	if [ $status = "$want" ] && grep -qE -- "$pattern" out; then
		ok "$name"
	else
		not_ok "$name" "status $status, wanted $want and $pattern" "$(cat out err)"
	fi
}

doctor "all can work" 0 '^ok    device +a program on a fabric of its own has opened rdmaemu0' "$RDMAEMU" doctor
is "its last line" "$(tail -n 1 out)" "all can work"
is "nothing on stderr" "$(cat err)" ""
is "each line has a result" "$(sed '$d' out | grep -cvE '^(ok  |note)  |^ {18}-> ')" 0
for check in rdmaemu machine library rdma-core nofile as memlock memfd shm namespaces seccomp copies kernel real state device; do
	grep -qE "^[a-z]+ +$check +[^ ]" out || not_ok "a line about $check" "$(cat out)"
done
is "its fabric is gone" "$(wait_for 10 sh -c "! ls '$RDMAEMU_DIR'/doctor-*.sock" && echo gone)" gone
is "it keeps no journal, which would hide that of the last run" "$(ls "$RDMAEMU_DIR/journals" 2>/dev/null)" ""
doctor "as JSON" 0 '"checks"' "$RDMAEMU" doctor --json
is "which says so" "$(json 'd["ok"], len(d["checks"]) > 12, set(c["result"] for c in d["checks"]) <= {"ok", "note"}' <out)" \
	"(True, True, True)"

# Programs. They are not run.
printf 'int main(void) { return 0; }\n' >p.c && gcc -o dynamic p.c
doctor "a dynamic program" 0 '^ok    program +\./dynamic is a dynamic program' "$RDMAEMU" doctor ./dynamic
doctor "by wrappers" 0 '^ok    program +\./dynamic is a dynamic program' "$RDMAEMU" doctor -- env -u X A=1 timeout 5 ./dynamic -x
printf '#!/bin/sh\ntouch was-run\n' >script && chmod +x script
doctor "a script" 0 '^ok    program +\./script is a script of /bin/sh' "$RDMAEMU" doctor ./script
is "which is not run" "$(ls was-run 2>/dev/null)" ""
if gcc -static -o static p.c 2>/dev/null; then
	doctor "a static program" 1 '^FAIL  program +\./static is statically linked' "$RDMAEMU" doctor nice ./static
	doctor "as JSON, too" 1 'static is statically linked' "$RDMAEMU" doctor --json ./static
	is "which is not ok" "$(json 'd["ok"], d["checks"][-1]["result"]' <out)" "(False, 'fail')"
fi
gcc -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl p.c
doctor "musl's loader" 1 '^FAIL  program +\./musl needs the loader' "$RDMAEMU" doctor ./musl
doctor "no such program" 1 '^FAIL  program +\./none: No such file' "$RDMAEMU" doctor ./none
echo text >text && chmod +x text
doctor "no program at all" 1 '^FAIL  program +\./text: expected an ELF program or a script' "$RDMAEMU" doctor ./text
if gcc -fsanitize=address -o asan p.c 2>/dev/null; then
	doctor "a program with ASan" 0 '^ok    program +\./asan needs libasan' "$RDMAEMU" doctor ./asan
fi

# Machines.
mkdir -m 0777 open
doctor "a state directory that is open to others" 1 '^FAIL  state ' "$RDMAEMU" doctor --dir open
doctor "no library" 1 '^FAIL  library ' env RDMAEMU_LIB=/no/such "$RDMAEMU" doctor
doctor "few descriptors" 1 '^FAIL  nofile +20 open files' sh -c "ulimit -n 20; exec '$RDMAEMU' doctor"
grep -q -- '-> ulimit -n' out && ok "with a remedy" || not_ok "with a remedy" "$(cat out)"
if [ "${SAN_RDMAEMU-}" ]; then
	skip "little address space" "a sanitizer maps terabytes"
else
	doctor "little address space" 1 '^FAIL  device ' sh -c "ulimit -v 150000; exec '$RDMAEMU' doctor"
fi

# forbid NUMBER... - what runs `rdmaemu doctor` under a seccomp filter by which these system calls fail with EPERM
cat >forbid.py <<'END'
import ctypes, os, struct, sys
command, calls = sys.argv[1], [int(n) for n in sys.argv[2:]]
code = [(0x20, 0, 0, 0)]
for n in calls:
    code += [(0x15, 0, 1, n), (0x06, 0, 0, 0x00050001)]
code += [(0x06, 0, 0, 0x7fff0000)]
program = b''.join(struct.pack('HBBI', *c) for c in code)
buf = ctypes.create_string_buffer(program)
fprog = struct.pack('HxxxxxxP', len(code), ctypes.addressof(buf))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(fprog), 0, 0):
    sys.exit(77)
os.execv(command, [command, 'doctor'])
END
if [ "$(uname -m)" = x86_64 ] && python3 forbid.py "$RDMAEMU" 9999 >/dev/null 2>&1; then
	doctor "seccomp without memfd_create" 1 '^FAIL  memfd +memfd_create: Operation not permitted' \
		python3 forbid.py "$RDMAEMU" 319
	doctor "the device fails, too" 1 '^FAIL  device ' python3 forbid.py "$RDMAEMU" 319
	doctor "seccomp without timerfd_create" 1 '^FAIL  seccomp +timerfd_create\(2\) does not work' \
		python3 forbid.py "$RDMAEMU" 283
	doctor "seccomp without process_vm_readv" 0 '^note  copies +process_vm_readv\(2\): Operation not permitted' \
		python3 forbid.py "$RDMAEMU" 310 311
	grep -qE '^ok    seccomp +a filter, no_new_privs 1' out && ok "it names the filter" ||
		not_ok "it names the filter" "$(cat out)"
else
	skip "seccomp" "no filter can be set here"
fi
if is_root && command -v setpriv >/dev/null && chmod 711 "$TEST_DIR" && setpriv --reuid=65534 --clear-groups test -r "$SHIM"; then
	mkdir user && chown 65534 user
	doctor "an ordinary user" 0 'user 65534' setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$RDMAEMU" doctor --dir "$PWD/user"
fi
done_testing
