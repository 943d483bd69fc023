#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# 16 processes with 16 QPs each verify all data; also with isolated clients.
. "$(dirname "$0")/../../lib/lib.sh"
app app_qp_stress $(by_setting 16 6) $(($(by_setting 400 60) / SLOW))
fabric_stop
RUN_FLAGS=--isolated app app_qp_stress $(by_setting 16 6) $(($(by_setting 100 30) / SLOW))
done_testing
