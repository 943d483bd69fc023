#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a socket of its own
# A fabric and a command of different versions name both, and what to do, in one line.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ibv_devinfo
TEXT="it is rdmaemu 9.8.7 (protocol 77), this is [0-9.]* (protocol [0-9]*): use the same version, or end it with 'kill [0-9]*'"

mkdir -p -m 700 "$RDMAEMU_DIR"
# A fabric of another version: it answers each request with a header and its release.
python3 - "$RDMAEMU_DIR/other.sock" <<'PY' &
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
while True:
    c = s.accept()[0]
    c.recv(65536)
    c.send(struct.pack("<IIiI32s", 0x4f540000 | 77, 0, -93, 0, b"9.8.7"))
    c.close()
PY
server=$!
wait_for 30 test -S "$RDMAEMU_DIR/other.sock"
for verb in 'status AT' 'log AT' 'fabric start AT' 'run AT -- true' 'fault list AT' 'fabric stop AT'; do
	# shellcheck disable=SC2086
	limit "$RDMAEMU" ${verb/AT/--fabric other} >"$TEST_DIR/out" 2>&1
	is "$verb" "$(($? != 0)) $(wc -l <"$TEST_DIR/out") $(grep -c "^rdmaemu: fabric other: $TEXT\$" "$TEST_DIR/out")" "1 1 1"
done
if [ "${SAN_RDMAEMU-}" ]; then
	skip "a program" "a sanitizer's runtime would come before the library"
else
	RDMAEMU_SOCKET=$RDMAEMU_DIR/other.sock LD_PRELOAD=$BUILD/lib/librdmaemu.so limit ibv_devinfo >"$TEST_DIR/out" 2>&1
	is "a program, whose library prints one line" \
		"$(grep -c "^rdmaemu: the fabric (.*) is of another version than this library" "$TEST_DIR/out")" 1
fi
kill $server

# A command of another version, here with a message of one word: the fabric answers with its own release.
"$RDMAEMU" fabric start
is "a fabric answers a program of another version" "$(python3 - "$RDMAEMU_DIR/default.sock" <<'PY'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(struct.pack("<IIiI", 0x4f540000 | 77, 5, 0, 0))
magic, op, ret, flags, release = struct.unpack("<IIiI32s", s.recv(65536))
print(magic >> 16 == 0x4f54, op, ret, release.rstrip(b"\0").decode())
print(s.recv(65536))
PY
)" "True 5 -93 $("$RDMAEMU" --version | awk '{ print $NF }')
b''"
"$RDMAEMU" fabric stop
done_testing
