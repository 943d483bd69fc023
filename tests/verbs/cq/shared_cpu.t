#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: both programs share a CPU
# A poller whose peer needs its CPU sleeps, where the peer itself delivers and where the fabric process does.
. "$(dirname "$0")/../../lib/lib.sh"
app app_cq_shared_cpu 100
RUN_FLAGS='--isolated --fabric isolated' app app_cq_shared_cpu 100
done_testing
