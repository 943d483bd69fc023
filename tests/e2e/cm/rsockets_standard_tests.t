#!/bin/bash
# SPDX-License-Identifier: MIT
# alone
# settings: one: where fabric processes are on the way, and want the CPUs, too, these take minutes, and show no more
# The standard tests of the rsockets programs: over two million round trips, for which both sides poll. Next to other
# pollers each may cost a scheduler round trip; alone they are quick.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rsockets.sh"
need rstream riostream

LIMIT=$((800 * SLOW * PATIENCE))

for program in rstream riostream; do
	stream_check 8 $program
	stream_check 66 $program -S all
done
done_testing
