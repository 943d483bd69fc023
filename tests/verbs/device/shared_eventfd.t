#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the eventfds of one program
# A program that fills its eventfds, makes them block and empties them hangs neither its peer nor the fabric process.
. "$(dirname "$0")/../../lib/lib.sh"

has_line() {
	"$RDMAEMU" log | grep -q "$1"
}
export RDMAEMU_LINGER=30000
app app_device_shared_eventfd $((20000 / SLOW)) direct
check "the log says so" has_line "has filled up its event channel"
check "the fabric process answers" limit "$RDMAEMU" status
check "and stops" limit "$RDMAEMU" fabric stop
export RUN_FLAGS='--isolated --fabric isolated'
app app_device_shared_eventfd $((4000 / SLOW))
check "that of an isolated fabric answers" limit "$RDMAEMU" status --fabric isolated
check "and stops" limit "$RDMAEMU" fabric stop --fabric isolated
done_testing
