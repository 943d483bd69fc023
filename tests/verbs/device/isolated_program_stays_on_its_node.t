#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: nodes of one isolated fabric
# A program of an isolated fabric cannot claim to be on another node than that of its `rdmaemu run`, nor can what it
# starts; with --control it can, and so can processes that control the fabric. A program that connects to the socket of
# a node is on that node.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=claims
trap '"$R" fabric stop >/dev/null 2>&1; "$R" fabric stop --fabric direct >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated
"$R" run --node a -- true
daemon=$("$R" status --json | json 'd["pid"]')
A=$RDMAEMU_DIR/claims.programs/a/sock
C=$RDMAEMU_DIR/claims.programs/c/sock

refused='HELLO -1 LEASE -1 NLDEV -1 DEV -1 orphan -1'
good='HELLO 0 LEASE 0 NLDEV 0 DEV 0 orphan -1'
# claims NAME WANTED NODE RUN COMMAND... - what is answered to a program that claims to be on NODE, with the flags RUN
claims() {
	local name=$1 wanted=$2 node=$3 run=$4
	shift 4
	# shellcheck disable=SC2086
	is "$name" "$(limit "$R" run $run -- "$@" "$T/app_device_claims" "$node" "$daemon" 2>&1 | xargs)" "$wanted"
}
claims 'its own node' "$good" c '--node c'
claims 'another node' "$refused" a '--node c'
claims 'the host' "$refused" '' '--node c'
claims 'a new node' "$refused" new '--node c'
claims 'a program of the host: a node' "$refused" a ''
claims 'a program of the host: the host' "$good" node0 ''
is 'no node was made' "$("$R" status --json | json '[n["name"] for n in d["nodes"] if n["name"] == "new"]')" '[]'
claims 'a child with a session of its own' "$refused" a '--node c' setsid -w env
claims 'by the socket for control' "$refused" a '--node c' env RDMAEMU_SOCKET="$RDMAEMU_DIR/claims.sock"
claims 'by the socket for control: its own node' "$good" c '--node c' env RDMAEMU_SOCKET="$RDMAEMU_DIR/claims.sock"
claims "by the other node's socket" "$refused" a '--node c' env RDMAEMU_SOCKET="$A"
claims "by the other node's socket: its own node" "$refused" c '--node c' env RDMAEMU_SOCKET="$A"
claims 'with --control' 'HELLO 0 LEASE 0 NLDEV 0 DEV 0 orphan -1' a '--node c --control'
claims 'a run inside a run: another node' "rdmaemu: fabric claims is isolated, and its programs stay on their node: run \
this outside of them, or start the program with --control" a '--node c' "$R" run --node a --
claims 'a run inside a run: its own node' "$good" c '--node c' "$R" run --

# Outside of programs, the socket says which node it is.
outside() {
	is "$1" "$(RDMAEMU_SOCKET=$3 limit "$T/app_device_claims" "$4" "$daemon" 2>&1 | xargs)" "$2"
}
outside "outside of programs: the node of the socket" "$good" "$C" c
outside "outside of programs: another node" "$refused" "$C" a
noted() {
	"$R" log | grep "process [0-9]* claims to be on node 'a', where it does not belong"
}
check "the log names a program that lies" noted

check "the fabric stops" "$R" fabric stop
check "the directory of the sockets has gone" test ! -e "$RDMAEMU_DIR/claims.programs"

# Processes outside of the fabric process's PID namespace, which it cannot see: the socket says where they belong.
inside() {
	local end
	# shellcheck disable=SC2016
	unshare -Urpf --mount-proc --kill-child sh -c '"$0" fabric start --isolated && "$0" run --node a -- true &&
		"$0" run --node c -- true && echo started && read -r end' "$R" <"$TEST_DIR/end" >"$TEST_DIR/inside" 2>&1
}
if unshare -Urpf --mount-proc true 2>/dev/null; then
	mkfifo "$TEST_DIR/end"
	exec 9<>"$TEST_DIR/end"
	inside &
	unseen=$!
	check "a fabric in a PID namespace" wait_for 60 grep -q started "$TEST_DIR/inside"
	daemon=0
	outside "unseen: the node of the socket" "${good/orphan -1/orphan 0}" "$C" c
	outside "unseen: another node" "$refused" "$C" a
	outside "unseen, by the socket for control" "$refused" "$RDMAEMU_DIR/claims.sock" node0
	echo >&9
	wait $unseen
else
	skip "a fabric in a PID namespace" "no PID namespaces"
fi
rm -rf "$RDMAEMU_DIR"

export RDMAEMU_FABRIC=direct
"$R" run --linger 60000 -- true
daemon=$("$R" status --json | json 'd["pid"]')
claims "direct: another node" "${good/orphan -1/orphan 0}" a '--node c'
done_testing
