#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# A program that is stopped while it holds the engine token has the others of a direct fabric wait: `rdmaemu status`
# answers nevertheless, and names the program, until it continues.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_write_bw

export RDMAEMU_FABRIC=stopped
programs() {
	status_json | json "' '.join(str(c['pid']) for c in d['clients'])"
}
# shellcheck disable=SC2046
trap 'kill -KILL $(programs) 2>/dev/null; "$RDMAEMU" fabric stop >/dev/null 2>&1' EXIT
check "a direct fabric" limit "$RDMAEMU" fabric start

# Long messages: the token's holder copies them, and holds it for most of the time.
busy=(ib_write_bw -s 8388608 -D 3600 -p "$(free_port)")
limit "$RDMAEMU" run "${busy[@]}" >"$TEST_DIR/server" 2>&1 &
server=$!
check "a server listens" wait_listen "${busy[-1]}" $server
limit "$RDMAEMU" run "${busy[@]}" 127.0.0.1 >"$TEST_DIR/client" 2>&1 &

# engine EXPRESSION - of the engine in status
engine() {
	status_json | json "(lambda e: $1)(d['engine'])"
}

# Whichever program holds the token is stopped. It may have given the token back by then, which its next turn mends.
holder_stops() {
	local holder
	holder=$(engine "e.get('pid', '')")
	[ -n "$holder" ] || return
	kill -STOP "$holder"
	[ "$(engine "e.get('pid') == $holder and e['stopped']")" = True ] && return
	kill -CONT "$holder"
	return 1
}
check "a program is stopped while it holds the token" wait_for 60 holder_stops
holder=$(engine "e['pid']")
name=$(engine "e['name']")
is "status knows its name" "$name" ib_write_bw
line="engine: in process $holder ($name), which is stopped: all others wait for it"
is "and has a line for it" "$(limit "$RDMAEMU" status | grep '^engine: in')" "$line"

kill -CONT "$holder"
check "another program works once it continues" limit "$RDMAEMU" run -- ibv_devinfo
is_free() {
	[ "$(engine "e.get('stopped', False)")" = False ]
}
check "and status names nobody who is stopped" wait_for 20 is_free
done_testing
