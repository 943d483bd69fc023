#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# A program of an isolated fabric that takes all connections, and says nothing, keeps no other program out.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
export RDMAEMU_FABRIC=silent
trap 'exec 9>&-; "$R" fabric stop >/dev/null 2>&1' EXIT
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 10000 ] || skip_all "too few descriptors"
check "an isolated fabric" "$R" fabric start --isolated

# It lives until this shell closes the pipe.
mkfifo "$TEST_DIR/end"
exec 9<>"$TEST_DIR/end"
"$R" run --node c -- python3 - "$TEST_DIR/ready" <<'END' 3<"$TEST_DIR/end" &
import os, resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for i in range(9000):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ["RDMAEMU_SOCKET"])
    held.append(s)
open(sys.argv[1], "w").close()
os.read(3, 1)
END
pid=$!
check "a program connects 9000 times" wait_for 60 test -e "$TEST_DIR/ready"
check "another one works" limit "$R" run --node b -- "$T/app_qp_stress" 2 10
check "and the fabric answers" limit "$R" status
echo >&9
wait $pid
is "the silent one ends" $? 0
done_testing
