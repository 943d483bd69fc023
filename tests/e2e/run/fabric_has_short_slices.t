#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 1
# settings: one: the fabric process alone
# The scheduler gives the fabric process short slices, so that it preempts programs that poll; its threads longer ones.
. "$(dirname "$0")/../../lib/lib.sh"

# slice TID - the slice of a thread in ns, as sched_getattr(2) has it; 0: the kernel has none for each process
slice() {
	python3 - "$1" <<-'END'
		import ctypes, platform, struct, sys
		number = 315 if platform.machine() == "x86_64" else 275
		attr = ctypes.create_string_buffer(48)
		if ctypes.CDLL(None, use_errno=True).syscall(number, int(sys.argv[1]), attr, 48, 0):
		    sys.exit(f"sched_getattr: errno {ctypes.get_errno()}")
		print(struct.unpack("=IIQiIQQQ", attr)[5])
	END
}

check "a fabric starts" "$RDMAEMU" fabric start
usual=$(slice $$)
if [ "$usual" = 0 ]; then
	skip "its slices are short" "this kernel has one length for all"
	done_testing
fi
pid=$(status_json | json "d['pid']")
is "its slices are short" "$(slice "$pid")" 100000
check "a capture is written by a thread" "$RDMAEMU" capture start "$TEST_DIR/capture.pcapng"
others=$(for task in "/proc/$pid/task"/*; do
	[ "${task##*/}" = "$pid" ] || slice "${task##*/}"
done | sort -u)
check "the thread's are longer" [ "$others" -gt 100000 ]
check "the fabric ends" "$RDMAEMU" fabric stop
done_testing
