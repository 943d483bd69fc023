#!/bin/bash
# SPDX-License-Identifier: MIT
# Two unmodified programs of Debian's perftest, a server and a client, through the emulator.
set -eu
cd "$(dirname "$0")/.."
. tests/lib/lib.sh

dir=$(mktemp -d "${TMPDIR:-/tmp}/rdmaemu-demo.XXXXXX")
export RDMAEMU_DIR=$dir
server=
cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	"$RDMAEMU" fabric stop >/dev/null 2>&1 || :
	rm -rf "$dir"
}
trap cleanup EXIT

port=$(free_port)
echo "\$ rdmaemu run ib_send_bw -p $port &"
"$RDMAEMU" run ib_send_bw -p "$port" >"$dir/server.out" 2>&1 &
server=$!
wait_listen "$port" "$server"
echo "\$ rdmaemu run ib_send_bw -p $port 127.0.0.1"
"$RDMAEMU" run ib_send_bw -p "$port" 127.0.0.1
status=0
wait "$server" || status=$?
server=
echo
echo "The server printed:"
cat "$dir/server.out"
exit $status
