#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes: a killed program is a matter of its own fabric
# A program that is killed, forks or lies while its segment grows harms nobody.
. "$(dirname "$0")/../../lib/lib.sh"

# sound NAME - the fabric is as it should be
sound() {
	check "$1: the fabric is sound" wait_for 10 limit "$RDMAEMU" status --audit
}

limit "$RDMAEMU" fabric start
limit "$RDMAEMU" fabric start --isolated --fabric isolated
app app_device_growth kill
sound 'killed'
app app_device_growth fork
sound 'forked'
export RUN_FLAGS='--isolated --fabric isolated'
app app_device_growth kill
app app_device_growth fork
in_one check "a hostile client of an isolated fabric" limit "$RDMAEMU" run $RUN_FLAGS "$T/sys_segment"
in_one app app_device_advertised queues
check "the isolated fabric is sound" wait_for 10 limit "$RDMAEMU" status --fabric isolated --audit
done_testing
