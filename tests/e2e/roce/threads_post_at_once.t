#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# waits
# settings: one: two fabrics of its own
# Threads of a program post at once, two on each queue pair, and all of them meet where packets leave by the program's
# sockets, of which there are fewer than queue pairs. All data arrive as they were sent: also with chaos, and where a
# program is stopped with a packet that has not left, while its clock is moved and timeouts come.
SETTING=fabrics FABRICS_BY=roce
. "$(dirname "$0")/../../lib/lib.sh"
MESSAGES=$((200 / SLOW + 20))

for RUN_FLAGS in '' --chaos; do
	for type in rc uc; do
		app app_qp_threads $type $MESSAGES
	done
	check "the tables are consistent" audit_all
	fabric_stop
done

# The ACK timeout of the program is 4.3 s.
advance() {
	limit "$RDMAEMU" clock advance 4400ms && at_client "$RDMAEMU" clock advance 4400ms
}

timeouts() {
	limit "$RDMAEMU" run -- cat /sys/class/infiniband/rdmaemu0/ports/1/hw_counters/completer_retry_err
}

# Stop A's program for a moment again and again, and move the clocks then and afterwards. It may hold the token.
disturb() {
	local program
	while sleep 0.05; do
		program=$(status_json | json "[c['pid'] for c in d['clients'] if c['name'] == 'app_qp_threads'][0]") &&
			kill -STOP "$program" || continue
		timeout 0.3 "$RDMAEMU" clock advance 4400ms
		kill -CONT "$program"
		advance
	done >/dev/null 2>&1
}

RUN_FLAGS='--clock manual'
check "fabrics with clocks that stand" setting_up
disturb &
disturber=$!
app app_qp_threads rc $((5 * MESSAGES))
kill $disturber
wait $disturber 2>/dev/null
check "there were timeouts" [ "$(timeouts)" -gt 0 ]
check "the tables are consistent" audit_all
done_testing
