#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# Endpoints, and the QPs, SRQs and addresses of the rdma_cm's identifiers.
. "$(dirname "$0")/../../lib/lib.sh"
app app_cm_addrinfo
app app_cm_newer
app app_cm_unknown_id
app app_cm_ep
printf 'fail call=%s errno=EOPNOTSUPP\n' ibv_query_ece ibv_set_ece >"$TEST_DIR/no_ece"
RUN_FLAGS="--scenario $TEST_DIR/no_ece --fabric no_ece" app app_cm_ep
RUN_FLAGS='--profile minimal --fabric minimal' app app_cm_no_pd
export RUN_FLAGS='--isolated --fabric isolated'
app app_cm_newer
app app_cm_unknown_id
app app_cm_ep
done_testing
