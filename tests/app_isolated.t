#!/bin/bash
# SPDX-License-Identifier: MIT
# An isolated fabric runs everything itself.
. "$(dirname "$0")/lib.sh"
export RUN_FLAGS=--isolated
app app_ops remote
app app_errors remote
app app_retry remote
app app_states
app app_cq
app app_mr
app app_lifetime
app app_kill stopped
app app_order remote 3000
done_testing
