#!/bin/bash
# SPDX-License-Identifier: MIT
# The suite under sanitizers: san.sh asan [NAME...] | tsan | valgrind. Called by `make check-san`.
#
# Reports go to files, since a fabric process and many a test's programs have no terminal to write
# to; one report is a failure, whatever the tests say.
set -u
shopt -s globstar
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
# shellcheck source=tests/lib/names.sh
. tests/lib/names.sh
reports=$(mktemp -d "${TMPDIR:-/tmp}/rdmaemu-san.XXXXXX") || exit 1
chmod 1777 "$reports"
trap 'rm -rf "$reports"' EXIT
status=0

runtime() {
	# shellcheck disable=SC2086 # CC may be several words, as for make
	${CC:-gcc} -print-file-name="lib$1.so"
}

# names DIR-OR-GLOB... - tests by name, without those that $left_out matches: where it has some, no others that are
# called like them either
names() {
	local path name
	for path; do
		name=$(name_of_path "$path")
		case " $left_out " in *" $name "*) ;; *) echo "${left_out:+=}$name" ;; esac
	done
}

# Programs that are not instrumented load the shim, which `rdmaemu run` puts in front of what is preloaded
# already: libasan comes before libc, which is what counts, but not first. Other libraries' constructors may call
# the shim before libasan's has run (libnuma's does): a library that the loader initializes before all does it. What
# tests run besides has none of it.
preloading() {
	local dir=$PWD/$BUILD/tests

	[[ $BUILD != /* ]] || dir=$BUILD/tests
	# shellcheck disable=SC2086
	${CC:-gcc} -shared -fPIC -Wl,-z,initfirst,--unresolved-symbols=ignore-all -o "$dir/asan_first.so" -x c - <<-END ||
		void __asan_init(void);
		__attribute__((constructor)) static void first(void) { __asan_init(); }
	END
		exit 1
	export SAN_RDMAEMU=$dir/under-asan/rdmaemu
	mkdir -p "${SAN_RDMAEMU%/*}"
	cat >"$SAN_RDMAEMU" <<-END
		#!/bin/sh
		exec env LD_PRELOAD="$(runtime asan):$dir/asan_first.so\${LD_PRELOAD:+:\$LD_PRELOAD}" "${dir%/tests}/bin/rdmaemu" "\$@"
	END
	chmod +x "$SAN_RDMAEMU"
}

asan() {
	local common=abort_on_error=0:exitcode=99:allocator_may_return_null=1:log_path=$reports/asan
	local left_out

	export TEST_SLOW=4 TEST_TIMEOUT=1200
	export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:log_path=$reports/ubsan
	if [ $# != 0 ]; then
		# shellcheck disable=SC2046
		set -- $(left_out='' names "$@")
	else
		# shellcheck disable=SC2046
		ASAN_OPTIONS=$common:detect_leaks=1 tests/run $(left_out='' names "$BUILD"/tests/unit/**/test_*) ||
			status=1
		# torture/kill, verbs/qp/order: a sanitizer's timing hides the races that they look for.
		# shim/exports: the built library has a sanitizer's symbols, too.
		# e2e/replay/live_client_or_server, record_modes: the addresses of a sanitizer's heap are never
		# free in another process.
		# torture/exhausted, torture/malloc_fails: the sanitizer's runtime ends a process that gets no memory.
		left_out="torture/kill torture/exhausted torture/malloc_fails verbs/qp/order shim/exports e2e/replay/live_client_or_server e2e/replay/record_modes"
		# shellcheck disable=SC2046
		set -- $(names tests/**/*.t)
	fi
	# What programs leak at exit is theirs, and so are their signals.
	preloading
	ASAN_OPTIONS=$common:detect_leaks=0:verify_asan_link_order=0:handle_segv=0 tests/run "$@" || status=1
}

tsan() {
	# TSan holds signals back, which are how the victims of some die.
	local left_out
	left_out=$(grep -rl 'emu_die\|lib/engine/deaths.h' tests/unit | sed 's|^tests/||; s|\.c$||' | xargs)

	export TEST_SLOW=4 TEST_TIMEOUT=1200
	# die_after_fork: the fabric process is a child of `rdmaemu`, and makes a thread.
	export TSAN_OPTIONS=exitcode=66:die_after_fork=0:log_path=$reports/tsan
	# shellcheck disable=SC2046
	tests/run $(names "$BUILD"/tests/unit/**/test_*) =verbs/device/threads || status=1
}

valgrind() {
	local t level

	if ! command -v valgrind >/dev/null; then
		echo "skip valgrind: not installed"
		return
	fi
	for t in "$BUILD"/tests/unit/**/test_*; do
		# The victims of the others die by the trap flag, which valgrind's processor does not have.
		[ -x "$t" ] && ! grep -q lib/engine/deaths.h "tests/${t#"$BUILD"/tests/}.c" || continue
		level=2
		case $t in
		# It takes all memory away, and reads its stack beyond the top.
		*/fabric/join/test_keys) continue ;;
		# With its optimizer, valgrind 3.19 writes to 0x0101010101010101 in memset(), and without it does not.
		*/fabric/join/*) level=0 ;;
		esac
		command valgrind -q --vex-iropt-level=$level --error-exitcode=99 --leak-check=full --fair-sched=yes \
			--log-file="$reports/valgrind.%p" "$t" || status=1
	done
}

case ${1-} in
asan | tsan | valgrind)
	"$@"
	;;
*)
	echo "usage: san.sh asan [NAME...] | tsan | valgrind" >&2
	exit 2
	;;
esac
for r in "$reports"/*; do
	[ -s "$r" ] || continue
	echo "FAIL $(basename "$r")"
	head -n 60 "$r"
	status=1
done
exit $status
