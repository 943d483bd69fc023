#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: requests to one fabric process
# The fabric process takes the text of a scenario from a file in memory only: reading from another one may wait.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
trap '"$R" fabric stop >/dev/null 2>&1' EXIT
check "a fabric" "$R" fabric start
cd "$TOP" || exit
# ret FILE - what the request to add the rules in FILE answers; without FILE, of rules in memory
ret() {
	python3 - "$RDMAEMU_DIR/default.sock" "$1" <<'END2'
import array, os, re, socket, struct, sys
names = re.search(r"enum proto_op \{(.*?)\n\};", re.sub(r"/\*.*?\*/", "", open("fabric/proto/proto.h").read(), flags=re.S), re.S)
version = re.search(r"PROTO_VERSION (\d+)u", open("fabric/proto/version.h").read())
op = re.findall(r"PROTO_(\w+)", names.group(1)).index("FAULT_ADD") + 1
if sys.argv[2]:
    fd = os.open(sys.argv[2], os.O_RDWR | os.O_NONBLOCK)
else:
    fd = os.memfd_create("rules")
    os.write(fd, b"drop node=node0\n")
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
m = struct.pack("<IIiI", 0x4f540000 | int(version.group(1)), op, 0, 0).ljust(1024, b"\0")
s.sendmsg([m], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
print(struct.unpack_from("<IIiI", s.recv(65536))[2])
END2
}
is "one in memory" "$(ret '')" 0
mkfifo "$TEST_DIR/fifo"
is "a FIFO" "$(ret "$TEST_DIR/fifo")" -22
is "a file that a file system makes when it is read" "$(ret /proc/self/comm)" -22
done_testing
