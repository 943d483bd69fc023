#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: what captures write does not depend on where the programs are
# Capture files: filters, snap length, rings of files, pipes, slow and full destinations; comments that name the fault
# rule of a packet; errors in the command; and how captures end.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 tshark ib_send_bw

CAP=$TEST_DIR/cap.pcapng

# look FILE EXPR... - by tests/lib/py/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/lib/py/capture_check.py" "$@"
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

# reaches KEY N - whether that has become so many; the capture's thread may come late
reaches() {
	[ "$(listed "$1")" -ge "$2" ]
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
echo precious >"$CAP"
refused "no such port, for a file that is there" "capture start: fabric default has no such port; see 'rdmaemu status'" \
	capture start --node nowhere "$CAP"
is "its contents stay" "$(cat "$CAP")" precious
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

# --- two into one ---
ONE=$TEST_DIR/one.pcapng
start "$ONE"
id=$ID
check "traffic for one file" pair_run ibv_rc_pingpong -n 10 -s 1024
wait_for 10 reaches packets 40
sum=$(md5sum <"$ONE")
ln "$ONE" "$TEST_DIR/other"
ln -s one.pcapng "$TEST_DIR/link"
for file in one.pcapng other link; do
	refused "two captures into one file, as $file" \
		"capture start: $TEST_DIR/$file: capture $id writes to it already" \
		capture start --filter 'less 100' "$TEST_DIR/$file"
done
refused "two captures into one file: run" "run: $ONE: capture $id writes to it already" run --capture "$ONE" -- true
rm "$TEST_DIR/other" "$TEST_DIR/link"
is "the file is as it was" "$(md5sum <"$ONE")" "$sum"
is "there is one capture" "$(limit "$RDMAEMU" capture list --json | json 'len(d)')" 1
stop >/dev/null
is "all is in it" "$(look "$ONE" 'count("RC SEND_ONLY"), cut')" "(20, 0)"
check "it is free again" start "$ONE"
check "a device is free for all" start /dev/null
check "and once more" start /dev/null
stop >/dev/null

start --ring-size 16K --ring-files 3 "$TEST_DIR/two.pcapng"
id=$ID
check "traffic for a ring's files" pair_run ibv_rc_pingpong -n 40 -s 1024
wait_for 10 reaches packets 160
last=$(find "$TEST_DIR" -name 'two_*' | sort | tail -n 1)
first=$(find "$TEST_DIR" -name 'two_*' | sort | head -n 1)
sum=$(cat "$first" | md5sum)
refused "a file of a ring that is full" "capture start: $first: capture $id writes to it already" capture start "$first"
refused "a file of a ring that is written" "capture start: $last: capture $id writes to it already" capture start "$last"
refused "a ring twice" "capture start: $TEST_DIR/./two.pcapng: capture $id writes to it already" \
	capture start --ring-size 16K "$TEST_DIR/./two.pcapng"
is "the file of the ring is as it was" "$(cat "$first" | md5sum)" "$sum"
stop >/dev/null
rm "$TEST_DIR"/two_*
start "$TEST_DIR/two_00001.pcapng"
refused "a ring's first file that another capture has" "capture start: two_00001.pcapng: capture $ID writes to it already" \
	capture start --ring-size 16K "$TEST_DIR/two.pcapng"
stop >/dev/null
start "$TEST_DIR/two_00002.pcapng"
id=$ID
start --ring-size 16K "$TEST_DIR/two.pcapng"
check "traffic for a ring that meets another capture's file" pair_run ibv_rc_pingpong -n 40 -s 1024
# Its thread may get there late; a file that is ended by then is nobody's, and it goes on.
check "that ends the ring" wait_for 10 sh -c "'$RDMAEMU' capture list --json | grep -q failed"
out=$(stop 2>&1) && not_ok "that is told when it is stopped"
is "why is told" "$(grep -c "^rdmaemu: capture: two_00002.pcapng: capture $id writes to it already: Device or resource busy, after" <<<"$out")" 1
is "the other is whole" "$(look "$TEST_DIR/two_00002.pcapng" 'count("RC SEND_ONLY"), cut')" "(80, 0)"

# A refused capture leaves no file of its own.
NEW=$TEST_DIR/new.pcapng
refused "a file that is made for nothing" "capture start: fabric default has no such port; see 'rdmaemu status'" \
	capture start --node nowhere "$NEW"
is "goes again" "$(ls "$NEW" 2>/dev/null)" ""
refused "run: likewise, of a port's filter" "run: --filter: libpcap knows no fields of InfiniBand packets, only their length ('len < 100'); see --device for Ethernet ports" \
	run --fabric ib --profile infiniband --capture "$NEW" --filter 'udp port 4791' -- true
is "run: goes again" "$(ls "$NEW" 2>/dev/null)" ""
"$RDMAEMU" fabric stop --fabric ib >/dev/null 2>&1
: >"$NEW"
refused "one that was there" "capture start: fabric default has no such port; see 'rdmaemu status'" \
	capture start --node nowhere "$NEW"
is "stays" "$(ls "$NEW" 2>/dev/null)" "$NEW"

# --- what is written ---
fresh
check "a capture begins" start "$CAP"
check "traffic" pair_run ib_send_bw -n 100 -s 1024 -m 1024
is "it is listed" "$(listed state), $(listed file), $(listed lossy)" "running, $CAP, False"
is "status is list" "$(limit "$RDMAEMU" capture status --json | json "d[0]['file']")" "$CAP"
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
is "ACKs are captured whole" "$(look "$CAP" 'all(len(p.data) == p.len for p in packets if p.op == "RC ACK")')" True
check "tshark reads what is cut" sh -c "tshark -r '$CAP' >/dev/null 2>&1"

# filtered ARGS... - a hundred long messages on a new fabric, none of which is to be there
filtered() {
	fresh "$@" && start --filter 'len < 100' "$CAP" && pair_once ib_send_bw -n 100 -s 1024 -m 1024
}
check "traffic that is filtered" with_clock filtered
wait_for 10 reaches filtered 100
n=$(listed filtered)
stop >/dev/null
is "filter: no long frame is there" "$(look "$CAP" 'all(p.len < 100 for p in packets)')" True
is "filter: the others are counted, in the file as well" "$n $(look "$CAP" 'sum(s[0] - s[2] for s in stats.values())')" "100 100"

fresh --profile infiniband
refused "a filter of fields that libpcap does not know of InfiniBand" \
	"capture start: --filter: libpcap knows no fields of InfiniBand packets, only their length ('len < 100'); see --device for Ethernet ports" \
	capture start --filter 'udp port 4791' "$CAP"
check "InfiniBand: traffic that is filtered" with_clock filtered --profile infiniband
wait_for 10 reaches filtered 100
is "InfiniBand: the long ones are counted" "$(listed filtered)" 100
stop >/dev/null
is "InfiniBand: filter: no long frame is there" "$(look "$CAP" 'count() > 0 and all(p.len < 100 for p in packets)')" True

# --- rings ---
fresh
start --ring-size 64K --ring-files 3 "$TEST_DIR/ring.pcapng"
check "traffic for a ring" pair_run ib_send_bw -n 1000 -s 1024 -m 1024
stop >/dev/null
files=("$TEST_DIR"/ring_*.pcapng)
is "ring: three files, none longer than 64 KiB" \
	"${#files[@]} $(find "$TEST_DIR" -name 'ring_*.pcapng' -size +128 | wc -l)" "3 0"
is "ring: each is complete" "$(for f in "${files[@]}"; do look "$f" 'cut == 0 and count() > 0 and "dropped" in names'; done | xargs)" \
	"True True True"

(
	umask 027
	limit "$RDMAEMU" capture start --ring-size 16K "$TEST_DIR/mode.pcapng" >/dev/null
	limit "$RDMAEMU" capture start "$TEST_DIR/mode_plain" >/dev/null
)
check "traffic for files with a mode" pair_run ibv_rc_pingpong -n 40 -s 1024
stop >/dev/null
is "all files follow the umask" "$(stat -c %a "$TEST_DIR"/mode_* | sort | uniq -c | awk '{ print $2, ($1 > 2) }')" "640 1"

# --- faults ---
fresh
printf '# comment\ndrop opcode=SEND_ONLY every=5\n' >"$TEST_DIR/lossy.scn"
start "$CAP"
limit "$RDMAEMU" fault add --scenario "$TEST_DIR/lossy.scn"
check "traffic with a scenario" pair_run ibv_rc_pingpong -n 20 -s 1024
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

# alive NAME - whether the fabric answers
alive() {
	limit "$RDMAEMU" status >/dev/null
}

fresh
start "$CAP"
limit "$RDMAEMU" run -- "$T/app_raw_frames" >"$TEST_DIR/raw.out" 2>&1 || :
stop >/dev/null
is "raw Ethernet frames are there as they are" "$(look "$CAP" 'sum(not p.op and len(p.data) == p.len for p in packets) > 10')" True

# Standard output, which the program does not have then.
out=$(own_run --capture - 2>"$TEST_DIR/err" | tshark -r - 2>/dev/null | wc -l)
is "run --capture -: to tshark's standard input" "$out" 40
is "and what the program prints is elsewhere" "$(grep -c 'iters in' "$TEST_DIR/err")" 2
mkfifo "$TEST_DIR/fifo"
timeout 60 cat "$TEST_DIR/fifo" >"$TEST_DIR/fifo.pcapng" &
check "run --capture: to a pipe" own_run --capture "$TEST_DIR/fifo"
wait
is "all of it comes" "$(look "$TEST_DIR/fifo.pcapng" 'count("RC SEND_ONLY"), cut')" "(20, 0)"

# slow PID - take a pipe's bytes slowly
slow_reader() {
	/usr/bin/python3 -c '
import sys, time
with open(sys.argv[1], "rb", 0) as f, open(sys.argv[2], "wb") as out:
	while True:
		b = f.read(65536)
		if not b:
			break
		out.write(b)
		time.sleep(0.01)' "$TEST_DIR/fifo" "$TEST_DIR/fifo.pcapng"
}
fresh
slow_reader &
check "a slow reader" start "$TEST_DIR/fifo"
check "senders wait for it" pair_run ib_send_bw -n 1000 -s 65536 -m 1024
stop >/dev/null
wait
is "nothing is lost" "$(look "$TEST_DIR/fifo.pcapng" '(count() == sum(s[0] for s in stats.values())
	and sum(p.op.startswith("RC SEND") for p in packets) >= 64000, sum(s[1] for s in stats.values()))')" "(True, 0)"

fresh
slow_reader &
check "a slow reader, and a lossy capture" start --lossy "$TEST_DIR/fifo"
check "senders do not wait" pair_run ib_send_bw -n 3000 -s 65536 -m 1024
wait_for 20 reaches lost 1
lost=$(listed lost)
out=$(stop)
wait
is "what is lost is counted, and told" "$([ "$lost" -gt 0 ] && grep -c ' lost$' <<<"$out")" 1
is "in the file as well" "$(look "$TEST_DIR/fifo.pcapng" 'sum(s[1] for s in stats.values())')" \
	"$(sed 's/.* \([0-9]*\) lost$/\1/' <<<"$out")"

fresh
(exec 3<"$TEST_DIR/fifo" && sleep 300) &
stuck=$!
start "$TEST_DIR/fifo"
pair_run ib_send_bw -n 5 -s 1048576 -m 1024 >/dev/null 2>&1 || :
out=$(stop 2>&1)
is "a reader that takes nothing: the capture ends all the same" \
	"$(grep -c "rdmaemu: capture: no process reads the output: Broken pipe" <<<"$out")" 1
kill $stuck
wait

# A reader that goes away.
fresh
head -c 2000 "$TEST_DIR/fifo" >/dev/null &
gone=$!
start "$TEST_DIR/fifo"
pair_run ib_send_bw -n 5 -s 65536 -m 1024 >/dev/null 2>&1 || :
wait $gone
for i in {1..100}; do
	[ "$(listed state)" = failed ] && break
	sleep 0.1
done
out=$(stop 2>&1) && not_ok "a capture that has failed by itself: stop says so by its exit status"
is "a capture that has failed by itself: stop says why" \
	"$(grep -c "^rdmaemu: capture: $TEST_DIR/fifo: Broken pipe, after [0-9]* packets$" <<<"$out")" 1

# A full disk.
if [ -w /dev/full ]; then
	fresh
	refused "a full disk" "capture start: /dev/full: No space left on device" capture start /dev/full
fi
check "the fabric is there" alive

# Many, while there is traffic.
fresh
pair_run ib_send_bw -D 4 -s 4096 -m 1024 >"$TEST_DIR/bw.out" 2>&1 &
pair=$!
for i in 1 2 3 4 5 6; do
	start --snaplen 64 "$TEST_DIR/many$i"
	sleep 0.2
	stop >/dev/null
done
# ended PID - the traffic that ran in the background
ended() {
	wait "$1" && return
	cat "$TEST_DIR/bw.out"
	return 1
}
check "traffic goes on while captures come and go" true
ended $pair || not_ok "it has ended well"
is "each is whole" "$(for i in 1 2 3 4 5 6; do look "$TEST_DIR/many$i" 'cut == 0 and len(names) > 1'; done | sort -u)" True
for i in 1 2 3 4 5 6 7 8; do
	start "$TEST_DIR/many$i"
done
refused "too many" "capture start: fabric default has 8 captures already; see 'rdmaemu capture list'" \
	capture start "$TEST_DIR/many9"
check "traffic that eight see" pair_run ib_send_bw -n 100 -s 3000 -m 1024
is "all end" "$(stop | wc -l)" 8
is "all have seen the same" "$(for i in 1 2 3 4 5 6 7 8; do look "$TEST_DIR/many$i" '[(p.ns, p.data.hex()) for p in packets]' | md5sum; done | sort -u | wc -l)" 1

# Ports.
fresh
limit "$RDMAEMU" run --node a -- true
limit "$RDMAEMU" run --node b -- true
start --node a "$CAP"
limit "$RDMAEMU" run --node c -- true
SERVER_AT=(--node b) CLIENT_AT=(--node c) ADDR=10.77.0.2
check "traffic between others" pair_run ibv_rc_pingpong -g 1 -n 5
SERVER_AT=(--node a) CLIENT_AT=(--node c) ADDR=10.77.0.1
check "traffic with the node, also of one that came later" pair_run ibv_rc_pingpong -g 1 -n 5 -s 1024
SERVER_AT=() CLIENT_AT=() ADDR=127.0.0.1
stop >/dev/null
is "one node: what comes and goes there" "$(look "$CAP" 'Counter(p.iface for p in packets).most_common()')" \
	"[('c/rdmaemu0/1', 10), ('a/rdmaemu0/1', 10)]"
fresh
start "$CAP"
pair_run ib_send_bw -D 60 -s 4096 -m 1024 >"$TEST_DIR/bw.out" 2>&1 &
pair=$!
wait_for 20 reaches packets 1001
limit "$RDMAEMU" port down
wait $pair
stop >/dev/null
is "a port that is down: its packets are dropped" "$(look "$CAP" '{p.comment for p in dropped}')" \
	"{'dropped: rdmaemu0 port 1 is down'}"

# Programs whose memory only their helpers reach.
"$RDMAEMU" fabric stop >/dev/null 2>&1
limit "$T/sys_noptrace" "$RDMAEMU" fabric start
start "$CAP"
PAIR_SERVER="$T/sys_noptrace" PAIR_CLIENT="$T/sys_noptrace"
check "programs in a filter" pair_run ibv_rc_pingpong -c -s 100000 -n 20
PAIR_SERVER='' PAIR_CLIENT=''
n=$(status_json | json "d['devices'][0]['ports'][0]['counters']['xmit_packets']")
stop >/dev/null
is "all is there" "$(look "$CAP" 'count()')" "$n"
fresh --isolated
start "$CAP"
PAIR_SERVER="unshare -pf --kill-child" PAIR_CLIENT="unshare -pf --kill-child"
if is_root && unshare -pf true 2>/dev/null; then
	RUN_FLAGS=--isolated check "isolated programs in PID namespaces" pair_run ibv_rc_pingpong -c -s 100000 -n 20
fi
PAIR_SERVER='' PAIR_CLIENT=''
n=$(status_json | json "d['devices'][0]['ports'][0]['counters']['xmit_packets']")
stop >/dev/null
is "all is there, too" "$(look "$CAP" 'count()')" "$n"

# Its end by force.
fresh
start "$CAP"
pair_run ib_send_bw -D 3 -s 4096 -m 1024 >"$TEST_DIR/bw.out" 2>&1 &
pair=$!
written() {
	[ "$(stat -c %s "$CAP")" -gt 1000000 ]
}
wait_for 30 written
kill -9 "$(status_json | json "d['pid']")"
wait $pair
is "the fabric process is killed: what was written can be read" \
	"$(look "$CAP" 'count() > 100' && tshark -r "$CAP" -c 100 2>/dev/null | wc -l)" "True
100"
done_testing
