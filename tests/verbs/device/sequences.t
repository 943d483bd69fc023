#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 50
# waits
# settings: one: a process that sends to itself
# Random sequences of verbs calls return, and complete, the same with the tap between program and library: 1,000 with
# the recorder as its user, and 200 with a fault rule that no call hits.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
export RDMAEMU_LINGER=0
check "plain and recorded" /usr/bin/python3 "$TOP/tests/lib/py/sequences.py" 1000 2 "$RDMAEMU run --fresh --" \
	"$RDMAEMU run --fresh -- $RDMAEMU record --real -o $TEST_DIR/trace{n} --" "$T/app_device_sequences" rdmaemu0 0 2
echo "wc status=GENERAL_ERR program=nobody" >"$TEST_DIR/rules"
check "plain and with a fault rule" /usr/bin/python3 "$TOP/tests/lib/py/sequences.py" 200 2 "$RDMAEMU run --fresh --" \
	"$RDMAEMU run --fresh -- $RDMAEMU run --real --fabric real{n} --scenario $TEST_DIR/rules --" \
	"$T/app_device_sequences" rdmaemu0 0 2
done_testing
