#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Memory windows of both types.
. "$(dirname "$0")/lib.sh"
for side in $SIDES; do
	app app_mw $side
	app app_mw_inv $side
done
export RUN_FLAGS='--isolated --fabric isolated'
app app_mw remote
app app_mw_inv remote
done_testing
