#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one nodes fabrics
# The rows of the table of errors (docs/reference/errors.md); timeouts and RNR waits.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_qp_errors local
app app_qp_errors remote
in_one app app_qp_retry local
in_one app app_qp_late_receive
app app_qp_retry remote
done_testing
