#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command and its fabrics
# Each option is honoured, or refused with one line: also by a fabric that runs already.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
echo secret >"$TEST_DIR/token"

# --- a fabric that was started without them

"$R" fabric start --seed 7 --subnet 10.5.0.0/16
port=$(free_port)
while read -r option value; do
	rdmaemu_refuses 'fabric start' "fabric start --$option" 1 "was not started with this --$option" "--$option=$value"
	rdmaemu_refuses run "run --$option" 125 "was not started with this --$option" "--$option=$value" -- true
done <<-END
	seed 99
	first-mr 20
	subnet 10.6.0.0/16
	name other
	listen 127.0.0.1:$port
	join 127.0.0.1:$port
END
rdmaemu_refuses run 'run --linger' 125 'stays until it is stopped' --linger 5000 -- true
check 'the same values are no trouble' "$R" fabric start --seed 7 --subnet 10.5.0.0/16,fd77::/64 --name node0
RDMAEMU_SEED=8 rdmaemu_refuses run 'nor is a variable ignored' 125 'was not started with this --seed' -- true
check 'fabric start --linger is honoured' "$R" fabric start --linger 0
not_running() {
	! "$R" fabric status
}
check 'the fabric leaves' wait_for 30 not_running

# --- one that runs have left behind begins anew

RDMAEMU_LINGER=600000 "$R" run --seed 3 -- true
check 'fabric start' "$R" fabric start --seed 4
is 'is honoured' "$("$R" status --json | json "d['seed']")" 4
"$R" fabric stop
RDMAEMU_LINGER=0 "$R" run --linger 600000 -- true
check 'run --linger' "$R" fabric status
"$R" fabric stop

# --- options that need others

rdmaemu_refuses 'fabric start' '--token-file alone' 2 'expected --listen or --join' --token-file "$TEST_DIR/token"
rdmaemu_refuses 'capture start' '--ring-files alone' 2 'expected --ring-size' --ring-files 2 "$TEST_DIR/x.pcapng"
rdmaemu_refuses record '--real and --seed' 2 'record: --seed: expected a fabric' -o "$TEST_DIR/d" --real --seed 3 -- true
rdmaemu_refuses --version 'words after --version' 2 "unexpected argument 'x'" x
rdmaemu_refuses 'fabric start' 'a scenario that does not exist' 2 'No such file' --scenario "$TEST_DIR/none"
rdmaemu_refuses 'fabric start' 'a profile that does not exist' 2 'No such file' --profile "$TEST_DIR/none"
rdmaemu_refuses replay 'a capture that does not exist' 2 'No such file' "$TEST_DIR/none" --inject

# --- rules as arguments

names() {
	"$R" fault add --dry-run --json "$@" | json "[(r['name'], r['rule']) for r in d]"
}
is 'two arguments, two rules' "$(names 'a: loss 1%' 'b: delay 50us')" "[('a', 'loss 1%'), ('b', 'delay 50us')]"
is 'without names' "$(names 'loss 1%' 'delay 50us')" "[('f1', 'loss 1%'), ('f2', 'delay 50us')]"
is 'names as words' "$(names a: loss 1% b: delay 50us)" "[('a', 'loss 1%'), ('b', 'delay 50us')]"
is 'words of one rule' "$(names loss 1% 'opcode=SEND nth=3')" "[('f1', 'loss 1% opcode=SEND nth=3')]"
"$R" fabric start
rdmaemu_refuses 'fault add' 'all or none' 2 "'foo'" 'a: loss 1%' 'b: foo 50us'
is 'none' "$("$R" fault list)" ''
"$R" fabric stop

# --- joining

limit "$R" fabric start --fabric alone --join "127.0.0.1:$port" 2>"$TEST_DIR/err"
is 'a fabric that nobody answers keeps trying, and says so' "$? $(cat "$TEST_DIR/err")" \
	"0 rdmaemu: not joined with 127.0.0.1:$port yet (no fabric answers there), retrying"
"$R" fabric stop --fabric alone
"$R" fabric start --fabric hub --listen "127.0.0.1:$port" --token-file "$TEST_DIR/token"
rdmaemu_refuses 'fabric start' 'a missing token' 1 'somebody there refuses: no token: --token-file is missing' \
	--fabric spoke --name spoke --join "127.0.0.1:$port"
"$R" fabric stop --fabric hub
"$R" fabric start --fabric hub --listen "127.0.0.1:$port"
rdmaemu_refuses 'fabric start' 'a token on one side' 1 'somebody there refuses: this fabric has no token' \
	--fabric spoke --name spoke --join "127.0.0.1:$port" --token-file "$TEST_DIR/token"
"$R" fabric stop --fabric hub
done_testing
