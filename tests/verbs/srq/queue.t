#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Shared receive queues.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_srq_queue local
app app_srq_queue remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_srq_queue remote
done_testing
