#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: in the others fabrics are started by the test, as who it is
# An ordinary user can use everything, and no user reaches another's fabric.
. "$(dirname "$0")/../../lib/lib.sh"
is_root || skip_all "needs root to become another user"
need setpriv python3 ibv_rc_pingpong ib_write_bw

user=65534
as_user="setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=-all --bounding-set=-all"
chmod 711 "$TEST_DIR"
mkdir -m 700 "$TEST_DIR/user"
chown $user:$user "$TEST_DIR/user"
$as_user test -x "$RDMAEMU" -a -r "$SHIM" || skip_all "another user cannot reach $BUILD"

RDMAEMU_DIR=$TEST_DIR/user/state
export PAIR_SERVER=$as_user PAIR_CLIENT=$as_user
PAIR_NAME="ibv_devinfo" check "ibv_devinfo" limit $as_user "$RDMAEMU" run -- ibv_devinfo
pair ibv_rc_pingpong -c
pair ibv_rc_pingpong -c -s 1048576 -e -g 0
pair ib_write_bw -n 1000
pair ib_read_bw -n 1000

is "state directory is private" "$(stat -c '%a %u' "$RDMAEMU_DIR")" "700 $user"

# A fabric of another user: the socket admits its owner only, root not excepted.
limit $as_user "$RDMAEMU" fabric start >/dev/null 2>&1
if [ -S "$RDMAEMU_DIR/default.sock" ]; then
	other=$(limit setpriv --reuid=65533 --regid=65533 --clear-groups \
		env RDMAEMU_DIR="$RDMAEMU_DIR" "$RDMAEMU" run -- ibv_devices 2>&1)
	if grep -qE '[0-9a-f]{16}$' <<<"$other"; then
		not_ok "another user is not admitted" "$other"
	else
		ok "another user is not admitted"
	fi
fi
# Root may pass the directory. The answer, EACCES, comes before any request.
answer() {
	python3 - "$RDMAEMU_DIR/default.sock" <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(60)
s.connect(sys.argv[1])
print(struct.unpack_from("<IIi", s.recv(65536))[2])
END
}
is "nor is root" "$(answer 2>&1 | tail -n 1)" -13
limit $as_user "$RDMAEMU" fabric stop >/dev/null 2>&1
done_testing
