#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: names its nodes itself
# Nodes: devices, addresses and keys of one are not those of another.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_nodes
RUN_FLAGS='--isolated --control --fabric isolated' app app_device_nodes
done_testing
