#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: without a fabric
# The shim's names and rates are those of the installed rdma-core.
. "$(dirname "$0")/../lib/lib.sh"

unset RDMAEMU_SYSFS
"$T/sys_shim_names" >"$TEST_DIR/real.out" || skip_all "libibverbs and librdmacm are not installed"
LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$SHIM" "$T/sys_shim_names" >"$TEST_DIR/shim.out"
is "the functions are there" $? 0
check "names and rates are the same" diff "$TEST_DIR/real.out" "$TEST_DIR/shim.out"
done_testing
