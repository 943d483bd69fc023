#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# QP states, memory regions, completion queues, posting, fork.
. "$(dirname "$0")/lib.sh"
app app_states
app app_mr
app app_cq
app app_post
app app_fork
app app_fork init
app app_lifetime
done_testing
