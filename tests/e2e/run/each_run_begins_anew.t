#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: runs one after another on the host's node
# A run does not see what an earlier run has left on its fabric: rules, journal, numbers, clock.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
export RDMAEMU_LINGER=600000
FAIL=$TEST_DIR/fail.faults
echo 'broken: fail call=ibv_alloc_pd errno=ENOMEM' >"$FAIL"

fabric() {
	"$R" status --json | json "$1"
}

# Names of the rules.
rules() {
	"$R" fault list | awk 'NR > 1 { print $1 }' | xargs
}

# busy ARGS... - a run that stays on the fabric until release
busy() {
	mkfifo "$TEST_DIR/end"
	# shellcheck disable=SC2016
	"$R" run "$@" -- sh -c ': >"$1/started"; read -r x <"$1/end"' sh "$TEST_DIR" 2>/dev/null &
	BUSY=$!
	wait_for 30 test -e "$TEST_DIR/started"
}

release() {
	timeout 30 sh -c 'echo >"$1"' sh "$TEST_DIR/end"
	wait "$BUSY"
}

# --- a run after a run

check 'a run with a scenario' "$R" run --scenario "$FAIL" -- true
pid=$(fabric "d['pid']")
check 'the next run does not meet its rule' "$R" run -- ibv_devinfo -v
is 'there is no rule' "$(rules)" ''
check 'it had another fabric' test "$pid" != "$(fabric "d['pid']")"
"$R" run --seed 5 -- true
is 'the next run has its own seed' "$(fabric "d['seed']")" 5
"$R" run --node b -- true
is 'and its own nodes' "$(fabric "sorted({x['node'] for x in d['devices']})")" "['b', 'node0']"
"$R" run -- true
is 'which the one after it has not' "$(fabric "sorted({x['node'] for x in d['devices']})")" "['node0']"

# --- two runs at once

busy --scenario "$FAIL"
pid=$(fabric "d['pid']")
"$R" run -- true
is 'a second run joins the fabric of the first' "$(fabric "d['pid']")" "$pid"
is 'which keeps its rules' "$(rules | grep -cw broken)" 1
other=$TEST_DIR/other.faults
echo 'other: loss 1%' >"$other"
"$R" run --scenario "$other" -- true 2>/dev/null
is 'the scenario of the second ends with it' "$(rules | grep -cw other)" 0
is 'that of the first does not' "$(rules | grep -cw broken)" 1
"$R" run --scenario "$FAIL" -- true 2>/dev/null
is 'nor when the second has named it, too' "$(rules | grep -cw broken)" 1
"$R" fault add mine: loss 1%
release
is 'they are still on that fabric' "$(fabric "d['pid']")" "$pid"
"$R" run -- true
is 'and the next run begins anew' "$(rules)" ''

# --- a change between two runs

"$R" fault add kept: loss 1%
"$R" run -- true 2>/dev/null
is 'a rule that was added when no program was there is for the next run' "$(rules | grep -cw kept)" 1
"$R" run -- true
is 'and only for that' "$(rules)" ''

# --- fabric start

"$R" fabric stop
"$R" fabric start
pid=$(fabric "d['pid']")
"$R" fault add mine: loss 1%
"$R" run --scenario "$FAIL" -- true 2>/dev/null
"$R" run -- true 2>/dev/null
is 'a fabric of fabric start stays' "$(fabric "d['pid']")" "$pid"
is 'with its rules, without those of the run' "$(rules)" mine
check 'a scenario can be added again' "$R" run --scenario "$FAIL" -- true
"$R" fault add --scenario "$FAIL"
"$R" run --scenario "$FAIL" -- true 2>/dev/null
"$R" run -- true 2>/dev/null
is 'fault add --scenario stays, whichever run names the file' "$(rules | grep -cw broken)" 1
# shellcheck disable=SC2016
check 'rules last as long as the children of the run' "$R" run --scenario "$other" -- \
	sh -c '"$1" fault list | grep -qw other' sh "$R"
is 'and no longer' "$(rules | grep -cw other)" 0
"$R" fabric stop

# --- run --fresh

"$R" fabric start
"$R" fault add mine: loss 1%
# shellcheck disable=SC2016
is 'a fresh fabric has none of it' "$("$R" run --fresh -- "$R" fault list)" ''
two_programs() {
	# shellcheck disable=SC2016
	limit "$R" run --fresh -- sh -c 'rping -s -C 1 >/dev/null 2>&1 & server=$!
		while rping -c -a 127.0.0.1 -C 1 >"$0" 2>&1; status=$?; grep -q "error 8" "$0" && kill -0 $server; do
			sleep 0.1
		done
		kill $server 2>/dev/null; exit $status' "$TEST_DIR/meet"
	did_well $? "$TEST_DIR/meet" && return
	cat "$TEST_DIR/meet"
	return 1
}
check 'two programs meet on it' two_programs
fresh_is_gone() {
	[ -z "$(find "$RDMAEMU_DIR" -name '*fresh*.sock')" ]
}
check 'it is gone afterwards' wait_for 30 fresh_is_gone
"$R" fabric stop
rdmaemu_refuses run '--fresh with a name' 125 'cannot be --fabric x' --fabric x --fresh -- true
guid() {
	"$R" run --fresh -- ibv_devinfo | awk '/node_guid/ { print $2; exit }'
}
is 'its devices have the same GUIDs each time' "$(guid)" "$(guid)"

done_testing
