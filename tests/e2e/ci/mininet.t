#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 15
# settings: one: hosts of its own
# examples/mininet-roce.py: two hosts of Mininet write to each other by RoCE v2, over the links of its topology.
. "$(dirname "$0")/../../lib/lib.sh"
is_root || skip_all "Mininet is root's"
need mn brctl ip ib_write_bw
/usr/bin/python3 -c 'import mininet.net' 2>/dev/null || skip_all "Mininet's Python module is not installed"
own_netns "$@"
ip link set lo up && ip link add br0 type bridge 2>/dev/null || skip_all "no bridges here"
ip link add veth0 type veth peer name veth1 2>/dev/null || skip_all "no veth interfaces here"

# The words h1 and h2 of a command are the hosts' addresses. The client tries again until the server listens.
cat >"$TEST_DIR/client" <<'END'
tries=0
until sleep 0.2; rdmaemu run ib_write_bw -x 1 -F -n 100 "$1"; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || exit 1
done
END
cat >"$TEST_DIR/script" <<END
h1 rdmaemu run ib_write_bw -x 1 -F -n 100 >$TEST_DIR/server.out 2>&1 &
h2 sh $TEST_DIR/client h1 >$TEST_DIR/client.out 2>&1
h2 rdmaemu status --json >$TEST_DIR/status
END
mininet() {
	env -u RDMAEMU_DIR PATH="$(dirname "$RDMAEMU"):$PATH" timeout -k 5 "$LIMIT" \
		/usr/bin/python3 "$TOP/examples/mininet-roce.py" "$TEST_DIR/script" </dev/null
}
check "two hosts of Mininet" mininet
written() {
	grep -E '^ *65536 +100 ' "$TEST_DIR/client.out" || { cat "$TEST_DIR"/*.out; return 1; }
}
check "one writes to the other" written
# 100 messages of 65,536 bytes, in packets of 1,024
by_wire() {
	json "[w for w in d['wires'] if w['address'] == '10.0.0.2' and w['sent'] >= 6400][0]" <"$TEST_DIR/status"
}
check "by RoCE v2, over the links" by_wire
done_testing
