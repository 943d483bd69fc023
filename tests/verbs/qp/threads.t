#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# 20 threads of each of two processes, two on each queue pair, post messages to the other process at once; then
# with chaos.
. "$(dirname "$0")/../../lib/lib.sh"
messages=$(($(by_setting 400 200) / SLOW))
for type in rc uc; do
	app app_qp_threads $type $messages
done
fabric_stop
for type in rc uc; do
	RUN_FLAGS=--chaos app app_qp_threads $type $messages
done
done_testing
