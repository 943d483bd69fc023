#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 5
# waits
# settings: one: two fabrics of its own
# A program that sends faster than the network carries waits, or leaves the rest to its fabric process. Nothing repairs
# messages of UC, so each of their packets leaves once.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ib_send_bw tc
roce_netns

two_wires

sent() {
	on_b status --json | json "d['wires'][0]['sent']"
}

has_sent() {
	[ "$(sent)" -ge "$1" ]
}

# sends_each_once RATE PACKETS ARGS... - whether ib_send_bw sends so many packets and no more. Its receiver may lose
# some where it gets no CPU: then it would not end by itself.
sends_each_once() {
	local rate=$1 packets=$2 ret=0 before
	shift 2
	"${IN_B[@]}" tc qdisc replace dev veth1 root tbf rate "$rate" burst 64kb limit 256mb || return
	before=$(sent)
	sender_start -c UC "$@"
	wait_for 10 has_sent $((before + packets)) || ret=1
	sleep 0.2
	[ "$(sent)" = $((before + packets)) ] || ret=1
	[ $ret = 0 ] || echo "$(($(sent) - before)) packets were sent, not $packets"
	sender_end $ret
}

if ! "${IN_B[@]}" tc qdisc replace dev veth1 root tbf rate 100mbit burst 64kb limit 256mb 2>/dev/null; then
	skip_all "this kernel cannot limit the rate of an interface"
fi
check "UC messages of one packet leave once" sends_each_once 20mbit 8000 -s 1000 -n 8000 -r 500
check "UC messages of several packets leave once" sends_each_once 150mbit 98000 -s 200000 -n 500 -r 500
is "no socket has refused a packet" "$(wires lost_refused)" 0
check "the tables of B are consistent" on_b status --audit
done_testing
