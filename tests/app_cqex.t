#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Extended CQs and CQ moderation; direct, with the receiver elsewhere, on an isolated fabric.
. "$(dirname "$0")/lib.sh"
in_one app app_cqex
in_one app app_cqmod
app app_cqmod remote
export RUN_FLAGS="--isolated --fabric isolated"
in_one app app_cqex
app app_cqmod remote
done_testing
