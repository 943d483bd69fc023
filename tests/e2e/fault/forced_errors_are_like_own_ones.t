#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: queue pairs of one process
# waits
# A queue pair that a `wc` rule fails completes its requests as one that fails by itself does, on emulated devices and,
# with the emulator of an outer run as the machine, on real ones.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/own_error.sh"

plain() {
	limit "$RDMAEMU" run --fresh -- "$@"
}

ruled() {
	limit "$RDMAEMU" run --fresh --scenario "$TEST_DIR/own.rules" -- "$@"
}
echo "# emulated devices"
own_errors plain ruled

ruled_real() {
	emu "$RDMAEMU" run --real --fresh --scenario "$TEST_DIR/own.rules" -- "$@"
}
echo "# real devices"
own_errors plain ruled_real
done_testing
