#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# Programs get the queues that the device advertises, and 1 GB of address space is enough.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_advertised queues
[ "${SAN_RDMAEMU-}" ] && skip "a device list within 1 GB of address space" "a sanitizer maps terabytes" ||
	check "a device list within 1 GB of address space" bash -c 'ulimit -v 1000000; exec "$@"' - "$RDMAEMU" run ibv_devinfo
export RUN_FLAGS="--isolated --fabric isolated"
app app_device_advertised queues
done_testing
