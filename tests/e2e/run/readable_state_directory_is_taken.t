#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: the state directory
# A state directory that others can read but not write to is taken: the state is in a private directory inside it.
. "$(dirname "$0")/../../lib/lib.sh"

uid=$(id -u)

# takes NAME MODE WHERE - a program runs with a directory of that mode, and WHERE in it has the state
takes() {
	local dir=$TEST_DIR/d$2
	mkdir -m "$2" "$dir"
	check "$1" limit "$RDMAEMU" run --dir "$dir" --linger 60000 ibv_devinfo -l
	check "$1: the socket is there" test -S "$dir/$3/default.sock"
	is "$1: it is private" "$(stat -c '%a %u' "$dir/$3")" "700 $uid"
	is "$1: the command finds it again" "$(limit "$RDMAEMU" fabric status --dir "$dir/" | grep -c running)" 1
	is "$1: and from the directory inside" "$(limit "$RDMAEMU" fabric status --dir "$dir/$3" | grep -c running)" 1
	limit "$RDMAEMU" fabric stop --dir "$dir" >/dev/null
}

takes "mode 0755" 0755 "rdmaemu-$uid"
takes "mode 0750" 0750 "rdmaemu-$uid"
takes "mode 1777, as /tmp" 1777 "rdmaemu-$uid"
takes "mode 0700" 0700 .

mkdir -m 0777 "$TEST_DIR/open"
rdmaemu_refuses run "others could put a socket into it" 125 "other users can write to it" --dir "$TEST_DIR/open" true
mkdir -m 0755 "$TEST_DIR/inner" && mkdir -m 0777 "$TEST_DIR/inner/rdmaemu-$uid"
rdmaemu_refuses run "or into the directory inside" 125 "rdmaemu-$uid: other users can write to it" \
	--dir "$TEST_DIR/inner" true
mkdir -m 0755 "$TEST_DIR/link" && ln -s "$TEST_DIR" "$TEST_DIR/link/rdmaemu-$uid"
rdmaemu_refuses run "no symlink stands for it" 125 "not a directory" --dir "$TEST_DIR/link" true
done_testing
