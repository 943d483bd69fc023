#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# What a device advertises can be had, and a limit of 1 GB of address space is enough.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_advertised queues
check "a device list within 1 GB of address space" bash -c 'ulimit -v 1000000; exec "$@"' - "$RDMAEMU" run ibv_devinfo
export RUN_FLAGS="--isolated --fabric isolated"
app app_device_advertised queues
done_testing
