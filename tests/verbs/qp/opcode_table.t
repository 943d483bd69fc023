#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one nodes fabrics
# Each opcode and each send flag on each type of QP, in one process and between two.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_qp_opcode_table local
app app_qp_opcode_table remote
in_one app app_qp_opcode_flags local
app app_qp_opcode_flags remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_qp_opcode_table remote
done_testing
