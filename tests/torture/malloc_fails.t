#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# settings: one: fabrics of its own
# An allocation of the fabric process fails: one clear line, and the fabric, its programs and other members live on.
. "$(dirname "$0")/../lib/lib.sh"
need python3
export RDMAEMU T TEST_DIR SLOW PATIENCE
python3 "$TOP/tests/torture/malloc_fails.py" ${TORTURE_N:+all}
