#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory windows of both types.
. "$(dirname "$0")/lib.sh"
app app_mw local
app app_mw remote
"$RDMAEMU" fabric stop >/dev/null 2>&1
RUN_FLAGS=--isolated app app_mw remote
done_testing
