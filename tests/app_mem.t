#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Kinds of memory: null, on demand, mapped from files, huge, re-registered, dma-bufs.
. "$(dirname "$0")/lib.sh"
for side in $SIDES; do
	app app_mem $side
	app app_rereg $side
	app app_dmabuf $side
done
RUN_BY="$T/sys_noptrace" app app_mem remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_mem remote
app app_rereg remote
app app_dmabuf remote
done_testing
