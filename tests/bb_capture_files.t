#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what captures write does not depend on where the programs are
# Captures as files: filters, snap length, rings, pipes, slow and full ones; what fault rules do, as comments; what is
# wrong with a command; and how captures end.
. "$(dirname "$0")/lib.sh"
need python3 tshark ib_send_bw

CAP=$TEST_DIR/cap.pcapng

# look FILE EXPR... - by tests/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/capture_check.py" "$@"
}

# fresh ARGS... - a new fabric
fresh() {
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	limit "$RDMAEMU" fabric start "$@"
}

# start ARGS... - a capture; its number is in ID
start() {
	ID=$(limit "$RDMAEMU" capture start "$@")
}

stop() {
	limit "$RDMAEMU" capture stop "$@"
}

# listed KEY - of the only capture
listed() {
	limit "$RDMAEMU" capture list --json | json "d[0]['$1']"
}

# refused NAME LINE COMMAND... - it fails with that one line
refused() {
	local name=$1 line=$2 out status=0
	shift 2
	out=$(limit "$RDMAEMU" "$@" 2>&1) || status=$?
	is "$name" "$([ $status != 0 ] && echo "$out")" "rdmaemu: $line"
}

# --- commands ---
"$RDMAEMU" fabric stop >/dev/null 2>&1
refused "no fabric" "fabric default is not running" capture start "$CAP"
fresh
refused "no such directory" "capture start: $TEST_DIR/no/x: No such file or directory" capture start "$TEST_DIR/no/x"
refused "a ring in no directory" "capture start: $TEST_DIR/no/x: No such file or directory" \
	capture start --ring-size 1M "$TEST_DIR/no/x"
refused "no such port" "capture start: fabric default has no such port; see 'rdmaemu status'" \
	capture start --device mlx9_9 "$CAP"
refused "a filter that is none" "capture start: --filter 'udp portt 1': can't parse filter expression: syntax error; see pcap-filter(7)" \
	capture start --filter 'udp portt 1' "$CAP"
refused "a snap length that is none" "capture start: --snaplen '12': expected bytes, 64 to 65535" \
	capture start --snaplen 12 "$CAP"
refused "a ring's size that is none" "capture start: --ring-size '10X': expected bytes, 4096 or more, maybe with K, M or G" \
	capture start --ring-size 10X "$CAP"
refused "files of no ring" "capture start: --ring-files: expected --ring-size as well" \
	capture start --ring-files 3 "$CAP"
refused "a ring of pipes" "capture start: --ring-size: expected a file, not standard output" \
	capture start --ring-size 1M -
refused "two files" "capture start: expected one file" capture start "$CAP" "$CAP"
refused "nothing to stop" "capture stop: fabric default has no capture" capture stop
refused "no such capture" "capture stop: fabric default has no capture 7" capture stop 7
refused "a number that is none" "capture stop: 'x': expected a capture's number" capture stop x
refused "run: a filter without a capture" "run: --filter: expected --capture as well" run --filter udp -- true

# --- what is written ---
check "a capture begins" start "$CAP"
check "traffic" pair_run ib_send_bw -n 100 -s 1024 -m 1024
is "it is listed" "$(listed state), $(listed file), $(listed lossy)" "running, $CAP, False"
out=$(stop)
is "its end tells what it has done" "$(sed 's/, [0-9]* bytes$//' <<<"$out")" \
	"$CAP: $(look "$CAP" 'count()') packets"
is "nothing is listed any more" "$(limit "$RDMAEMU" capture list)" ""

fresh
start --snaplen 128 "$CAP"
check "traffic that is cut" pair_run ib_send_bw -n 100 -s 3000 -m 1024
stop >/dev/null
is "snap length: frames of their length, of which 128 bytes are there" \
	"$(look "$CAP" 'sorted({(p.len > 128, len(p.data)) for p in packets if p.op != "RC ACK"})')" "[(True, 128)]"
is "acknowledges are whole" "$(look "$CAP" 'all(len(p.data) == p.len for p in packets if p.op == "RC ACK")')" True
check "tshark reads what is cut" sh -c "tshark -r '$CAP' >/dev/null 2>&1"

fresh
start --filter 'len < 100' "$CAP"
check "traffic that is filtered" pair_run ib_send_bw -n 100 -s 1024 -m 1024
n=$(listed filtered)
stop >/dev/null
is "filter: no long frame is there" "$(look "$CAP" 'all(p.len < 100 for p in packets)')" True
is "filter: the others are counted, in the file as well" "$n $(look "$CAP" 'sum(s[0] - s[2] for s in stats.values())')" "100 100"

# --- rings ---
fresh
start --ring-size 64K --ring-files 3 "$TEST_DIR/ring.pcapng"
check "traffic for a ring" pair_run ib_send_bw -n 1000 -s 1024 -m 1024
stop >/dev/null
files=("$TEST_DIR"/ring_*.pcapng)
is "ring: three files, none longer than 64 KiB" \
	"${#files[@]} $(find "$TEST_DIR" -name 'ring_*.pcapng' -size +128 | wc -l)" "3 0"
is "ring: each is complete" "$(for f in "${files[@]}"; do look "$f" 'cut == 0 and count() > 10 and "dropped" in names'; done | xargs)" \
	"True True True"

# --- faults ---
fresh
printf '# comment\ndrop opcode=SEND_ONLY every=5\n' >"$TEST_DIR/lossy.scn"
start "$CAP"
RUN_FLAGS="--scenario $TEST_DIR/lossy.scn" check "traffic with a scenario" pair_run ibv_rc_pingpong -n 20 -s 1024
limit "$RDMAEMU" fault list --json >"$TEST_DIR/rules.json"
stop >/dev/null
hits=$(json "d['faults'][0]['hits']" <"$TEST_DIR/rules.json")
is "dropped packets are on an interface of their own" "$(look "$CAP" 'len(dropped)')" "$hits"
is "with the rule as a comment" "$(look "$CAP" 'sorted({p.comment for p in dropped})')" \
	"['dropped by fault rule f1, $TEST_DIR/lossy.scn:2']"

for rule in 'corrupt:damaged' 'duplicate:sent twice' 'delay 1ms:delayed 0.001000 s' \
	'reorder gap=1:held back, to be overtaken by 1'; do
	fresh
	limit "$RDMAEMU" fault add "${rule%%:*} opcode=SEND_ONLY every=7"
	start "$CAP"
	check "traffic with ${rule%%:*}" pair_run ibv_rc_pingpong -n 30 -s 1024
	hits=$(limit "$RDMAEMU" fault list --json | json "d['faults'][0]['hits']")
	stop >/dev/null
	twice=1
	[ "${rule%%:*}" != duplicate ] || twice=2
	is "${rule%%:*}: comments" "$(look "$CAP" "Counter(p.comment for p in packets if p.comment).most_common()")" \
		"[('${rule#*:} by fault rule f1: ${rule%%:*} opcode=SEND_ONLY every=7', $((hits * twice)))]"
done

# --- ends ---
fresh
# own_run ARGS... - a run that is both sides, and is captured
own_run() {
	local port
	port=$(free_port)
	limit "$RDMAEMU" run "$@" -- bash -c "ibv_rc_pingpong -n 10 -s 1024 -p $port & 
		for i in {1..500}; do ibv_rc_pingpong -n 10 -s 1024 -p $port 127.0.0.1 && break; sleep 0.1; done; wait"
}
check "run --capture" own_run --capture "$CAP"
is "run --capture: all is in the file when it returns" "$(look "$CAP" 'count("RC SEND_ONLY"), count("RC ACK"), cut')" "(20, 20, 0)"
is "run --capture: nothing runs any more" "$(limit "$RDMAEMU" capture list)" ""
done_testing
