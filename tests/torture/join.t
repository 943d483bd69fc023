#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 40
# settings: one: several fabrics of its own
# Joined fabrics while connections break, and fabrics and programs are killed.
. "$(dirname "$0")/../lib/lib.sh"
need python3
export TOP RDMAEMU T TEST_DIR SLOW
seconds=${TORTURE_SECONDS:-${TORTURE_N:+600}}
python3 "$TOP/tests/torture/join.py" "${seconds:-15}" ${TORTURE_SEED-}
