#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# QP states, memory regions, completion queues, posting, fork.
. "$(dirname "$0")/../../lib/lib.sh"
app app_qp_states
app app_mr_region
app app_cq_queue
app app_cq_arm_twice
app app_qp_post
app app_device_fork
app app_device_fork init
app app_device_lifetime
done_testing
