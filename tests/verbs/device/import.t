#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: contexts are shared within a node, and refused outside of it
# Contexts and their objects, shared by descriptor between processes.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_import local
app app_device_import remote
app app_device_import death
app app_device_import foreign "$RDMAEMU" --fabric other
app app_device_import foreign "$RDMAEMU" --node other
RUN_BY="$T/sys_noptrace" app app_device_import remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_device_import remote
app app_device_import death
done_testing
