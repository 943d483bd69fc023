#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Captures of real programs: tshark finds no packet malformed, each ICRC is right, and there are as many packets as
# the ports have counted.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/rdmacm.sh"
need python3 tshark

CAP=$TEST_DIR/cap.pcapng

# look EXPR... - at the capture, by tests/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/capture_check.py" "$CAP" "$@"
}

# whole - tshark takes all of it. RoCE v2 has no UDP checksum, over IPv6 either.
whole() {
	local bad
	bad=$(tshark -o udp.ignore_ipv6_zero_checksum:TRUE -r "$CAP" -Y '_ws.malformed || _ws.expert.severity == error' 2>/dev/null) || return
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
	check "$1" wire "$@"
}

for t in send write read; do
	captured "ib_${t}_bw" pair_run ib_${t}_bw -n 20 -s 3000 -m 1024 --
done
captured ibv_rc_pingpong pair_run ibv_rc_pingpong -n 5 -- \
	'count("RC SEND_FIRST") == count("RC SEND_LAST") == 10' 'count("RC SEND_MIDDLE") == 20' \
	'count("RC ACK") == 10'
captured ibv_uc_pingpong pair_run ibv_uc_pingpong -n 5 -- 'count("UC SEND_LAST") == 10' 'count("RC ACK") == 0'
captured ibv_ud_pingpong pair_run ibv_ud_pingpong -n 5 -s 1024 -g 1 -- 'count("UD SEND_ONLY") == 10' \
	'all(p.len == packets[0].len for p in packets)'
captured ibv_srq_pingpong pair_run ibv_srq_pingpong -n 20 -- 'count("RC SEND_FIRST") == count("RC ACK") > 0'
captured "XRC: ib_send_bw -c XRC" pair_run ib_send_bw -c XRC -n 10 -s 3000 -m 1024 -- \
	'count("XRC SEND_FIRST") == 10' 'count("XRC ACK") >= 1'
captured "WRITE with immediate: ib_write_bw --write_with_imm" pair_run ib_write_bw -n 10 -s 100 -- \
	'count("RC WRITE_ONLY") == 10'
captured "READs and their answers" pair_run ib_read_lat -n 5 -s 3000 -m 1024 -- 'count("RC READ_REQ") == 5' \
	'count("RC READ_RESP_FIRST") == count("RC READ_RESP_MIDDLE") == count("RC READ_RESP_LAST") == 5'
captured "FETCH_ADD" pair_run ib_atomic_lat -n 5 -A FETCH_AND_ADD -- \
	'count("RC FETCH_ADD") == count("RC ATOMIC_ACK") == 5'
captured "CMP_SWAP" pair_run ib_atomic_lat -n 5 -A CMP_AND_SWAP -- \
	'count("RC CMP_SWAP") == count("RC ATOMIC_ACK") == 5'
captured "UD: ib_send_lat -c UD" pair_run ib_send_lat -c UD -n 10 -- 'count("UD SEND_ONLY") == 20'
captured "UC: ib_write_bw -c UC" pair_run ib_write_bw -c UC -n 10 -s 5000 -m 1024 -- \
	'count("UC WRITE_FIRST") == count("UC WRITE_LAST") == 10' 'count("UC WRITE_MIDDLE") == 30'
if [ "$SETTING" != fabrics ]; then
	captured "small WRITEs in a stream" pair_run ib_write_bw -n 1000 -s 8 -- 'count("RC WRITE_ONLY") == 1000'
fi

ping() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rping -s -p $port" "rping -c -p $port -a $ADDR -C 5"
}
captured "rping: with the messages of connection management" ping -- \
	'sum(p.dqpn == 1 for p in packets) >= 5' 'all(p.len == packets[0].len for p in packets if p.dqpn == 1)' \
	'count("RC READ_REQ") == 5'
is "rping: tshark knows the messages by their names" \
	"$(tshark -r "$CAP" 2>/dev/null | grep -o 'CM: [A-Za-z]*' | sort -u | xargs)" "CM: ConnectReply CM: ConnectRequest CM: DisconnectReply CM: DisconnectRequest CM: ReadyToUse"
done_testing
