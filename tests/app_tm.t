#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Tag matching: in a process, between two, isolated, and where the kernel refuses process_vm_*.
. "$(dirname "$0")/lib.sh"
in_one app app_tm local
app app_tm remote
RUN_BY="$T/sys_noptrace" app app_tm remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_tm remote
done_testing
