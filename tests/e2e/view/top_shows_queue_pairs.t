#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 15
# settings: one: programs on two nodes of one fabric
# `rdmaemu top`: screens of a terminal, which tmux is, and samples as text.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ib_send_bw tmux

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
export TMUX_TMPDIR=$TEST_DIR
unset TMUX NO_COLOR

rdmaemu_refuses top 'a fabric that is not running' 1 'is not running' --batch
rdmaemu_refuses top 'no terminal' 2 'expected a terminal, or --batch'
rdmaemu_refuses top '--count without --batch' 2 'expected --batch' --count 3

port=$(free_port)
"$R" fabric start
"$R" run --lend --node a -- ib_send_bw -F -D 600 -s 3000 -p "$port" >/dev/null 2>&1 &
server=$!
check 'a server' wait_listen "$port" $server
"$R" run --lend --node b -- ib_send_bw -F -D 600 -s 3000 -p "$port" a >/dev/null 2>&1 &
client=$!
sends() {
	[ "$("$R" status --json | json "sum(q['counters']['xmit_packets'] for q in d['qps']) > 1000")" = True ]
}
check 'packets are sent' wait_for 60 sends
"$R" fault add 'some: drop opcode=SEND every=5000' 'never: drop opcode=MAD'
has_hit() {
	[ "$("$R" fault list --json | json "d['faults'][0]['hits'] > 0")" = True ]
}
check 'a rule hits' wait_for 60 has_hit

# --- as text

limit "$R" top --batch --count 3 --interval 1500 >text
is 'three samples' "$? $(grep -c '^rdmaemu top: fabric default, up ' text)" '0 3'
is 'memory, all of which is lent' "$(grep -cE ' ([0-9.]+KB) registered, \1 lent, ' text)" 3
is 'columns that fit 80' "$(grep -m 1 '^NODE' text | tr -s ' ')" 'NODE PROGRAM PID QP TYPE STATE SENT/s RCVD/s RETRY RNR FLY'
is 'no line of the table is longer' "$(grep -E '^(NODE|a |b )' text | awk 'length($0) > 80' | wc -l)" 0
is 'each queue pair, in each sample' "$(grep -cE '^[ab] +ib_send_bw +[0-9]+ 0x[0-9a-f]{6} RC ' text)" 6
is 'its rates, from the second on' "$(grep -cE '^b .* RTS +[0-9.]+[KMG] ' text)" 2
is 'rules with their hits' "$(grep -cE '^fault some +hits +[1-9][0-9.]*[KM]? of ' text) $(grep -cE '^fault never +hits +0 of +0  drop opcode=MAD$' text)" '3 3'
is 'entries of the journal' "$(grep -c '^log .* dropped ib_send_bw: by fault rule some' text | sed 's/[1-9][0-9]*/some/')" some
COLUMNS=120 limit "$R" top --batch --count 1 >wide
is 'more columns where there is room' "$(grep -cE '^b .* [0-9.KM]+/[0-9.KM]+ ' wide) $(grep -m 1 -c '^NODE.* FLY *CQ *PKT/s' wide)" '1 1'
COLUMNS=140 limit "$R" top --batch --count 1 >wide
is 'peers' "$(grep -cE '^b .* 0x[0-9a-f]{6} ib_send_bw *$' wide)" 1

# --- on a terminal

# terminal NAME COLUMNS LINES COMMAND... - start it in a tmux of its own: one that ends takes no new session
terminal() {
	local columns=$2 lines=$3
	TERMINAL=$1
	shift 3
	tmux -L "$TERMINAL" -f /dev/null new-session -d -x "$columns" -y "$lines" "$*"
}
screen() {
	tmux -L "$TERMINAL" capture-pane -p
}
# shows PATTERN [COUNT] - whether COUNT lines of the screen match, or any
shows() {
	local n
	n=$(screen | grep -cE "$1")
	[ "$n" = "${2-$n}" ] && [ "$n" != 0 ]
}
shows_not() {
	! screen | grep -qE "$1"
}
keys() {
	tmux -L "$TERMINAL" send-keys "$@"
}
terminal colours 80 24 "'$R' top --interval 200; echo ended \$?; sleep 1000"
check 'a screen of 80x24: summary' wait_for 60 shows '^rdmaemu top: fabric default, up '
check 'queue pairs with rates' wait_for 60 shows '^b +ib_send_bw .* RTS +[0-9.]+[KMG] ' 1
check 'rules' wait_for 60 shows '^fault (some|never)' 2
is 'keys in the last line' "$(screen | tail -n 1 | cut -c 1-19)" 'F1 Help  F4 Filter '
is 'no line is longer than the screen' "$(screen | awk 'length($0) > 80' | wc -l) $(screen | wc -l)" '0 24'
first() {
	[ "$(screen | grep -E '^[ab] +ib_send' | head -n 1 | cut -c 1)" = "$1" ]
}
check 'the one that sends most is the first' wait_for 60 first b
keys I
check 'I reverses the order' wait_for 60 first a
keys I '>'
check '> sorts by the next column' wait_for 60 shows 'Sort: RCVD/s'
check 'the receiver is the first' wait_for 60 first a
keys '<'
check '< by the one before' wait_for 60 shows 'Sort: SENT/s'
keys / 'R' 'T' 'S'
check 'a filter is typed' wait_for 60 shows '^Filter: RTS_'
keys Enter
check 'it leaves one' wait_for 60 shows '^[ab] +ib_send_bw' 1
keys / Escape
check 'Esc removes it' wait_for 60 shows '^[ab] +ib_send_bw' 2
keys Z
check 'Z freezes' wait_for 60 shows 'FROZEN'
before=$(screen)
sleep 1
is 'nothing moves' "$(screen)" "$before"
keys Z
check 'and goes on' wait_for 60 shows_not 'FROZEN'
keys Home Enter
check 'Enter shows a queue pair alone' wait_for 60 shows '^Queue pair 0x[0-9a-f]{6}: RC, RTS'
check 'with its peer and counters' wait_for 60 shows '^  bytes sent +[1-9][0-9]+ +[0-9.]+[KMG] per second'
keys Escape
check 'Esc goes back' wait_for 60 shows '^NODE +PROGRAM'
keys h
check 'h is help' wait_for 60 shows '^q F10 +quit'
keys h
tmux -L "$TERMINAL" resize-window -x 120 -y 40
check 'a larger terminal has more columns' wait_for 60 shows '^NODE .* FLY +CQ +PKT/s'
tmux -L "$TERMINAL" resize-window -x 50 -y 8
check 'a small one has those that fit' wait_for 60 shows '^NODE +PROGRAM +PID +QP +TYPE'
tmux -L "$TERMINAL" resize-window -x 80 -y 24
kill $client $server
wait $client $server 2>/dev/null
check 'queue pairs that have gone are gone' wait_for 60 shows '^No queue pairs'
keys q
check 'q ends it, and leaves the terminal as it was' wait_for 60 shows '^ended 0'
check 'nothing of it is left there' shows_not '^NODE'
tmux -L "$TERMINAL" kill-server

terminal plain 80 24 "NO_COLOR=1 '$R' top --interval 200; echo ended \$?; sleep 1000"
check 'without colours' wait_for 60 shows '^No queue pairs'
is 'there are none' "$(tmux -L "$TERMINAL" capture-pane -pe | grep -c $'\033\[[0-9;]*[34][0-7]m')" 0
"$R" fabric stop
check 'the end of the fabric ends it, with a line' wait_for 60 shows 'rdmaemu: fabric default is not running'
tmux -L "$TERMINAL" kill-server
done_testing
