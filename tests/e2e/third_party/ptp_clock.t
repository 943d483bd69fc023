#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the suite uses one host alone
# Programs find and read a device's PTP hardware clock: Python as any program does, and rdma-core's own tests of it,
# of the suite in PYVERBS_SUITE, with the profile that has one.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

# read_clock PROFILE - the difference to CLOCK_REALTIME, in seconds, and what kind of name the clock has
read_clock() {
	limit "$RDMAEMU" run --fabric "ptp-$1" --profile "$1" -- /usr/bin/python3 -c '
import os, time
name = os.listdir("/sys/class/infiniband/rdmaemu0/device/ptp")[0]
with open("/dev/" + name, "rb") as f:
    clock = (~f.fileno() << 3) | 3
    before, now, after = time.time(), time.clock_gettime(clock), time.time()
print(name.rstrip("0123456789"), before - 0.000001 <= now <= after + 0.000001)'
}
is "connectx6 has a clock, and it shows the time" "$(read_clock connectx6)" "ptp True"
is "generic has none" "$(read_clock generic 2>&1 | sed -n '$s/.*Errno 2. //p')" \
	"No such file or directory: '/sys/class/infiniband/rdmaemu0/device/ptp'"

src=${PYVERBS_SUITE:-/usr/share/doc/rdma-core/tests}
if [ -e "$src/test_phc_timestamp.py" ]; then
	suite=$TEST_DIR/suite
	mkdir -p "$suite/tests"
	find "$src" -maxdepth 1 -name '*.py' ! -name 'test_*' ! -name run_tests.py -exec cp -t "$suite/tests" {} +
	cp "$src/test_phc_timestamp.py" "$suite/tests/"
	mv "$suite/tests/args_parser.py" "$suite/"
	/usr/bin/python3 "$TOP/tests/lib/py/pyverbs_run.py" "$suite" /dev/null \
		"$RDMAEMU" run --fabric ptp-connectx6 --profile connectx6 -- || FAILED=1
else
	skip "rdma-core's tests of PTP clocks" "the suite in $src has none"
fi
done_testing
