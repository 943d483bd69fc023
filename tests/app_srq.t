#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Shared receive queues.
. "$(dirname "$0")/lib.sh"
in_one app app_srq local
app app_srq remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_srq remote
done_testing
