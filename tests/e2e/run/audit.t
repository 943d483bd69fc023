#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: HCA memory is each fabric's own
# `rdmaemu status --audit` reports damaged HCA memory, and exits with an error.
. "$(dirname "$0")/../../lib/lib.sh"

# audited NAME STATUS LINE - what an audit prints and exits with
audited() {
	local out status=0
	out=$(limit "$RDMAEMU" status --audit) || status=$?
	is "$1" "$status $(grep '^audit: ' <<<"$out")" "$2 audit: $3"
	out=$(limit "$RDMAEMU" status --audit --json) && status=0 || status=$?
	is "$1: JSON" "$status $(json 'd["audit"]' <<<"$out")" "$2 $3"
}

"$RDMAEMU" fabric stop >/dev/null 2>&1
limit "$RDMAEMU" fabric start
pid=$(status_json | json 'd["pid"]')
audited "a sound one" 0 clean
check "a count is made wrong" "$T/sys_spoil" "$pid" 1
audited "a wrong count" 1 "device 0: 1 CQs counted, there are 0"
check "without an audit it is not looked at" limit "$RDMAEMU" status
check "it is made right" "$T/sys_spoil" "$pid" -1
audited "sound again" 0 clean
limit "$RDMAEMU" fabric stop
done_testing
