#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# settings: one nodes fabrics
# Random kills of clients, and nothing leaked afterwards.
. "$(dirname "$0")/lib.sh"
n=${TORTURE_N:-$((300 / SLOW))}
LIMIT=$((TEST_TIMEOUT > 60 ? TEST_TIMEOUT - 10 : TEST_TIMEOUT))
"$RDMAEMU" fabric start >/dev/null
app app_torture "$n" ${TORTURE_SEED-}
clean() {
	[ "$(status_json | json 'len(d["clients"])')" = 0 ]
}
check "the fabric has no client left" wait_for 10 clean
is "no queue pair left" "$(status_json | json 'len(d["qps"])')" 0
is "nobody has the token" "$(status_json | json 'd["engine"]["holder"]')" none
check "and works as before" emu "$T/app_ops" remote
"$RDMAEMU" fabric stop >/dev/null 2>&1
done_testing
