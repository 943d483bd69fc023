#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: an isolated fabric of its own
# A program of an isolated fabric that sends descriptors whose close(2) waits does not stop the fabric process.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=closing
trap '"$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated
tap limit "$R" run --node c -- "$T/app_device_lingering"
check "the fabric process answers" limit "$R" status
check "another program works" limit "$R" run --node b -- "$T/app_qp_stress" 2 10
check "and it stops" limit "$R" fabric stop
done_testing
