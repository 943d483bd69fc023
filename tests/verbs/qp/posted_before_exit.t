#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# A program that exits right after it has posted a message: the message arrives.
. "$(dirname "$0")/../../lib/lib.sh"
app app_qp_posted_before_exit
export RUN_FLAGS='--isolated --fabric isolated'
app app_qp_posted_before_exit
done_testing
