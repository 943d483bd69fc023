#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: fabrics of its own
# A fabric that was killed leaves files until any fabric of the user starts; a living one keeps its own.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo ibv_asyncwatch
dead=dead$$ living=living$$ next=next$$
fresh=fresh$$.fresh-1
mkdir -m 700 "$TEST_DIR/one" "$TEST_DIR/two"

# files NAME - those of a fabric, in its state directory and where trees of directories on disks are
files() {
	find "$TEST_DIR/one" "$TEST_DIR/two" "/dev/shm/rdmaemu-$UID" \
		-name journals -prune -o -name "*$1.*" -prune -print 2>/dev/null
}

# fabric NAME DIRECTORY COMMAND...
fabric() {
	local name=$1 dir=$2
	shift 2
	limit "$RDMAEMU" "$@" --fabric "$name" --dir "$TEST_DIR/$dir"
}

# fabric_kill NAME DIRECTORY - kill -9
fabric_kill() {
	local pid
	pid=$(fabric "$1" "$2" status --json | json 'd["pid"]')
	kill -9 "$pid"
	wait_for 30 eval "! kill -0 $pid"
}

# has NAME SUFFIX - whether there is such a file of a fabric
has() {
	files "$1" | grep -q "$1\.$2\$"
}

check "a fabric starts" fabric $dead one fabric start
check "one of a fresh run, too" fabric $fresh one fabric start
check "and one that lives on" fabric $living one fabric start
is "a fabric has a tree, and says that it lives" "$(files $dead | grep -c '\.\(sysfs\|alive\)$')" 2
fabric_kill $dead one
fabric_kill $fresh one
echo "what it said" >>"$TEST_DIR/one/$dead.log"
echo "what it said" >>"$TEST_DIR/one/$fresh.log"

# In another state directory: what is in this one is not known there. (A fabric of another test may be faster.)
check "a fabric of another directory starts" fabric $next two fabric start
if [ "$(stat -f -c %T "$TEST_DIR")" = tmpfs ]; then
	skip "the tree of a directory on a disk is gone" "this directory is in memory"
else
	is "the tree of the dead one is gone" "$(files $dead | grep -c '\.\(sysfs\|alive\)$')" 0
fi
check "the tree of the living one is there" has $living sysfs
fabric $next two fabric stop

check "a fabric of the same directory starts" fabric $next one fabric start
is "the dead one has left its log, which says something" "$(files $dead)" "$TEST_DIR/one/$dead.log"
is "nothing of the fresh run is left" "$(files $fresh)" ""
check "the living one has its socket" has $living sock
check "and a device" limit "$RDMAEMU" run --fabric $living --dir "$TEST_DIR/one" -- ibv_devinfo
fabric $next one fabric stop
fabric $living one fabric stop
is "who is stopped leaves nothing" "$(files $next)$(files $living)" ""

# A state directory that is removed while a fabric lives there.
fabric $living two fabric start
pid=$(fabric $living two status --json | json 'd["pid"]')
"$RDMAEMU" run --fabric $living --dir "$TEST_DIR/two" -- ibv_asyncwatch >"$TEST_DIR/program" 2>&1 </dev/null &
job=$!
wait_for 30 test -s "$TEST_DIR/program"
rm -rf "$TEST_DIR/two"
mkdir -m 700 "$TEST_DIR/two"
is "nobody finds the fabric" "$(fabric $living two status 2>&1)" "rdmaemu: fabric $living is not running"
is "it serves its program" "$(kill -0 "$pid" && echo yes)" yes
kill $job
wait $job 2>/dev/null
check "and leaves with it" wait_for 30 eval "! kill -0 $pid"
check "another one of that name starts" fabric $living two fabric start
fabric $living two fabric stop
is "nothing of either is left" "$(files $living)" ""

# A start that fails: here for lack of space, at a file in the middle of the tree.
"$T/sys_fail" create 28 200 "$TEST_DIR/count" "$RDMAEMU" fabric start --fabric $next --dir "$TEST_DIR/one" \
	2>"$TEST_DIR/err"
status=$?
if [ $status = 77 ]; then
	skip "a start without space fails" "the kernel cannot let system calls fail"
else
	is "a start without space fails, in one line" "$status $(grep -c '^rdmaemu: .*: No space left on device$' "$TEST_DIR/err")" \
		"1 1"
	is "and leaves nothing" "$(files $next)" ""
fi
done_testing
