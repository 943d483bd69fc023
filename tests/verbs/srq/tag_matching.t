#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Tag matching: in a process, between two, isolated, and where the kernel refuses process_vm_*.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_srq_tag_matching local
app app_srq_tag_matching remote
RUN_BY="$T/sys_noptrace" app app_srq_tag_matching remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_srq_tag_matching remote
done_testing
