#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: one process of many threads
# Verbs from many threads of one process, also where clients are isolated.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_threads $((2000 / SLOW))
"$RDMAEMU" fabric stop >/dev/null 2>&1
RUN_FLAGS=--isolated app app_device_threads $((400 / SLOW))
done_testing
