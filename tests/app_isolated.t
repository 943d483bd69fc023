#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# An isolated fabric runs everything itself.
. "$(dirname "$0")/lib.sh"
export RUN_FLAGS=--isolated
app app_ops remote
app app_errors remote
app app_retry remote
in_one app app_states
in_one app app_cq 3000
in_one app app_mr
in_one app app_lifetime
app app_kill stopped
app app_order remote $(by 3000 300)
done_testing
