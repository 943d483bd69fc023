#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Of a receive, only the bytes that the message takes must lie in registered memory.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_qp_receive_past_region local
app app_qp_receive_past_region remote
done_testing
