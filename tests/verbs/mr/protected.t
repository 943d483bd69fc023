#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# A device reaches registered memory whose owner has taken its own rights away by mprotect(2).
. "$(dirname "$0")/../../lib/lib.sh"
app app_mr_protected
RUN_BY="$T/sys_noptrace" app app_mr_protected
# Shared memory, of which the device has mappings of its own.
RDMAEMU_ALIAS=1 app app_mr_protected shared
RDMAEMU_ALIAS=1 RUN_BY="$T/sys_noptrace" app app_mr_protected shared
RDMAEMU_ALIAS=1 app app_mr_rereg remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_mr_protected
RDMAEMU_ALIAS=1 app app_mr_protected shared
RDMAEMU_ALIAS=1 app app_mr_rereg remote
done_testing
