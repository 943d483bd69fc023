#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a program of one process
# Programs that ask libmlx5 because of a device's vendor id learn that it has none of libmlx5's features.
. "$(dirname "$0")/../../lib/lib.sh"
app app_device_mlx5dv
RUN_FLAGS='--profile connectx6 --fabric connectx6' app app_device_mlx5dv

if ! command -v cc >/dev/null; then
	skip "contexts that are not emulated" "needs a compiler"
	done_testing
fi
echo 'int mlx5dv_query_device(void) { return 77; }' >"$TEST_DIR/mlx5.c"
if cc -shared -fPIC -Wl,-soname,libmlx5.so.1 -o "$TEST_DIR/libmlx5.so.1" "$TEST_DIR/mlx5.c"; then
	LD_LIBRARY_PATH=$TEST_DIR app app_device_mlx5dv 77
else
	skip "contexts that are not emulated" "cannot compile"
fi
done_testing
