#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 16
# settings: one: how programs are started
# Programs that gcc or clang has built under a sanitizer just run, however they are started, and the sanitizer blames
# nothing of ours.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$SLOW" = 1 ] || skip_all "the library itself is under a sanitizer here"
shim=$(realpath "$SHIM")

# build NAME COMPILER FLAGS... - into $TEST_DIR/NAME
build() {
	local name=$1
	shift
	"$@" -O1 -g -o "$TEST_DIR/$name" "$TOP/tests/e2e/run/sanitized.c" -libverbs -lpthread >"$TEST_DIR/cc.out" 2>&1
}

# clean NAME COMMAND... - it ends well, prints "done" last and nothing of a sanitizer
clean() {
	local name=$1 out status=0
	shift
	out=$(limit "$RDMAEMU" run -- "$@" 2>&1 </dev/null) || status=$?
	if [ $status = 0 ] && [ "${out##*$'\n'}" = done ] && ! grep -qE 'ERROR|WARNING|runtime error|ld\.so' <<<"$out"; then
		ok "$name"
	else
		not_ok "$name" "status $status" "$out"
	fi
}

limit "$RDMAEMU" fabric start >/dev/null
for cc in gcc clang; do
	for kind in address thread undefined leak address,undefined; do
		# TSan of some versions cannot start on some kernels, with or without us.
		if ! build $cc-$kind $cc -fsanitize=$kind || { echo 'int main(void){}' >"$TEST_DIR/e.c" &&
			$cc -fsanitize=$kind -o "$TEST_DIR/e" "$TEST_DIR/e.c" && ! "$TEST_DIR/e"; } 2>/dev/null; then
			skip "$cc, $kind" "there is no such sanitizer here"
			continue
		fi
		clean "$cc, $kind" "$TEST_DIR/$cc-$kind"
	done
done
dir=$(clang -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)
if [ -f "$dir" ] && build shared clang -fsanitize=address -shared-libsan; then
	export LD_LIBRARY_PATH=${dir%/*}
	clean "clang's shared runtime" "$TEST_DIR/shared"
	unset LD_LIBRARY_PATH
else
	skip "clang's shared runtime" "it is not installed"
fi
if [ -x "$TEST_DIR/gcc-address" ]; then
	asan=$TEST_DIR/gcc-address
elif [ -x "$TEST_DIR/clang-address" ]; then
	asan=$TEST_DIR/clang-address
else
	done_testing
fi

# Through programs that start it.
for by in 'env A=1' 'nice -n 1' 'timeout 60' 'stdbuf -oL' 'sh -c' 'bash -c' 'xargs -a /dev/null'; do
	# shellcheck disable=SC2086
	clean "by $by" $by "$asan"
done
printf '#!/bin/sh\nexec "$1"\n' >"$TEST_DIR/script" && chmod +x "$TEST_DIR/script"
clean "by a script" "$TEST_DIR/script" "$asan"
if command -v python3 >/dev/null; then
	for call in 'os.execv(p, [p])' 'subprocess.check_call([p])' 'os._exit(os.system(p))' \
		'sys.exit(os.waitpid(os.posix_spawn(p, [p], os.environ), 0)[1])' 'os.execlp(p, p)'; do
		clean "by python: $call" python3 -c "import os, subprocess, sys; p = '$asan'; $call"
	done
fi
clean "a child of fork()" "$asan" fork
clean "objects that the program keeps" "$asan" keep

# Programs that it starts do not get the runtime.
out=$(limit "$RDMAEMU" run "$asan" shell 2>&1)
is "its shell has our library alone" "$(sed -n 's/^preload //p' <<<"$out")" "$shim"

# What leaks is the program's, by the program's own line.
limit "$RDMAEMU" run "$asan" leak >"$TEST_DIR/leak" 2>&1
[ $? != 0 ] && ok "its own leak is found" || not_ok "its own leak is found"
is "and nothing else" "$(grep -c 'leak of' "$TEST_DIR/leak")" 1
grep -q 'leak of 77 byte' "$TEST_DIR/leak" && ok "and described" || not_ok "and described" "$(cat "$TEST_DIR/leak")"

# A runtime that the user preloads stays first.
runtime=$(gcc -print-file-name=libasan.so 2>/dev/null)
if [ "${runtime#/}" != "$runtime" ]; then
	runtime=$(realpath "$runtime")
	is "a preloaded runtime stays first" \
		"$(ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$runtime:/lib/x86_64-linux-gnu/libm.so.6 limit "$RDMAEMU" run \
			sh -c 'echo "$LD_PRELOAD"' 2>&1)" "$runtime:$shim:/lib/x86_64-linux-gnu/libm.so.6"
fi
limit "$RDMAEMU" fabric stop >/dev/null
done_testing
