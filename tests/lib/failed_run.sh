# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests that look at a report; sourced after tests/lib/lib.sh.

# failed_run PAGE [DIR] - report a run on node b in PAGE, which fails: from the tenth on, the rule `cut` loses all
# packets of one opcode, and the sender retries for 2 s. The rule `idle` never hits. DIR is the run's TMPDIR. The
# fabric stays. Returns the run's exit status.
failed_run() {
	local port server status
	port=$(free_port)
	"$RDMAEMU" fabric start
	"$RDMAEMU" run --node a -- ib_send_bw -F -n 20 -s 3000 -p "$port" >/dev/null 2>&1 &
	server=$!
	check 'a server' wait_listen "$port" $server
	"$RDMAEMU" fault add 'cut: drop opcode=SEND_MIDDLE after=9' 'idle: drop opcode=ATOMIC_CMP_AND_SWP'
	TMPDIR=${2:-${TMPDIR-}} limit "$RDMAEMU" run --node b --report "$1" --check -- \
		ib_send_bw -F -n 20 -s 3000 -u 16 -p "$port" a >/dev/null 2>&1
	status=$?
	kill $server 2>/dev/null
	wait $server 2>/dev/null
	return $status
}
