#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes fabrics
# Captures of real programs: tshark finds no packet malformed, each ICRC is right, and there are as many packets as
# the ports have counted.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need python3 tshark

CAP=$TEST_DIR/cap.pcapng

# look EXPR... - at the capture, by tests/lib/py/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/lib/py/capture_check.py" "$CAP" "$@"
}

# whole - tshark takes all of it. RoCE v2 has no UDP checksum, over IPv6 either.
whole() {
	local bad file=$CAP
	if [ "$(look 'all(p.data[0] < 0x10 and p.op for p in packets)')" = True ] && [[ ${RUN_FLAGS-} = *infiniband* ]]; then
		file=$TEST_DIR/erf.pcap
		look "write_erf('$file', packets)" >/dev/null || return
	fi
	bad=$(tshark_reads -o udp.ignore_ipv6_zero_checksum:TRUE -r "$file" -Y '_ws.malformed || _ws.expert.severity == error' 2>/dev/null) || return
	[ -z "$bad" ] || {
		head -n 5 <<<"$bad"
		return 1
	}
}

# sent, known - packets that our ports have sent, and those of them that are in the capture
sent() {
	status_json | json "sum(p['counters']['xmit_packets'] for x in d['devices'] if not x.get('member')
		for p in x['ports'])"
}

# our_names - the interfaces of our own ports
our_names() {
	status_json | json "['%s/%s/%d' % (x['node'], x['name'], p['port']) for x in d['devices']
		if not x.get('member') for p in x['ports']]"
}

# wire NAME COMMAND... -- EXPR... - COMMAND on a fabric that is captured from its start; each EXPR holds
wire() {
	local name=$1 run=() e
	shift
	while [ "$1" != -- ]; do
		run+=("$1")
		shift
	done
	shift
	fabric_stop
	setting_up || return
	if [ "$SETTING" = one ]; then
		# shellcheck disable=SC2086
		limit "$RDMAEMU" fabric start ${RUN_FLAGS-} || return
	fi
	limit "$RDMAEMU" capture start "$CAP" >/dev/null || return
	"${run[@]}" || return
	limit "$RDMAEMU" capture stop >"$TEST_DIR/stop.out" || return
	whole || return
	e=$(look "sum(count(iface=i) for i in $(our_names))") || return
	[ "$e" = "$(sent)" ] || {
		echo "$e packets are captured, $(sent) were sent"
		return 1
	}
	for e; do
		[ "$(look "bool($e)")" = True ] || {
			echo "not: $e"
			look 'Counter(p.op for p in packets)'
			return 1
		}
	done
}

# captured NAME COMMAND... -- EXPR... - the same, as a check
captured() {
	check "$1" with_clock wire "$@"
}

for t in send write read; do
	captured "ib_${t}_bw" pair_once ib_${t}_bw -n 20 -s 3000 -m 1024 --
done
captured ibv_rc_pingpong pair_once ibv_rc_pingpong -n 5 -- \
	'once("RC SEND_FIRST") == once("RC SEND_LAST") == 10' 'once("RC SEND_MIDDLE") == 20' \
	'once("RC ACK") == 10'
captured ibv_uc_pingpong pair_once ibv_uc_pingpong -n 5 -- 'count("UC SEND_LAST") == 10' 'count("RC ACK") == 0'
captured ibv_ud_pingpong pair_once ibv_ud_pingpong -n 5 -s 1024 -g 1 -- 'count("UD SEND_ONLY") == 10' \
	'all(p.len == packets[0].len for p in packets)'
# It counts the completions of all its queue pairs together, and ends with messages under way: between
# fabrics, its peer may have gone before it acknowledges those.
captured ibv_srq_pingpong pair_once ibv_srq_pingpong -n 20 -- 'once("RC SEND_FIRST") >= once("RC ACK") >= 40'
captured "XRC: ib_send_bw -c XRC" pair_once ib_send_bw -c XRC -n 10 -s 3000 -m 1024 -- \
	'once("XRC SEND_FIRST") == 10' 'count("XRC ACK") >= 1'
captured "WRITE with immediate: ib_write_bw --write_with_imm" pair_once ib_write_bw -n 10 -s 100 -- \
	'once("RC WRITE_ONLY") == 10'
captured "READs and their answers" pair_once ib_read_lat -n 5 -s 3000 -m 1024 -- 'once("RC READ_REQ") == 5' \
	'once("RC READ_RESP_FIRST") == once("RC READ_RESP_MIDDLE") == once("RC READ_RESP_LAST") == 5'
captured "FETCH_ADD" pair_once ib_atomic_lat -n 5 -A FETCH_AND_ADD -- \
	'once("RC FETCH_ADD") == once("RC ATOMIC_ACK") == 5'
captured "CMP_SWAP" pair_once ib_atomic_lat -n 5 -A CMP_AND_SWAP -- \
	'once("RC CMP_SWAP") == once("RC ATOMIC_ACK") == 5'
captured "UD: ib_send_lat -c UD" pair_once ib_send_lat -c UD -n 10 -- 'count("UD SEND_ONLY") == 20'
captured "UC: ib_write_bw -c UC" pair_once ib_write_bw -c UC -n 10 -s 5000 -m 1024 -- \
	'count("UC WRITE_FIRST") == count("UC WRITE_LAST") == 10' 'count("UC WRITE_MIDDLE") == 30'
if [ "$SETTING" != fabrics ]; then
	captured "small WRITEs in a stream" pair_once ib_write_bw -n 1000 -s 8 -- 'count("RC WRITE_ONLY") == 1000'
fi

ping() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rping -s -p $port" "rping -c -p $port -a $ADDR -C 5"
}
captured "rping: with the messages of connection management" ping -- \
	'sum(p.dqpn == 1 for p in packets) >= 5' 'all(p.len == packets[0].len for p in packets if p.dqpn == 1)' \
	'once("RC READ_REQ") == 5'
is "rping: tshark knows the messages by their names" \
	"$(tshark -r "$CAP" 2>/dev/null | grep -o 'CM: [A-Za-z]*' | sort -u | xargs)" "CM: ConnectReply CM: ConnectRequest CM: DisconnectReply CM: DisconnectRequest CM: ReadyToUse"

# Captures are the same when the fabric process runs the engine, and with another link layer.
RUN_FLAGS=--isolated
captured "isolated: ibv_rc_pingpong" pair_once ibv_rc_pingpong -n 5 -- 'once("RC SEND_FIRST") == once("RC ACK") == 10'
captured "isolated: ib_read_bw" pair_once ib_read_bw -n 20 -s 100000 -- 'count("RC READ_REQ") >= 20'
RUN_FLAGS=--chaos=7
captured "chaos: ib_write_bw" pair_once ib_write_bw -n 20 -s 20000 -- 'once("RC WRITE_FIRST") == 20'
if by_wire; then
	skip "InfiniBand" "wires are of RoCE ports"
else
	RUN_FLAGS='--profile infiniband'
	captured "InfiniBand: ibv_rc_pingpong" pair_once ibv_rc_pingpong -n 5 -- \
		'all(p.ip in (0, 3, False, True) for p in packets)'
	captured "InfiniBand: ib_send_lat -c UD" pair_once ib_send_lat -c UD -n 10 -- 'count("UD SEND_ONLY") == 20'
	captured "InfiniBand: rping" ping -- 'sum(p.dqpn == 1 for p in packets) >= 5'
fi
RUN_FLAGS=

# group - a multicast group, of which one is a member and to which the other sends
group() {
	local server status
	command_a stdbuf -oL mckey -m 239.1.2.3 -b "$ADDR" -C 5 || return
	rm -f "$TEST_DIR/server.out"
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_for 30 grep -q 'joined' "$TEST_DIR/server.out" || :
	run_b mckey -m 239.1.2.3 -b "$CLIENT" -s -C 5 >"$TEST_DIR/client.out" 2>&1 </dev/null
	status=$?
	wait $server && return $status
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
if [ "$SETTING" != one ] && command -v mckey >/dev/null; then
	captured "multicast: to the group's addresses" group -- \
		'sum(p.dqpn == 0xffffff and p.data[:6].hex() == "01005e010203" for p in packets) == 5' \
		'all(p.data[30:34].hex() == "ef010203" for p in packets if p.dqpn == 0xffffff)'
fi
done_testing
