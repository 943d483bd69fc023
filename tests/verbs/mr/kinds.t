#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Kinds of memory: null, on demand, mapped from files, huge, re-registered, dma-bufs.
. "$(dirname "$0")/../../lib/lib.sh"
for side in $SIDES; do
	app app_mr_kinds $side
	app app_mr_rereg $side
	app app_mr_empty $side
	app app_mr_dmabuf $side
done
RUN_BY="$T/sys_noptrace" app app_mr_kinds remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_mr_kinds remote
app app_mr_rereg remote
app app_mr_dmabuf remote
RUN_FLAGS='--profile connectx6 --fabric connectx6' in_one app app_mr_empty local
RUN_FLAGS='--profile rxe --fabric rxe' in_one app app_mr_empty local refused
RUN_FLAGS='--profile rxe --fabric rxe' in_one app app_mr_dmabuf local none
done_testing
