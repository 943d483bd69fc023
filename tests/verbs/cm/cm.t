#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one nodes fabrics
# The rdma_cm's calls and events, by programs of ours: in one process and in two, direct and isolated.
. "$(dirname "$0")/../../lib/lib.sh"
# The audits look at fabrics that nobody uses any more.
export RDMAEMU_LINGER=60000
address=$(ip -o addr show up scope global 2>/dev/null | awk '$3 == "inet" { sub("/.*", "", $4); print $4; exit }')

all() {
	local side
	for side in $SIDES; do
		app app_cm_conn $side
		app app_cm_conn $side $CLIENT6
		app app_cm_reject $side
		app app_cm_addr $side
		app app_cm_sync $side
		app app_cm_user $side
		app app_cm_mcast $side
	done
	[ "$SETTING" = one ] || return 0
	if [ -n "$address" ]; then
		app app_cm_conn remote "$address"
		app app_cm_addr remote "$address"
	else
		skip "an address of the host's own" "it has none"
	fi
	app app_cm_chan
	app app_cm_threads
	app app_cm_info
}

all
check "nothing is left" audit_all
export RUN_FLAGS='--isolated --fabric isolated'
all
check "nothing is left in the isolated fabric" audit_all --fabric isolated
done_testing
