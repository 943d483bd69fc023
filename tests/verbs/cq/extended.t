#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Extended CQs and CQ moderation: direct, with the receiver in another process, and isolated.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_cq_extended
in_one app app_cq_moderation
app app_cq_moderation remote
in_one app app_cq_arm_pending no
RUN_FLAGS='--profile connectx6 --fabric connectx6' in_one app app_cq_arm_pending yes
RUN_FLAGS='--profile connectx6 --fabric connectx6i --isolated' in_one app app_cq_arm_pending yes
export RUN_FLAGS="--isolated --fabric isolated"
in_one app app_cq_extended
app app_cq_moderation remote
done_testing
