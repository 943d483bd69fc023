#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: files of a node
# Counters in sysfs that a program keeps open and reads again are fresh.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_counters_reread
export RUN_FLAGS='--isolated --fabric isolated'
app app_device_counters_reread
done_testing
