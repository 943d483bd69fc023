#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 40
# settings: one: fabrics of its own
# The machine runs out of space, descriptors or memory at any call, or kills a process: one clear line, nothing left.
. "$(dirname "$0")/../lib/lib.sh"
need python3
limit "$T/sys_fail" fd 24 1000000 "$TEST_DIR/count" true
[ $? = 77 ] && skip_all "the kernel cannot let system calls fail"
export RDMAEMU T TEST_DIR SLOW PATIENCE
python3 "$TOP/tests/torture/exhausted.py" ${TORTURE_N:+all}
