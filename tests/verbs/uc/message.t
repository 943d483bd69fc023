#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# UC: messages that arrive, messages that are dropped, and the side that sees an error.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_uc_message local
app app_uc_message remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_uc_message remote
done_testing
