#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: how programs are started
# slow 40
# Memcheck's leak search reads a few megabytes of a program and of its child that a fork made, not all HCA memory that
# is mapped: also where the program ends by _exit, or by a signal.
. "$(dirname "$0")/../../lib/lib.sh"
need_valgrind
need gcc
cd "$TEST_DIR" || exit 1
cat >leak.c <<'END'
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct ibv_context *ctx = ibv_open_device(ibv_get_device_list(NULL)[0]);
	int status;

	if (argc != 2 || !ctx || !ibv_create_cq(ctx, 1000, NULL, NULL, 0))
		return 1;
	if (!fork())
		_exit(0);
	wait(&status);
	if (status || !malloc(77))
		return 1;
	if (!strcmp(argv[1], "abort"))
		abort();
	if (!strcmp(argv[1], "_exit"))
		_exit(0);
	return 0;
}
END
gcc -O0 -g -o leak leak.c -libverbs || skip_all "no headers of libibverbs"

# ends HOW STATUS - run the program to its end
ends() {
	local status=0
	limit "$RDMAEMU" run -- valgrind -v --leak-check=full --log-file="grind.$1.%p" ./leak "$1" || status=$?
	[ $status = "$2" ] && grep -q '77 bytes .* are definitely lost' grind."$1".*
}
check "it returns from main(), and the search finds its leak" ends return 0
check "it ends by _exit, and the search finds its leak" ends _exit 0
check "it ends by a signal, and the search finds its leak" ends abort 134

n=0
for f in grind.*; do
	n=$((n + 1)) how=${f#grind.} how=${how%.*}
	mib=$(($(sed -n 's/.*Checked \([0-9,]*\) bytes.*/\1/p' "$f" | tr -d ,) >> 20))
	# 12 MiB are the program's libraries, stacks and heap.
	is "process $n, $how: it reads less than 64 MiB" "$((mib < 64 ? 63 : mib))" 63
done
is "there were three programs with a child each" "$n" 6
done_testing
