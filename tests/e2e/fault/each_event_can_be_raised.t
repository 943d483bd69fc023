#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes: rules are of one fabric
# Each asynchronous event that a fault rule can raise, direct and isolated.
. "$(dirname "$0")/../../lib/lib.sh"
# The programs set the rules themselves.
export RDMAEMU_LINGER=60000 RDMAEMU_BIN=$RDMAEMU RDMAEMU_CONTROL=yes

for side in $SIDES; do
	app app_fault_event "$side"
done
app app_cm_fault
check "nothing is left" audit_all
export RUN_FLAGS='--isolated --fabric isolated' RDMAEMU_FABRIC=isolated
for side in $SIDES; do
	app app_fault_event "$side"
done
app app_cm_fault
check "nothing is left in the isolated fabric" audit_all --fabric isolated
export RUN_FLAGS='--clock manual --fabric manual' RDMAEMU_FABRIC=manual
app app_cm_fault manual
export RUN_FLAGS='--clock manual --isolated --fabric apart' RDMAEMU_FABRIC=apart
app app_cm_fault manual
done_testing
