#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes: between fabrics each side has a journal of its own
# `rdmaemu log` and `rdmaemu run --explain` say for each failure of a real program where, what and why.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_bw ib_write_bw rping

LOG=$TEST_DIR/log

# log ARGS... - the journal, into $LOG
log() {
	limit "$RDMAEMU" log -v "$@" >"$LOG" 2>"$TEST_DIR/log.err"
}

# has PATTERN - whether a line of $LOG matches
has() {
	grep -Eq -- "$1" "$LOG" && return
	echo "no line: $1"
	tail -n 20 "$LOG"
	return 1
}

# logged PATTERN ARGS... - whether a line of the journal does
logged() {
	local pattern=$1
	shift
	log "$@" && has "$pattern"
}

# log_json EXPRESSION ARGS... - over the journal as JSON, `d`
log_json() {
	local expression=$1
	shift
	limit "$RDMAEMU" log --json "$@" | json "$expression"
}

# start_pair PROGRAM ARGS... - server and client, which goes on for long; pids in SERVER and RUNNER
start_pair() {
	local port
	port=$(free_port)
	command_a "$@" -p "$port" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	RUNNER=$!
	wait_listen "$port" $RUNNER || return
	command_b "$@" -p "$port" "$ADDR"
	"${CMD[@]}" >"$TEST_DIR/client.out" 2>&1 </dev/null &
	CLIENT_RUN=$!
	wait_for 20 talking "$1"
}

# talking PROGRAM - whether its client has sent more than its greeting
talking() {
	[ "$(status_json | json "sum(q['counters']['xmit_packets'] > 1000 for q in d['qps'] if q['name'] == '$1')")" -ge 1 ]
}

setting_up
"$RDMAEMU" fabric start >/dev/null
WHO='\[[0-9]+\]@[a-z0-9]+( [A-Z]+)? qp 0x[0-9a-f]{6}'

# Receivers that post nothing, keys that nobody gave out, peers that are not there: our own programs.
app app_qp_retry "${SIDES##* }" >/dev/null
check "RNR exhaustion: NAKs and receives" logged \
	"app_qp_retry$WHO -> app_qp_retry$WHO: SEND wr_id 1 psn 0x[0-9a-f]{6}: IBV_WC_RNR_RETRY_EXC_ERR: [1-7] RNR NAKs? since [0-9.]+ s, 0 receives posted by app_qp_retry$WHO"
check "RNR NAKs and waits" has "app_qp_retry$WHO -> app_qp_retry$WHO: psn 0x[0-9a-f]{6}: RNR NAK sent: no receive is posted"
check "timeouts" has "attempt 2: sends again: no ACK in time, timeout 12"
check "RETRY_EXC_ERR: the peer was destroyed" has \
	"app_qp_retry$WHO -> app_qp_retry$WHO: SEND wr_id 1 psn 0x[0-9a-f]{6}: IBV_WC_RETRY_EXC_ERR: no ACK, sent 4 times from [0-9.]+ s to [0-9.]+ s: the peer has no such QP"
check "RETRY_EXC_ERR: the peer's state" has "IBV_WC_RETRY_EXC_ERR: .*: the peer's QP is in ERR"
app app_qp_errors "${SIDES##* }" >/dev/null
check "a bad rkey: what the peer has found" logged \
	"app_qp_errors$WHO -> app_qp_errors$WHO: RDMA_WRITE wr_id [0-9]+ psn 0x[0-9a-f]{6}: IBV_WC_REM_ACCESS_ERR: the peer has refused it: rkey 0x[0-9a-f]+, "
KEY='rkey 0x[0-9a-f]+, [0-9]+ bytes at 0x[0-9a-f]+'
check "a key that no region has, and the nearest region" has \
	"REM_ACCESS_ERR: .*: $KEY: no region has this key; the nearest region of the PD, key 0x[0-9a-f]+, has 8388608 bytes at 0x"
check "out of range" has "REM_ACCESS_ERR: .*: $KEY: out of range of its region, which has 4096 bytes at 0x"
check "another PD" has "REM_ACCESS_ERR: .*: $KEY: its region is of another PD"
check "a right that it lacks" has "REM_ACCESS_ERR: .*: $KEY: its region lacks IBV_ACCESS_REMOTE_WRITE"
check "a local key" has "LOC_PROT_ERR: lkey 0x[0-9a-f]+, [0-9]+ bytes at 0x[0-9a-f]+: no region has this key; the nearest"
check "a misaligned atomic: its address" has \
	"ATOMIC_[A-Z_]+ wr_id .*: IBV_WC_REM_INV_REQ_ERR: .*the address of an atomic, 0x[0-9a-f]+[1-79a-f], is not a multiple of 8"
is "JSON has the key" "$(log_json "sorted(set(e['key']['fault'] for e in d if e['status'] == 'IBV_WC_REM_ACCESS_ERR' and 'key' in e))")" \
	"['other_pd', 'range', 'right', 'unknown']"
check "and its event" has "app_qp_errors$WHO -> app_qp_errors$WHO: psn 0x[0-9a-f]{6}: IBV_EVENT_QP_ACCESS_ERR: rkey 0x"
check "a receive that is too short, with its wr_id" has \
	"RECV wr_id [0-9]+ psn 0x[0-9a-f]{6}: IBV_WC_LOC_LEN_ERR: longer than the receive, which has [0-9]+ bytes"

# Filters and JSON.
log --program app_qp_retry
[ -s "$LOG" ] && ! grep -qv app_qp_retry "$LOG" && ok "--program NAME" || not_ok "--program NAME"
pid=$(log_json "[e['who']['pid'] for e in d if e['kind'] == 'completion'][0]")
is "--program PID" "$(log_json "len(d) > 0 and all($pid in (e['who'].get('pid'), e['peer'].get('pid')) for e in d)" --program "$pid")" True
qpn=$(log_json "[e['who']['qpn'] for e in d if e['kind'] == 'completion'][0]")
is "--qp N" "$(log_json "len(d) > 0 and all($qpn in (e['who'].get('qpn'), e['peer'].get('qpn')) for e in d)" --qp "$qpn")" True
node=$(log_json "[e['who']['node'] for e in d if e['kind'] == 'completion'][0]")
is "--node NAME" "$(log_json "len(d) > 0 and all('$node' in (e['who'].get('node'), e['peer'].get('node')) for e in d)" --node "$node")" True
is "nothing of a program that was never there" "$(log_json 'd' --program nobody)" "[]"
is "JSON tells the same" "$(log_json "sorted(set((e['opcode'], e['why'], e['attempt'] > 0) for e in d
	if e['status'] == 'IBV_WC_RETRY_EXC_ERR' and e['why'] == 'peer_gone' and e['attempt'] == 3))")" \
	"[('SEND', 'peer_gone', True)]"
is "in the order of time" "$(log_json "[e['ts'] for e in d] == sorted(e['ts'] for e in d)")" True
"$RDMAEMU" log --qp x >/dev/null 2>"$TEST_DIR/err"
is "a QP that is no number is refused" "$? $(wc -l <"$TEST_DIR/err")" "2 1"
"$RDMAEMU" log --program '' >/dev/null 2>"$TEST_DIR/err"
is "an empty program, too" "$? $(wc -l <"$TEST_DIR/err")" "2 1"

# A peer that is killed.
if start_pair ib_write_bw -D 120; then
	victim=$(pgrep -P $RUNNER)
	kill -9 "$victim" 2>/dev/null
	wait $RUNNER 2>/dev/null
	check "a killed peer ends the client" wait_for 120 logged \
		"ib_write_bw$WHO -> ib_write_bw\[$victim\]@[a-z0-9]+ qp 0x[0-9a-f]{6}: RDMA_WRITE wr_id 0 psn 0x[0-9a-f]{6}: IBV_WC_RETRY_EXC_ERR: .*: the peer's program has ended"
	check "its end is told" logged "ib_write_bw\[$victim\]@[a-z0-9]+ -> ib_write_bw$WHO: client gone: ended with 1 QP connected"
	kill $CLIENT_RUN 2>/dev/null
	wait $CLIENT_RUN 2>/dev/null
else
	not_ok "ib_write_bw runs" "$(cat "$TEST_DIR/server.out" "$TEST_DIR/client.out")"
fi

# A port that goes down under a stream.
if start_pair ib_send_bw -D 120; then
	"$RDMAEMU" port down
	check "a port that is down" wait_for 120 logged \
		"ib_send_bw$WHO -> ib_send_bw$WHO: SEND wr_id [0-9]+ psn 0x[0-9a-f]{6}: IBV_WC_RETRY_EXC_ERR: .* port 1 is down"
	check "its event" has "IBV_EVENT_PORT_ERR: changed by command"
	check "its drops" has "ib_send_bw$WHO -> ib_send_bw$WHO: .*: dropped: [a-z0-9_]+ port 1 is down"
	"$RDMAEMU" port up
	kill $RUNNER $CLIENT_RUN 2>/dev/null
	wait $RUNNER $CLIENT_RUN 2>/dev/null
else
	not_ok "ib_send_bw runs" "$(cat "$TEST_DIR/server.out" "$TEST_DIR/client.out")"
fi

# Nobody listens.
run_b rping -c -a "$ADDR" -p 9 -C 1 >/dev/null 2>&1
check "rping to nobody" logged \
	"rping$WHO -> node [a-z0-9]+: CM REQ: RDMA_CM_EVENT_REJECTED: rejected with reason 8, invalid service ID: no program listens there, at port 9"

run_b rping -c -a 198.51.100.7 -C 1 >/dev/null 2>&1
check "an address that nobody has" logged "rping\[[0-9]+\]@[a-z0-9]+: RDMA_CM_EVENT_ADDR_ERROR: Connection timed out"

# The log names the fault rule that caused an error, with the rule's text.
"$RDMAEMU" fault add 'mine: wc status=IBV_WC_RETRY_EXC_ERR opcode=SEND nth=5' >/dev/null
PAIR_NAME='' pair_run ib_send_bw -n 100 >/dev/null 2>&1
check "by which fault rule" logged \
	"ib_send_bw$WHO -> ib_send_bw$WHO: SEND wr_id 0 psn 0x[0-9a-f]{6}: IBV_WC_RETRY_EXC_ERR: by fault rule mine: wc status=IBV_WC_RETRY_EXC_ERR opcode=SEND nth=5$"
is "in JSON, too" "$(log_json "[e['rule_text'] for e in d if e.get('cause') == 'fault' and e['kind'] == 'completion']")" \
	"['mine: wc status=IBV_WC_RETRY_EXC_ERR opcode=SEND nth=5']"
"$RDMAEMU" fault clear >/dev/null

# Also when it has been removed, and even when another has its place.
rule_is() {
	has "IBV_WC_RETRY_EXC_ERR: by fault rule $1$"
}
log
check "a rule that was removed" rule_is "mine: wc status=IBV_WC_RETRY_EXC_ERR opcode=SEND nth=5"
"$RDMAEMU" fault add 'fail call=ibv_open_device errno=EMFILE program=ib_send_bw' >/dev/null
log
check "and whose place another has" rule_is "[0-9]+, which was removed"

# A call that was made to fail: which, whose, why; in a run's own account, too.
OWN=(run_a)
[ "$SETTING" = one ] || OWN=(run_b)
RUN_FLAGS="${RUN_FLAGS-} --explain" "${OWN[@]}" ib_send_bw -n 5 >"$TEST_DIR/own.out" 2>&1
BY='by fault rule f[0-9]+: fail call=ibv_open_device errno=EMFILE'
CALL="ib_send_bw\[[0-9]+\]@[a-z0-9]+: ibv_open_device\(\): EMFILE: $BY"
check "a call" logged "[0-9] $CALL program=ib_send_bw$"
is "an error" "$(log_json "[(e['kind'], e['opcode'], e['status']) for e in d if e['kind'] == 'call'][0]")" \
	"('call', 'ibv_open_device()', 'EMFILE')"
check "in the run's account, as a line of the log" grep -Eq \
	"^error +EMFILE +[0-9.]+ ib_send_bw\[[0-9]+\](@[a-z0-9]+)? ibv_open_device\(\): $BY" "$TEST_DIR/own.out"
"$RDMAEMU" fault clear >/dev/null

# --follow, in words and in JSON.
limit "$RDMAEMU" log --follow >"$TEST_DIR/follow" 2>"$TEST_DIR/follow.err" &
follow=$!
limit "$RDMAEMU" log --follow --json --program rping >"$TEST_DIR/follow.json" &
follow_json=$!
# In the background SIGINT is ignored, if nobody says otherwise.
env --default-signal=INT "$RDMAEMU" log --follow >"$TEST_DIR/follow.int" &
interrupted=$!
for out in follow follow.json follow.int; do
	wait_for 20 test -s "$TEST_DIR/$out"
done
before=$(wc -l <"$TEST_DIR/follow")
run_b rping -c -a "$ADDR" -p 10 -C 1 >/dev/null 2>&1
check "--follow goes on" wait_for 20 grep -q 'at port 10$' "$TEST_DIR/follow"
[ "$(wc -l <"$TEST_DIR/follow")" -gt "$before" ] && ok "with lines that are new" || not_ok "with lines that are new"
is "each once" "$(grep -c 'at port 10$' "$TEST_DIR/follow")" 1
kill -INT $interrupted
wait $interrupted
is "it ends on SIGINT" $? 130
run_b rping -c -a "$ADDR" -p 11 -C 1 >/dev/null 2>&1
fabric_stop
wait $follow
is "it ends with the fabric" $? 0
check "with what was said last" grep -q 'at port 11$' "$TEST_DIR/follow"
is "silent" "$(cat "$TEST_DIR/follow.err")" ""
wait $follow_json
is "JSON: an object in each line" "$(python3 -c '
import json, sys
print(sorted({e["who"]["name"] for e in map(json.loads, sys.stdin)}))' <"$TEST_DIR/follow.json")" "['rping']"
"$RDMAEMU" log --follow >/dev/null 2>"$TEST_DIR/err"
is "a fabric that is not running" "$? $(cat "$TEST_DIR/err")" "1 rdmaemu: fabric default is not running"


# --explain: the program's own end, and what it was about.
explain() {
	limit "$RDMAEMU" run --explain "${CLIENT_AT[@]}" -- "$@" 2>"$TEST_DIR/err"
}

setting_up
explain rping -c -a "$ADDR" -p 9 -C 1 >/dev/null
is "--explain: exit status" $? 255
grep -v '^rdmaemu: \|^error \|^notice ' "$TEST_DIR/err" | grep -v '^cma event\|CONNECTED state\|connect error' >"$TEST_DIR/other"
is "--explain says nothing else" "$(cat "$TEST_DIR/other")" ""
cp "$TEST_DIR/err" "$LOG"
check "--explain: how many" has '^rdmaemu: 1 error, [0-9]+ notices? of rping$'
check "--explain: what and why" has '^error +RDMA_CM_EVENT_REJECTED +[0-9.]+ rping.*: rejected with reason 8'
grep '^error' "$LOG" >"$TEST_DIR/explained"
limit "$RDMAEMU" log >"$TEST_DIR/logged"
check "--explain: the very lines of the log" grep -Fqf "$TEST_DIR/explained" "$TEST_DIR/logged"
explain bash -c 'rping -c -a "$1" -p 9 -C 1; rping -c -a "$1" -p 9 -C 1; exit 7' - "$ADDR" >/dev/null
is "--explain: children, and the program's status" "$? $(grep -c '^error *RDMA_CM_EVENT_REJECTED' "$TEST_DIR/err") $(grep -c '^rdmaemu: 2 errors,' "$TEST_DIR/err")" "7 2 1"
explain true
is "--explain: nothing to explain" "$? $(cat "$TEST_DIR/err")" "0 rdmaemu: nothing to explain: no error, drop, NAK or retry of true"
explain bash -c 'kill -TERM $$'
is "--explain: death by SIGTERM" $? 143
explain bash -c 'ulimit -c 0; kill -SEGV $$' 2>/dev/null
is "--explain: death by SIGSEGV" $? 139
explain /no/such/program
is "--explain: no such program" "$? $(cat "$TEST_DIR/err")" "127 rdmaemu: /no/such/program: No such file or directory"
explain "$TEST_DIR/err"
is "--explain: not executable" $? 126
is "--explain: standard input and output" "$(echo hello | explain cat)" hello

# signals SIGNAL WANTED - one to `rdmaemu run --explain` reaches the program, whose status is WANTED
signals() {
	rm -f "$TEST_DIR/ready"
	"$RDMAEMU" run --explain -- bash -c 'trap "exit 33" USR1; trap "exit 34" RTMIN
		: >"$1"; while :; do sleep 0.05; done' - "$TEST_DIR/ready" 2>/dev/null &
	local pid=$!
	wait_for 20 test -e "$TEST_DIR/ready"
	kill -"$1" $pid
	wait $pid
	is "--explain: $1 reaches the program" $? "$2"
}
signals USR1 33
signals RTMIN 34
signals TERM 143

# Stopped and gone on with, as a shell's job control sees it.
"$RDMAEMU" run --explain -- bash -c 'echo $$ >"$1"; exec sleep 600' - "$TEST_DIR/sleeper" 2>/dev/null &
pid=$!
wait_for 20 test -s "$TEST_DIR/sleeper"
child=$(cat "$TEST_DIR/sleeper")
state() {
	sed 's/.*) //' "/proc/$1/stat" | cut -c1
}
in_state() {
	[ "$(state "$1")" = "$2" ]
}
kill -TSTP "$child"
check "--explain: it stops with the program" wait_for 20 in_state $pid T
kill -CONT $pid
check "--explain: and the program goes on with it" wait_for 20 in_state "$child" S
# A program that was stopped by its user is not continued by rdmaemu.
stopped_itself() {
	kill -STOP "$child"
	wait_for 20 in_state "$child" T && sleep 0.3 && ! in_state $pid T && kill -CONT "$child" &&
		wait_for 20 in_state "$child" S && wait_for 20 in_state $pid S && return
	echo "states: $(state "$child") $(state $pid)"
	return 1
}
check "--explain: it does not stop where SIGSTOP was meant for the program" stopped_itself
kill -9 $pid
gone() {
	! kill -0 "$1" 2>/dev/null || in_state "$1" Z
}
check "--explain: killed, it takes the program along" wait_for 20 gone "$child"
wait $pid 2>/dev/null
done_testing
