#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# An isolated fabric, whose fabric process runs the whole engine.
. "$(dirname "$0")/../../lib/lib.sh"
export RUN_FLAGS=--isolated
app app_qp_ops remote
app app_qp_errors remote
app app_qp_retry remote
in_one app app_qp_states
in_one app app_cq_queue 3000
in_one app app_mr_region
in_one app app_device_lifetime
app app_qp_kill stopped
app app_qp_order remote $(by_setting 3000 300)
done_testing
