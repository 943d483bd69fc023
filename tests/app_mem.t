#!/bin/bash
# SPDX-License-Identifier: MIT
# Kinds of memory: null, on demand, mapped from files, huge, re-registered, dma-bufs.
. "$(dirname "$0")/lib.sh"
app app_mem local
app app_mem remote
RUN_BY="$T/sys_noptrace" app app_mem remote
"$RDMAEMU" fabric stop >/dev/null 2>&1
RUN_FLAGS=--isolated app app_mem remote
done_testing
