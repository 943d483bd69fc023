#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make demo`: builds rdmaemu in one line of output, then shows what it does. Two unmodified programs talk; a rule
# drops one of their packets, and the log says why; a recorded run is replayed. Each step prints its commands.
set -eu -o pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}

dir=$(mktemp -d "${TMPDIR:-/tmp}/rdmaemu-demo.XXXXXX")
export RDMAEMU_DIR=$dir/state
server=
cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	"$RDMAEMU" fabric stop >/dev/null 2>&1 || :
	rm -rf "$dir"
}

# --- build ------------------------------------------------------------------------------------------------

if ! tests/build.sh all "$BUILD/tests/sys_port"; then
	rm -rf "$dir"
	exit 1
fi
. tests/lib/lib.sh
trap cleanup EXIT
PATH=$(dirname "$RDMAEMU"):$PATH
cd "$dir"

# --- the story --------------------------------------------------------------------------------------------

if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[m'; else bold='' plain=''; fi

title() {
	printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

# run COMMAND... - print the command, run it, and print its output
run() {
	echo "\$ $*"
	limit "$@"
}

# talk COMMAND... - start the command as a server and, when it listens, again as its client, whose output is client.out
talk() {
	local port status=0
	port=$(free_port)
	echo "\$ $* -p $port &"
	limit "$@" -p "$port" >server.out 2>&1 &
	server=$!
	wait_listen "$port" "$server"
	echo "\$ $* -p $port 127.0.0.1"
	limit "$@" -p "$port" 127.0.0.1 >client.out 2>&1 || status=$?
	wait "$server" || status=$?
	server=
	[ $status = 0 ] || cat server.out client.out
	return $status
}

title "1. Two programs of the package perftest, which know nothing of rdmaemu, talk over RDMA."
talk rdmaemu run ib_send_bw -n 2000
grep -A 1 '#bytes' client.out

title "2. A rule drops the third packet of a pingpong. It takes longer, and the log says why."
run rdmaemu fabric start
run rdmaemu fault add drop opcode=SEND_ONLY nth=3
talk rdmaemu run ibv_rc_pingpong -s 512 -n 100
grep 'seconds' client.out | tail -n 1
run rdmaemu log --program ibv_rc_pingpong >log.out
cat log.out
grep -q 'rule' log.out
run rdmaemu fault list
run rdmaemu fabric stop

title "3. A run is recorded: the calls of both programs, and their results. The trace replays without them."
talk rdmaemu record -o trace ibv_rc_pingpong -s 512 -n 100
run rdmaemu trace stat trace | grep -E '^\$|^p|SEND|completions'
run rdmaemu replay trace

title "That is it. 'rdmaemu --help' lists the verbs; docs/guide/getting-started.md goes on from here."
