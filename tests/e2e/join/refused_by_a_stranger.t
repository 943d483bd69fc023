#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# Somebody listens at the address to join and refuses, without having proved anything: the start fails, and its line
# does not take it for the fabric that was meant.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3

trap 'on_a fabric stop >/dev/null 2>&1; kill $stranger 2>/dev/null' EXIT
port=$(free_port)
python3 - "$port" "$TOP/tests/lib/py" <<'END' &
import random, socket, sys
sys.path.insert(0, sys.argv[2])
from join_peer import REFUSE, header
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    text = b"your disk is on fire\x1b[31m\n"
    c.sendall(header(REFUSE, 5, text) + text)
    c.recv(1000)
    c.close()
END
stranger=$!
check "a stranger listens" wait_listen "$port" $stranger
echo secret >"$TEST_DIR/token"
on_a fabric start --join 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token" >"$TEST_DIR/out" 2>&1
is "the start fails" $? 1
is "its line says who refuses" "$(sed 's/.*cannot start: //' "$TEST_DIR/out")" \
	"join 127.0.0.1:$port: somebody there refuses: your disk is on fire?[31m?"
done_testing
