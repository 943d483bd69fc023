#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command, and one fabric
# waits
# A run whose fault rules had to fire, and did not, fails with a line for each of them and a status of its own.
. "$(dirname "$0")/../../lib/lib.sh"

FAULT=$T/app_fault_packets
R=$RDMAEMU

# says NAME STATUS TEXT COMMAND... - exit status, and standard error, on a fabric that begins anew
says() {
	local name=$1 status=$2 text=$3 err got=0
	shift 3
	err=$(limit "$@" 2>&1 >/dev/null) || got=$?
	is "$name" "$got: $err" "$status: $text"
	"$R" fabric stop
	"$R" fabric start
}

cd "$TEST_DIR" || exit 1
printf 'drop opcode=SEND_ONLY nth=2\n' >fires
printf 'drop opcode=SEND_ONLY nth=2\ndrop node=nowhere\nlate: drop opcode=SEND_ONLY round=1 nth=99\n' >some
printf 'drop opcode=SEND_ONLY nth=2 must-fire\nheal must-fire\ndrop node=nowhere\n' >word
: >empty
printf '"%s" local RC send 5 10 >/dev/null\n%s\n' "$FAULT" 'eval "$1"' >sends
lines="rdmaemu: fault f2 must fire, but never matched: drop node=nowhere (some:2)
rdmaemu: fault late must fire, but never hit: drop opcode=SEND_ONLY round=1 nth=99 (some:3): seen 5 times"

# --- the option

"$R" fabric start
says '--must-fire, and all have fired' 0 '' "$R" run --scenario fires --must-fire -- sh sends
says 'some have not: a line for each' 123 "$lines" "$R" run --scenario some --must-fire -- sh sends
says 'whatever the status of the program' 123 "$lines" "$R" run --scenario some --must-fire -- sh sends 'exit 7'
says 'a program that a signal ends' 143 "$lines" \
	"$R" run --scenario some --must-fire -- sh sends 'kill -TERM $$'
says 'without it they are only reported' 7 "${lines//must fire, but /}" \
	"$R" run --scenario some -- sh sends 'exit 7'
"$R" fault add --scenario some
says 'rules of another scenario do not count' 0 "${lines//must fire, but /}" \
	"$R" run --scenario fires --must-fire -- sh sends
"$R" fault add --scenario some
says 'without a scenario all rules count' 123 "$lines" "$R" run --must-fire -- sh sends
says 'no rules at all' 123 'rdmaemu: --must-fire: the fabric has no rules' "$R" run --must-fire -- true
says 'none in the scenario' 123 'rdmaemu: --must-fire: the fabric has no rule of the scenario' \
	"$R" run --scenario empty --must-fire -- true

# --- the word

says 'must-fire in a rule' 123 'rdmaemu: fault f2 must fire, but never matched: heal must-fire (word:2)
rdmaemu: fault f3 never matched: drop node=nowhere (word:3)' "$R" run --scenario word -- sh sends
"$R" fault add --scenario word
says 'a run without that scenario' 0 'rdmaemu: fault f2 never matched: heal must-fire (word:2)
rdmaemu: fault f3 never matched: drop node=nowhere (word:3)' "$R" run -- sh sends
"$R" fault add 'drop must-fire node=nowhere'
says 'a rule of the command line is of every run' 123 \
	'rdmaemu: fault f1 must fire, but never matched: drop must-fire node=nowhere' "$R" run -- true
says 'once' 2 "rdmaemu: fault: 'must-fire': expected must-fire once" "$R" fault add drop must-fire must-fire
"$R" fabric stop
done_testing
