#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# settings: one: how programs are started
# Memcheck, Helgrind and DRD find no error and no leak of ours, without a file of suppressions: two threads post and
# poll the same queues, and rdma_cm programs talk. They still find the program's own mistakes.
. "$(dirname "$0")/../../lib/lib.sh"
need_valgrind
need gcc
cd "$TEST_DIR" || exit 1
gcc -O1 -g -o san "$TOP/tests/e2e/run/sanitized.c" -libverbs -lpthread || skip_all "no headers of libibverbs"

# grind NAME STATUS TOOL ARGS... - san under that tool: its exit status is 9 if it finds an error
grind() {
	local name=$1 want=$2 tool=$3 status=0
	shift 3
	limit "$RDMAEMU" run -- valgrind -q --error-exitcode=9 --tool="$tool" "$@" >out 2>&1 </dev/null || status=$?
	if [ $status = "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "status $status, wanted $want" "$(head -n 60 out)"
	fi
}

limit "$RDMAEMU" fabric start >/dev/null
grind "memcheck finds the program's leak" 9 memcheck --leak-check=full ./san leak
is "and nothing else" "$(grep -E 'lost in loss|uninitialised|Invalid' out | sed 's/^==[0-9]*== //; s/ in loss.*//')" \
	"77 bytes in 1 blocks are definitely lost"
for tool in helgrind drd; do
	grind "$tool, also after a fork" 0 $tool ./san fork
done
cat >race.c <<'END'
#include <pthread.h>
static int n;
static void *add(void *arg) { for (int i = 0; i < 1000; i++) n++; return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0); return 0; }
END
gcc -g -o race race.c -lpthread && grind "helgrind finds the program's race" 9 helgrind ./race

# rdma_cm: the library's threads, events and connections.
for tool in helgrind; do
	port=$(free_port)
	limit "$RDMAEMU" run -- valgrind -q --error-exitcode=9 --tool=$tool ucmatose -c 1 -C 2 -p "$port" >server 2>&1 </dev/null &
	pid=$!
	wait_for 20 sh -c "'$RDMAEMU' status --json | grep -q ':$port'"
	limit "$RDMAEMU" run -- valgrind -q --error-exitcode=9 --tool=$tool ucmatose -c 1 -C 2 -p "$port" -s 127.0.0.1 >client 2>&1 </dev/null
	client=$?
	wait $pid
	is "ucmatose under $tool" "$?$client$(cat server client | grep '^==' | head -n 30)" 00
done
limit "$RDMAEMU" fabric stop >/dev/null
done_testing
