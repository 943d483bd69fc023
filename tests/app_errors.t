#!/bin/bash
# SPDX-License-Identifier: MIT
# The table of errors, row by row, and what takes time.
. "$(dirname "$0")/lib.sh"
app app_errors local
app app_errors remote
app app_retry local
app app_retry remote
done_testing
