#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: makes its nodes itself
# A thousand nodes with a program each, and the memory of their queue pairs.
. "$(dirname "$0")/../../lib/lib.sh"

check "a fabric" limit "$RDMAEMU" fabric start
fabric=$(status_json | json 'd["pid"]')
# Programs with a sanitizer are large, and so is what they allocate.
if [ "$SLOW" = 1 ]; then
	app app_device_many_nodes 1000 2000 "$fabric"
	app app_device_many_nodes 100 1000 "$fabric"
else
	app app_device_many_nodes 100 200 "$fabric"
fi
gone() {
	[ "$(status_json | json 'len(d["clients"])')" = 0 ]
}
check "all programs have gone" wait_for 60 gone
is "and with them their queue pairs" "$(status_json | json 'len(d["qps"])')" 0
check "the HCA is sound" test "$(status_json --audit | json 'd["audit"]')" = clean
limit "$RDMAEMU" fabric stop
done_testing
