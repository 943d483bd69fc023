#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Every RC opcode: between two QPs of a process, and between two processes.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_qp_ops local
app app_qp_ops remote
done_testing
