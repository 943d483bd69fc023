#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# A member that joins a hub learns of all its members at once, also of those that listen nowhere.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong

SIDES="b c d e"
on() {
	RDMAEMU_DIR=$TEST_DIR/$1 limit "$RDMAEMU" "${@:2}"
}
on_e() {
	on e "$@"
}
trap 'for side in $SIDES a; do on $side fabric stop >/dev/null 2>&1; done' EXIT
mkdir -p -m 700 "$TEST_DIR/d" "$TEST_DIR/e"
port=$(free_port)
check "the hub listens" on a fabric start --listen 127.0.0.1:$port --name alpha
for side in $SIDES; do
	check "member $side joins" on $side fabric start --join 127.0.0.1:$port --name member$side
	on $side run --node n$side -- true
done
for side in b c d; do
	check "the last one knows $side" wait_for 10 knows on_e n$side
done
NODE_A=(--node ne) NODE_B=(--node nb) SERVER_ON=on_e
check "and reaches the first one" across ibv_rc_pingpong -g $GID -n 100 -c
done_testing
