#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 50
# waits
# settings: one: a process that sends to itself
# 1,000 random sequences of verbs calls return, and complete, the same with the recorder between program and library.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
export RDMAEMU_LINGER=0
check "plain and recorded" /usr/bin/python3 "$TOP/tests/lib/py/sequences.py" 1000 2 "$RDMAEMU run --fresh --" \
	"$RDMAEMU run --fresh -- $RDMAEMU record --real -o $TEST_DIR/trace{n} --" "$T/app_device_sequences" rdmaemu0 0 2
done_testing
