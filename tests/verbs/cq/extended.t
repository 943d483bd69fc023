#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Extended CQs and CQ moderation: direct, with the receiver in another process, and isolated.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_cq_extended
in_one app app_cq_moderation
app app_cq_moderation remote
export RUN_FLAGS="--isolated --fabric isolated"
in_one app app_cq_extended
app app_cq_moderation remote
done_testing
