#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Random registrations, forks, threads, mremap(2), munmap(2) and more of lent memory, next to RDMA traffic into it.
. "$(dirname "$0")/../lib/lib.sh"
n=${TORTURE_N:-$(($(by_setting 1000 200) / SLOW))}
LIMIT=$((TEST_TIMEOUT > 60 ? TEST_TIMEOUT - 10 : TEST_TIMEOUT))
for side in $SIDES; do
	RDMAEMU_LEND=1 app app_mr_lent_torture $side "$n" ${TORTURE_SEED-}
done
RUN_BY="$T/sys_noptrace" RDMAEMU_LEND=1 in_one app app_mr_lent_torture remote $((n / 5)) ${TORTURE_SEED-}
RUN_FLAGS='--isolated --fabric isolated' in_one app app_mr_lent_torture remote $((n / 5)) ${TORTURE_SEED-}
done_testing
