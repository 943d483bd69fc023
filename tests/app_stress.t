#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# 16 processes with 16 QPs each, all data verified; also where clients are isolated.
. "$(dirname "$0")/lib.sh"
app app_stress 16 $((400 / SLOW))
"$RDMAEMU" fabric stop >/dev/null 2>&1
RUN_FLAGS=--isolated app app_stress 16 $((100 / SLOW))
done_testing
