#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads the library
# The shim exports all symbols of the installed libraries, on the same version nodes, and few others.
. "$(dirname "$0")/../lib/lib.sh"
need nm readelf

# exports FILE - NAME@@NODE, NAME@NODE or NAME per line
exports() {
	nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort
}

# lib SONAME - the installed library's file
lib() {
	ldconfig -p 2>/dev/null | awk -v so="$1" '$1 == so { print $NF; exit }'
}

PATH=$PATH:/sbin:/usr/sbin
exports "$SHIM" >"$TEST_DIR/shim"

# Every public symbol. Not: the private ones, which vendor libraries share with the real
# libibverbs, and the aliases @IBVERBS_1.0 (and ibv_register_driver@IBVERBS_1.1) for programs of 2006.
for so in libibverbs.so.1 librdmacm.so.1 libefa.so.1; do
	file=$(lib $so)
	if [ -z "$file" ]; then
		skip "every public symbol of $so" "it is not installed"
		continue
	fi
	exports "$file" | grep '@@' | grep -v PRIVATE >"$TEST_DIR/$so"
	is "every public symbol of $so" \
		"$(LC_ALL=C comm -23 "$TEST_DIR/$so" "$TEST_DIR/shim")" ""
	is "$so has public symbols" "$(($(wc -l <"$TEST_DIR/$so") > 5))" 1
done

# The version script lists what it should, and the shim defines all of it on that node.
awk '/^(IBVERBS|RDMACM|MLX5|EFA)_/ { node = $1 } /^\t/ { sub(/;/, ""); print $1 "@@" node }' \
	"$TOP/libshim/exports.map" | LC_ALL=C sort >"$TEST_DIR/map"
is "every symbol of the version script" "$(LC_ALL=C comm -23 "$TEST_DIR/map" "$TEST_DIR/shim")" ""
is "no versioned symbol outside of it" \
	"$(grep @ "$TEST_DIR/shim" | LC_ALL=C comm -13 "$TEST_DIR/map" -)" ""
for node in IBVERBS_1.15 IBVERBS_1.16 IBVERBS_1.17 IBVERBS_1.18 RDMACM_1.4 RDMACM_1.5 EFA_1.3 EFA_1.7; do
	is "$node is there" "$(($(grep -c "@@$node$" "$TEST_DIR/shim") > 0))" 1
done

is "nothing private" "$(grep -E 'PRIVATE|^ibv_cmd_|^verbs_|^_verbs' "$TEST_DIR/shim")" ""

# Without a version: one private verb that applications use, what rdmaemu-replay, the dispatcher and the checker ask for
# by name, and libc's functions.
grep -v @ "$TEST_DIR/shim" >"$TEST_DIR/plain"
is "ibv_query_gid_type has no version" "$(grep -c '^ibv_query_gid_type$' "$TEST_DIR/plain")" 1
libc=$(lib libc.so.6)
if [ -n "$libc" ]; then
	nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }' |
		LC_ALL=C sort -u >"$TEST_DIR/libc"
	is "every other one is libc's" \
		"$(grep -vx -e ibv_query_gid_type -e rdmaemu_next_key -e rdmaemu_not_counted -e rdmaemu_stand_beside \
			-e rdmaemu_find_addr -e rdmaemu_qp_cache -e rdmaemu_has_alias "$TEST_DIR/plain" |
			LC_ALL=C comm -23 - "$TEST_DIR/libc")" ""
fi
for f in dlopen dlmopen open open64 openat openat64 __open_2 __open64_2 __openat_2 fopen fopen64 \
	opendir scandir scandir64 stat stat64 lstat lstat64 fstatat fstatat64 __xstat __xstat64 \
	__lxstat __lxstat64 __fxstatat __fxstatat64 statx access faccessat eaccess readlink \
	readlinkat __readlink_chk realpath __realpath_chk canonicalize_file_name glob glob64 \
	socket send sendto sendmsg recvfrom __recvfrom_chk recvmsg getsockname getpeername getsockopt setsockopt \
	clock_gettime read __read_chk readv pread pread64 preadv lseek lseek64 rewind fseek fseeko fsetpos \
	execve execv execvp execvpe execl execlp execle fexecve posix_spawn posix_spawnp; do
	grep -qx "$f" "$TEST_DIR/plain" || not_ok "$f is wrapped"
done

# It is loaded into every program: libc alone, under its own name, next to no initialisation.
is "SONAME" "$(readelf -d "$SHIM" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" librdmaemu.so
if ! nm -D "$SHIM" | grep -q __asan_init; then
	is "needs libc alone" \
		"$(readelf -d "$SHIM" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')" libc.so.6
	# Two entries: the compiler's frame_dummy, and env_forget_sanitizer() of libshim/interpose/exec.c. On arm64,
	# libgcc has one, which asks the CPU for LSE atomics.
	lse=$(nm "$SHIM" | grep -c ' init_have_lse_atomics$')
	is "one constructor" "$(readelf -d "$SHIM" | awk '/INIT_ARRAYSZ/ { print $3 }')" $((8 * (2 + lse)))
	is "no text relocations" "$(readelf -d "$SHIM" | grep -c TEXTREL)" 0
fi
done_testing
