#!/bin/bash
# SPDX-License-Identifier: MIT
# alone
# settings: one: where fabric processes are on the way, and want the CPUs, too, these take minutes, and show no more
# The standard tests of the rsockets programs: 100,000 round trips of each, for which both sides poll, one of them by
# reading memory. Next to other pollers each may cost a scheduler round trip; alone they take seconds.
# tests/e2e/cm/rsockets.t has the sizes of `-S all`; `make torture` runs that, too, two million round trips.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rsockets.sh"
need rstream riostream

LIMIT=$((800 * SLOW * PATIENCE))

for program in rstream riostream; do
	stream_check 8 $program
	[ -z "${TORTURE_N-}" ] || stream_check 66 $program -S all
done
done_testing
