#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# settings: one nodes fabrics
# 16 processes with 16 QPs each, all data verified; also where clients are isolated.
. "$(dirname "$0")/lib.sh"
app app_stress 16 $((400 / SLOW))
fabric_stop
RUN_FLAGS=--isolated app app_stress 16 $((100 / SLOW))
done_testing
