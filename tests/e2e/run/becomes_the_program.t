#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command, and one program
# `rdmaemu run` becomes the program: exit status, signals, arguments, descriptors; it prints nothing.
. "$(dirname "$0")/../../lib/lib.sh"

for s in 0 1 77 255; do
	emu bash -c "exit $s" 2>/dev/null
	is "exit status $s" $? $s
done
out=$("$RDMAEMU" run -- bash -c 'kill -TERM $$' 2>&1)
is "death by SIGTERM" $? 143
out=$("$RDMAEMU" run -- bash -c 'kill -SEGV $$' 2>/dev/null)
is "death by SIGSEGV" $? 139
is "silent" "$(emu true 2>&1)" ""
is "arguments pass unchanged" "$(emu printf '<%s>' 'a b' '' '*' --help -- 2>&1)" "<a b><><*><--help><-->"
is "without --" "$("$RDMAEMU" run echo --json -x 2>&1)" "--json -x"
is "standard input" "$(echo hello | timeout 20 "$RDMAEMU" run -- cat)" "hello"
"$RDMAEMU" run -- sleep 30 &
pid=$!
wait_for 10 sh -c "tr '\\0' ' ' </proc/$pid/cmdline | grep -q '^sleep 30'"
is "the same process becomes the program" "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "sleep 30 "
kill $pid
wait $pid
is "a signal to it reaches the program" $? 143

emu /no/such/program 2>"$TEST_DIR/err"
is "no such program" $? 127
[ -s "$TEST_DIR/err" ] && ok "and says so" || not_ok "and says so"
: >"$TEST_DIR/plain"
emu "$TEST_DIR/plain" 2>/dev/null
is "not executable" $? 126
is "no descriptors are left open" "$(emu sh -c 'ls /proc/self/fd | wc -l')" "$(sh -c 'ls /proc/self/fd | wc -l')"
is "environment of the program" "$(FOO=bar emu sh -c 'echo $FOO')" bar
is "an LD_PRELOAD of the user's stays" \
	"$(LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6 emu sh -c 'echo "$LD_PRELOAD"' | grep -c 'libm.so.6')" 1

for verb in run fabric status; do
	check "$verb --help" "$RDMAEMU" $verb --help
done
check "--help" "$RDMAEMU" --help
is "a long flag is there as a whole" "$("$RDMAEMU" replay --help | grep -c -- '--mode none|once|new_episodes|all$')" 1
check "--version" "$RDMAEMU" --version
"$RDMAEMU" run --no-such-option -- true >/dev/null 2>&1
is "an unknown option is refused" $? 2
"$RDMAEMU" no-such-verb >/dev/null 2>&1
is "an unknown verb is refused" $? 2

# Children, shells included, are under the preload and see the device.
is "a child of a child sees the device" \
	"$(emu bash -c 'sh -c "ibv_devinfo -l"' 2>/dev/null | head -n 1)" "1 HCA found:"
# A program that never touches verbs leaves no mark: no thread, no descriptor.
is "no thread in a program without verbs" "$(emu sh -c 'ls /proc/$$/task | wc -l')" 1
needed=$(readelf -d "$SHIM" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' | grep -vE '^ld-linux|san\.so')
is "the shim needs libc only" "$needed" ""
is "the shim has no constructors" \
	"$(nm "$SHIM" 2>/dev/null | grep -c ' t .*_GLOBAL__sub_I\| t .*constructor')" 0
done_testing
