#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: two fabrics of its own
# Joined fabrics seal their traffic where an address is not loopback: nothing of it can be read, and what somebody
# changes, repeats, moves or cuts off on its way ends the connection, never the data.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 ibv_rc_pingpong
own_netns

ip link set lo up
ip addr add 192.0.2.1/32 dev lo
printf 'a shared secret' >"$TEST_DIR/token"
TOKEN=(--token-file "$TEST_DIR/token")
mkfifo "$TEST_DIR/orders"
: >"$TEST_DIR/answers"
python3 "$TOP/tests/lib/py/join_meddler.py" 7472 7471 192.0.2.1 <"$TEST_DIR/orders" >"$TEST_DIR/answers" &
meddler=$!
exec 5>"$TEST_DIR/orders"
trap 'on_a fabric stop >/dev/null 2>&1; on_b fabric stop >/dev/null 2>&1; kill $meddler' EXIT
check "there is somebody between them" wait_listen 7472 $meddler

# told ORDER ANSWER - the meddler has done that
told() {
	local before
	before=$(wc -l <"$TEST_DIR/answers")
	echo "$1" >&5
	answered() {
		tail -n +$((before + 1)) "$TEST_DIR/answers" | grep -qx "$2"
	}
	wait_for 3 answered "$@"
}
cipher() {
	on_b status --json | json "' '.join(m['state'] + ' ' + m['cipher'] for m in d['members'])"
}
# joined sealed|none
joined() {
	case $(cipher) in "direct none") [ "$1" = none ] ;; direct*) [ "$1" = sealed ] ;; *) false ;; esac
}
both_start() {
	on_a fabric start --listen 192.0.2.1:7471 --name alpha "${TOKEN[@]}" $1 &&
		on_b fabric start --join 192.0.2.1:7472 --name beta "${TOKEN[@]}" $2
}
both_stop() {
	on_b fabric stop && on_a fabric stop
}
names_nodes() {
	on_a run --node na -- true && on_b run --node nb -- true && on_b run --node hiddenname -- true &&
		wait_for 3 knows on_a hiddenname
}

check "A and B start" both_start "" ""
check "they are joined, and sealed" wait_for 3 joined sealed
check "they tell each other of nodes" names_nodes
check "whose names nobody sees" told "seen hiddenname" "seen False"
check "and reach each other" across ibv_rc_pingpong -g $GID -n 200 -c

losses() {
	{ on_a log; on_b log; } | grep -cE 'join: .*(alpha|beta) at .*: (a record is not authentic|the connection has ended|Connection reset)'
}
noticed() {
	[ "$(losses)" -gt "$1" ] && joined sealed
}
for how in flip replay swap huge cut; do
	before=$(losses)
	check "$how: somebody changes the traffic" told $how "done $how"
	check "$how: the connection ends, and another one is there" wait_for 5 noticed "$before"
	check "$how: data is as it was" across ibv_rc_pingpong -g $GID -n 200 -c
done
changed() {
	[ "$({ on_a log; on_b log; } | grep -c 'a record is not authentic: it was changed on its way')" -ge 4 ]
}
check "the log says why" changed
check "the HCA's memory is sound" test "$(on_a status --audit --json | json 'd["audit"]')" = clean
check "both stop" both_stop

# refused FLAGS_A FLAGS_B TEXT
refused() {
	! both_start "$1" "$2" >"$TEST_DIR/out" 2>&1 && grep -Eq "(refused|somebody there refuses): $3" "$TEST_DIR/out" && return
	cat "$TEST_DIR/out"
	return 1
}
check "somebody removes the wish to seal" told downgrade "done downgrade"
check "a greeting that was changed is refused" refused "" "" "wrong token"
check "nobody changes greetings any more" told downgrade "done downgrade"
check "A stops" on_a fabric stop
check "one with --plaintext, one without: refused" refused "" --plaintext ".*--plaintext.*both sides must agree"
check "A stops" on_a fabric stop
check "and the other way round" refused --plaintext "" ".*--plaintext.*both sides must agree"
check "A stops" on_a fabric stop

check "both with --plaintext start" both_start --plaintext --plaintext
check "they are joined in the clear" wait_for 3 joined none
check "and tell each other of nodes" names_nodes
check "whose names anybody sees" told "seen hiddenname" "seen True"
exec 5>&-
done_testing
