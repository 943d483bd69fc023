#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what captures write does not depend on where the programs are
# Captures whose disk is full: the messages, and counts that match the packets in the file.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ibv_rc_pingpong unshare mount

# In a mount namespace of its own: nothing stays mounted.
if [ -z "${CAPTURE_FULL:-}" ]; then
	own=(unshare -m)
	is_root || own=(unshare -rm)
	"${own[@]}" mount -t tmpfs none /mnt 2>/dev/null || skip_all "no file system can be mounted"
	CAPTURE_FULL=1 exec "${own[@]}" "$0"
fi

DISK=$TEST_DIR/disk
CAP=$DISK/cap.pcapng
mkdir -p "$DISK"

# look FILE EXPR... - by tests/lib/py/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/lib/py/capture_check.py" "$@"
}

# disk SIZE - an empty file system of that size, and a new fabric
disk() {
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	umount "$DISK" 2>/dev/null
	mount -t tmpfs -o "size=$1" none "$DISK"
	limit "$RDMAEMU" fabric start
}

# failed - the only capture has failed
failed() {
	[ "$(limit "$RDMAEMU" capture list --json | json "d[0]['state']")" = failed ]
}

# listed KEY - of the only capture
listed() {
	limit "$RDMAEMU" capture list --json | json "d[0]['$1']"
}

# --- counts ---
disk 100k
limit "$RDMAEMU" capture start "$CAP" >/dev/null
check "traffic for a disk that is too small" pair_run ibv_rc_pingpong -n 300 -s 1024
check "the capture fails" wait_for 20 failed
n=$(look "$CAP" 'count()')
is "the file is whole" "$(look "$CAP" 'cut')" 0
is "list: packets and bytes are what the file has" "$(listed packets) $(listed bytes)" "$n $(stat -c %s "$CAP")"
is "log: likewise" "$(limit "$RDMAEMU" log | grep -c "cap.pcapng: No space left on device: it has ended, after $n packets$")" 1
is "stop: likewise" "$(limit "$RDMAEMU" capture stop 2>&1 | sort)" \
	"$(printf '%s\n' "$CAP: $n packets, $(stat -c %s "$CAP") bytes" \
		"rdmaemu: capture: $CAP: No space left on device, after $n packets" | sort)"
rm "$CAP"
limit "$RDMAEMU" capture start "$CAP" >/dev/null
out=$(limit "$RDMAEMU" capture stop)
is "what stands at the file's end counts" "$out" "$CAP: 0 packets, $(stat -c %s "$CAP") bytes"
limit "$RDMAEMU" capture start - >"$CAP"
out=$(limit "$RDMAEMU" capture stop)
is "of standard output as well" "$out" "-: 0 packets, $(stat -c %s "$CAP") bytes"

disk 100k
printf 'precious' >"$CAP"
limit "$RDMAEMU" capture start - >>"$CAP"
check "traffic behind what is there" pair_run ibv_rc_pingpong -n 300 -s 1024
check "that capture fails" wait_for 20 failed
is "what stood before it stays, and all that was told" "$(head -c 8 "$CAP") $(($(stat -c %s "$CAP") - 8))" \
	"precious $(listed bytes)"

# A disk that has no room at all.
disk 100k
mkdir "$DISK/empty"
head -c 100k /dev/zero >"$DISK/full" 2>/dev/null
for flags in '' '--ring-size 16K'; do
	ST=0
	# shellcheck disable=SC2086
	out=$(limit "$RDMAEMU" capture start $flags "$DISK/empty/new" 2>&1) || ST=$?
	is "a full disk${flags:+, for a ring}: refused" "$(grep -c 'No space left on device$' <<<"$out") $ST" "1 1"
	is "and leaves no file" "$(ls "$DISK/empty")" ""
done
rm "$DISK/full"

# --- rdmaemu run --capture ---
# run STATUS ARGS... - a run with traffic, which ends with that status; rdmaemu's messages are in SAID, its status in ST
run() {
	local status=$1 port
	shift
	port=$(free_port)
	ST=0
	SAID=$(limit "$RDMAEMU" run "$@" -- bash -c "ibv_rc_pingpong -n 300 -s 1024 -p $port >/dev/null &
		for i in {1..500}; do ibv_rc_pingpong -n 300 -s 1024 -p $port 127.0.0.1 >/dev/null 2>&1 && break
		sleep 0.1; done; wait; $MORE exit $status" 2>&1 >/dev/null) || ST=$?
}
MORE=''

disk 100k
run 0 --capture "$CAP"
is "run: a disk that is full is told" "$SAID" \
	"rdmaemu: capture: $CAP: No space left on device, after $(look "$CAP" 'count()') packets"
is "run: and is its status" $ST 125
run 7 --capture "$CAP"
is "run: a program that fails keeps its status" "$(grep -c "^rdmaemu: capture: $CAP: No space" <<<"$SAID") $ST" "1 7"
MORE="'$RDMAEMU' capture stop >/dev/null 2>&1; '$RDMAEMU' capture stop 2>/dev/null && exit 99;"
run 0 --capture "$CAP"
is "run: likewise where somebody else has stopped it" "$SAID $ST" \
	"rdmaemu: capture: $CAP: No space left on device, after $(look "$CAP" 'count()') packets 125"
disk 10M
MORE="'$RDMAEMU' capture stop >/dev/null; [ -z \"\$('$RDMAEMU' capture list)\" ] || exit 99;"
run 0 --capture "$CAP"
is "run: a capture that was stopped by hand" "$SAID $ST" \
	"rdmaemu: capture: $CAP: 'rdmaemu capture stop' ended it before the program's end, after $(look "$CAP" 'count()') packets 0"
MORE="'$RDMAEMU' fabric stop; "
run 0 --capture "$CAP"
is "run: a fabric that was stopped" "$SAID $ST" \
	"rdmaemu: capture: $CAP: fabric default ended before the capture did: packets may be missing 125"
MORE=''
run 0 --capture "$CAP"
is "run: a capture that is whole" "$SAID $ST $(look "$CAP" 'count("RC SEND_ONLY") + count("RC SEND_LAST")')" " 0 600"

# A limit that the fabric has from its starter, above HCA memory's size.
limit "$RDMAEMU" fabric stop
truncate -s $((512 * 1024 ** 3 - 50000)) "$CAP"
ST=0
out=$(
	ulimit -f $((512 * 1024 ** 2))
	exec 3>&1
	port=$(free_port)
	limit "$RDMAEMU" run --capture - -- bash -c "ibv_rc_pingpong -n 300 -s 1024 -p $port >/dev/null 2>&1 &
		for i in {1..500}; do ibv_rc_pingpong -n 300 -s 1024 -p $port 127.0.0.1 >/dev/null 2>&1 && break
		sleep 0.1; done; wait" 2>&3 >>"$CAP"
) || ST=$?
is "run: a file that may not grow" "$(sed 's/after [0-9]* packets/after N packets/' <<<"$out") $ST" \
	"rdmaemu: capture: -: File too large, after N packets 125"
limit "$RDMAEMU" fabric stop
done_testing
