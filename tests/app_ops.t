#!/bin/bash
# SPDX-License-Identifier: MIT
# Every RC opcode: between two QPs of a process, and between two processes.
. "$(dirname "$0")/lib.sh"
app app_ops local
app app_ops remote
done_testing
