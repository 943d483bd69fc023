#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one: fabrics and nodes of its own
# Random scenarios of fault rules: each ends in success or in the right error, and does so when repeated.
. "$(dirname "$0")/../lib/lib.sh"
need python3
export TOP RDMAEMU T TEST_DIR SLOW RDMAEMU_LINGER=60000
python3 "$TOP/tests/torture/fault.py" "${TORTURE_FAULTS:-$((60 / SLOW))}" "${TORTURE_RERUNS:-12}" "${TORTURE_SEED:-1}"
