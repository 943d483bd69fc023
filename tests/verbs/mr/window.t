#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Memory windows of both types.
. "$(dirname "$0")/../../lib/lib.sh"
for side in $SIDES; do
	app app_mr_window $side
	app app_mr_window_inv $side
done
export RUN_FLAGS='--isolated --fabric isolated'
app app_mr_window remote
app app_mr_window_inv remote
done_testing
