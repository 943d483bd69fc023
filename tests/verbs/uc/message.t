#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# UC: what arrives, what is dropped, and whose error it is.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_uc_message local
app app_uc_message remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_uc_message remote
done_testing
