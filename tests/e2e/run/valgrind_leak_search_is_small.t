#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: how programs are started
# slow 20
# Memcheck's leak search reads a few megabytes of a program and of its child that a fork made, not all HCA memory that
# is mapped, and takes less than 2 seconds.
. "$(dirname "$0")/../../lib/lib.sh"
need_valgrind
need gcc
cd "$TEST_DIR" || exit 1
cat >leak.c <<'END'
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	struct ibv_context *ctx = ibv_open_device(ibv_get_device_list(NULL)[0]);
	int status;

	if (!ctx || !ibv_create_cq(ctx, 1000, NULL, NULL, 0))
		return 1;
	if (!fork())
		_exit(0);
	wait(&status);
	return status || !malloc(77);
}
END
gcc -O0 -g -o leak leak.c -libverbs || skip_all "no headers of libibverbs"
check "it runs" limit "$RDMAEMU" run -- valgrind -v --time-stamp=yes --leak-check=full --log-file=grind.%p ./leak
is "the search finds the program's leak" "$(grep -l '77 bytes .* are definitely lost' grind.* | wc -l)" 1

# seconds_between FILE - from the search's begin to its end; time stamps are days:hours:minutes:seconds
seconds_between() {
	awk -F'[=: ]+' '/Searching for pointers/ { from = ($3 * 60 + $4) * 60 + $5 }
		/Checked .* bytes/ { print ($3 * 60 + $4) * 60 + $5 - from }' "$1"
}

n=0
for f in grind.*; do
	n=$((n + 1))
	mib=$(($(sed -n 's/.*Checked \([0-9,]*\) bytes.*/\1/p' "$f" | tr -d ,) >> 20))
	took=$(seconds_between "$f")
	# 12 MiB are the program's libraries, stacks and heap.
	is "process $n: it reads less than 64 MiB" "$((mib < 64 ? 63 : mib))" 63
	is "process $n: it takes less than 2 s" "$(awk -v s="$took" -v n="$PATIENCE" 'BEGIN { print s < 2 * n ? "less" : s }')" less
done
is "there were two processes" "$n" 2
done_testing
