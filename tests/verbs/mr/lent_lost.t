#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: the death of a fabric
# A fabric process dies while programs lend memory. These wait for it with the lock that the thread takes which notices.
. "$(dirname "$0")/../../lib/lib.sh"
export RDMAEMU_LEND=1

# lost FLAGS MICROSECONDS [COMMAND] - the death of a fabric with FLAGS, with programs run by COMMAND
lost() {
	local pid
	# The fabric process is outside of what COMMAND forbids.
	"$RDMAEMU" fabric start $1 >/dev/null
	pid=$(status_json | json 'd["pid"]')
	RUN_BY=${3-} app app_mr_lent_lost "$pid" "$2"
	fabric_stop
}

for us in 0 500 1000 5000 20000; do
	lost "" $us
	lost "" $us "$T/sys_noptrace"
	lost --isolated $us
	lost --isolated $us "$T/sys_noptrace"
done
done_testing
