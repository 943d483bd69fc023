#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Device memory.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_mr_dm local
app app_mr_dm remote
RUN_BY="$T/sys_noptrace" app app_mr_dm remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_mr_dm remote
done_testing
