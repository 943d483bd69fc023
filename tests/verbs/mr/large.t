#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# A large region is registered without a stall: its pages are made when they are used, wherever the engine runs.
. "$(dirname "$0")/../../lib/lib.sh"
for side in $SIDES; do
	app app_mr_large $side
done
RUN_BY="$T/sys_noptrace" app app_mr_large remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_mr_large remote
done_testing
