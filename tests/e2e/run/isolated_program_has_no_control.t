#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# A program of an isolated fabric cannot control the fabric, nor can what it starts; --control gives it the right.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
export RDMAEMU_FABRIC=apart
trap '"$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated --clock manual
"$R" run --node a -- true

# refused NAME RUN COMMAND... - COMMAND, under `rdmaemu run` with the flags RUN, is refused
refused() {
	local name=$1 run=$2 out status=0
	shift 2
	# shellcheck disable=SC2086
	out=$(limit "$R" run --node c $run -- "$@" 2>&1 </dev/null) || status=$?
	if [ $status != 0 ] && [[ $out == *"its programs may not control it"* ]]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $out"
	fi
}
refused 'a capture' '' "$R" capture start --node a "$TEST_DIR/stolen.pcapng"
check 'and none is made' test ! -e "$TEST_DIR/stolen.pcapng"
refused 'a fault rule' '' "$R" fault add 'drop node=a'
refused 'the list of rules' '' "$R" fault list
refused 'a port' '' "$R" port down --node a
refused 'the clock' '' "$R" clock advance 1s
refused 'the journal' '' "$R" log
refused 'the status' '' "$R" status
refused 'an end of the fabric' '' "$R" fabric stop
refused 'more rights for another run' '' "$R" run --control -- true
refused 'a child of the program' '' sh -c '"$0" status; exit $?' "$R"
refused 'a child with an environment and a session of its own' '' \
	env -i setsid -w "$R" status --fabric apart --dir "$RDMAEMU_DIR"
refused 'a program whose run stays as its parent' --explain sh -c '"$0" status; exit $?' "$R"
check 'a run inside a run works' limit "$R" run --node c -- "$R" run -- true
check 'a run with rules reports' limit "$R" run --node c --explain -- true

# The socket that programs get answers requests of control with EACCES, whoever sends them.
ops() {
	python3 - "$1" <<'END'
import re, socket, struct, sys
names = re.search(r"enum proto_op \{(.*?)\n\};", re.sub(r"/\*.*?\*/", "", open("fabric/proto/proto.h").read(), flags=re.S), re.S)
version = re.search(r"PROTO_VERSION (\d+)u", open("fabric/proto/version.h").read())
ops = {n: i for i, n in enumerate(re.findall(r"PROTO_(\w+)", names.group(1)), 1)}
bad = []
for name in ("STATUS LOG STOP PORT FAULT_ADD FAULT_REMOVE FAULT_CLEAR FAULT_NEXT FAULT_LIST JOURNAL CLOCK "
             "CAPTURE_START CAPTURE_STOP CAPTURE_LIST INJECT INJECT_FRAME INJECT_SETTLED").split():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.send(struct.pack("<IIiI", 0x4f540000 | int(version.group(1)), ops[name], 0, 0).ljust(1024, b"\0"))
    ret = struct.unpack_from("<IIiI", s.recv(65536))[2]
    if ret != -13:
        bad.append(f"{name}: {ret}")
sys.exit("\n".join(bad) or 0)
END
}
given=$(limit "$R" run --node c -- sh -c 'echo "$RDMAEMU_SOCKET"')
is 'programs get a socket of their own' "$given" "$RDMAEMU_DIR/apart.programs/c/sock"
cd "$TOP" || exit
check 'which serves no control' ops "$given"
check 'the fabric goes on' "$R" status

# allowed NAME COMMAND... - with --control
allowed() {
	local name=$1
	shift
	check "$name" limit "$R" run --control --node c -- "$@"
}
allowed '--control: a rule' "$R" fault add 'drop node=a'
allowed '--control: a child of the program' sh -c '"$0" status && :' "$R"
allowed '--control: a capture' "$R" capture start --node a "$TEST_DIR/own.pcapng"
check 'outside of programs: a capture' "$R" capture stop
check 'and the end' "$R" fabric stop
check 'the directory of the socket has gone' test ! -e "$RDMAEMU_DIR/apart.programs"

check 'programs of a direct fabric control it' limit "$R" run --fabric direct -- "$R" status --fabric direct
done_testing
