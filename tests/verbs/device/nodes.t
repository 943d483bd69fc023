#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: names its nodes itself
# Nodes, seen by programs of ours.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_nodes
RUN_FLAGS='--isolated --fabric isolated' app app_device_nodes
done_testing
