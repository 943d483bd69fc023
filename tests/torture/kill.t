#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Random kills of clients; afterwards nothing is leaked.
. "$(dirname "$0")/../lib/lib.sh"
n=${TORTURE_N:-$(($(by_setting 300 60) / SLOW))}
LIMIT=$((TEST_TIMEOUT > 60 ? TEST_TIMEOUT - 10 : TEST_TIMEOUT))
[ "$SETTING" != one ] || "$RDMAEMU" fabric start >/dev/null
app app_qp_torture "$n" ${TORTURE_SEED-}
clean() {
	[ "$(status_json | json 'len(d["clients"])')" = 0 ] && [ "$(client_status | json 'len(d["clients"])')" = 0 ]
}
check "the fabric has no client left" wait_for 10 clean
is "no queue pair left" "$(status_json | json 'len(d["qps"])') $(client_status | json 'len(d["qps"])')" "0 0"
is "nobody has the token" "$(status_json | json 'd["engine"]["holder"]')" none
RUN_FLAGS="" app app_qp_ops remote
done_testing
