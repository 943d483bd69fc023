#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# Domains, asynchronous events, ECE and small queries, the environment that libibverbs honours.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_domain
app app_device_newer local
app app_device_errno
app app_device_unknown_handle
app app_device_async_event
app app_qp_ece
export RDMAV_FORK_SAFE=1 IBV_FORK_SAFE=1 RDMAV_HUGEPAGES_SAFE=1 RDMAV_ALLOW_DISASSOC_DESTROY=1
export RDMAV_DRIVERS=none IBV_DRIVERS=none IBV_SHOW_WARNINGS=1 VERBS_LOG_LEVEL=4
app app_qp_ece environment
is "libibverbs' variables have the program print nothing" "$("$RDMAEMU" run -- ibv_devices 2>&1 >/dev/null)" ""
unset RDMAV_DRIVERS IBV_DRIVERS
export RUN_FLAGS="--isolated --fabric isolated"
app app_device_domain
app app_device_newer local
app app_device_errno
app app_device_unknown_handle
app app_device_async_event
done_testing
