#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Lent memory: what a program finds in its memory, and whose it is. Without the switch nothing is lent, and the program
# finds the same.
. "$(dirname "$0")/../../lib/lib.sh"
for side in $SIDES; do
	RDMAEMU_LEND=1 app app_mr_lent $side lent "$(threads_lend)"
	RDMAEMU_LEND=0 app app_mr_lent $side kept
	RDMAEMU_LEND=auto app app_mr_lent_auto $side "$(threads_lend)"
	RDMAEMU_LEND=1 app app_mr_lent_threads $side "$(threads_lend)"
	RDMAEMU_LEND=auto app app_mr_lent_threads $side "$(threads_lend | sed s/lent/auto/)"
	RDMAEMU_LEND=0 app app_mr_lent_threads $side kept
	RDMAEMU_LEND=1 app app_mr_lent_copy $side
	RDMAEMU_LEND=1 app app_mr_lent_wait $side "$(threads_lend)"
	RDMAEMU_LEND=1 app app_mr_lent_signals $side "$(threads_lend)"
	RDMAEMU_LEND=0 app app_mr_lent_signals $side kept
	RDMAEMU_LEND=1 app app_mr_lent_cache $side lent
	RDMAEMU_LEND=0 app app_mr_lent_cache $side kept
done
export RDMAEMU_LEND=1
RUN_BY="$T/sys_noptrace" in_one app app_mr_lent remote lent "$(threads_lend)"
RUN_BY="$T/sys_noquery" in_one app app_mr_lent_cache local lent
[ "$SETTING" = one ] || done_testing
# There the fabric process maps the memory of all, and they do not map each other's.
for side in $SIDES; do
	RUN_FLAGS='--isolated --fabric isolated' app app_mr_lent $side lent "$(threads_lend)"
	RUN_FLAGS='--isolated --fabric isolated' app app_mr_lent_copy $side
	RUN_FLAGS='--isolated --fabric isolated' app app_mr_lent_cache $side lent
done
RUN_FLAGS='--isolated --fabric isolated' app app_mr_lent_threads remote "$(threads_lend)"
# Where memory is lent, no program copies by system calls. The fabric process is outside of the filter.
"$RDMAEMU" fabric stop >/dev/null 2>&1
check "a fabric" "$RDMAEMU" fabric start
RUN_BY="$T/sys_noptrace -k" app app_mr_lent_copy remote
done_testing
