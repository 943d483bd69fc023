#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Work that was posted before its QP is moved to ERR or RESET, or destroyed, is sent.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_qp_posted_before_error local
app app_qp_posted_before_error remote
export RUN_FLAGS='--isolated --fabric isolated'
in_one app app_qp_posted_before_error local
app app_qp_posted_before_error remote
done_testing
