#!/bin/bash
# SPDX-License-Identifier: MIT
# The suite under sanitizers: san.sh asan [NAME...] | tsan | valgrind. Called by `make check-san`.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
# Every instruction counts more of them here.
export DEATH_STEP=20011

case ${1-} in
asan)
	shift
	# Programs that are not instrumented load the shim: libasan must come before their libc. `rdmaemu
	# run` puts the shim in front of it, hence no check of the order. What they leak is theirs.
	LD_PRELOAD=$(gcc -print-file-name=libasan.so)
	export LD_PRELOAD TEST_SLOW=4 TEST_TIMEOUT=1200
	export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0
	export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
	exec tests/run "$@"
	;;
tsan)
	status=0
	for t in "$T"/unit_*; do
		[ -x "$t" ] || continue
		echo "== $t"
		TSAN_OPTIONS=halt_on_error=1 "$t" || status=1
	done
	exit $status
	;;
valgrind)
	need valgrind
	status=0
	for t in "$T"/unit_*; do
		[ -x "$t" ] || continue
		# It dies by the trap flag, which valgrind's processor does not have.
		[ "$(basename "$t")" != unit_recover ] || continue
		echo "== $t"
		valgrind -q --error-exitcode=1 --max-stackframe=4000000 "$t" || status=1
	done
	exit $status
	;;
*)
	echo "usage: san.sh asan [NAME...] | tsan | valgrind" >&2
	exit 2
	;;
esac
