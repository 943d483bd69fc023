#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: without a fabric
# The private /sys and /dev tree: the fabric's code makes it, the shim's wrappers show it.
. "$(dirname "$0")/../lib/lib.sh"

# A root with every character that glob() and the shell treat specially, reached by a symlink.
real=$TEST_DIR/'a [b]*?{c,d}'
mkdir "$real"
ln -s "$real" "$TEST_DIR/link"
root=$TEST_DIR/link/view

# seen ROOT COMMAND... - with the shim and that tree, without a fabric
seen() {
	local root=$1
	shift
	env RDMAEMU_SYSFS="$root" LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$SHIM" "$@"
}

check "the tree is made" "$T/sys_shim_tree" build "$root"
check "and made again" "$T/sys_shim_tree" build "$root"
check "its root is private" test "$(stat -c %a "$root")" = 700
check "every wrapper" seen "$(realpath "$root")" "$T/sys_shim_paths"

if ! nm -D "$SHIM" | grep -q __asan_init; then
	is "the root's own symlinks do not show" \
		"$(seen "$root/" readlink -f /sys/class/infiniband/emu0)" \
		/sys/devices/pci0fab:01/0fab:01:08.0/infiniband/emu0
	is "ls" "$(seen "$root" ls /sys/class/infiniband /dev/infiniband | xargs)" \
		"/dev/infiniband: uverbs0 uverbs1 /sys/class/infiniband: emu0 emu1"
	is "a shell" "$(seen "$root" bash -c 'cd /sys/class/infiniband &&
		pwd && echo * && cat emu?/node_guid && test -c /dev/infiniband/uverbs1 && echo yes' | xargs)" \
		"/sys/class/infiniband emu0 emu1 0211:2233:4455:6600 0211:2233:4455:6601 yes"
	if command -v python3 >/dev/null; then
		is "python" "$(seen "$root" python3 -c 'import os, glob
d = "/sys/class/infiniband/emu0"
print(os.path.realpath(d), *sorted(os.listdir(d + "/ports/1/gid_attrs")))
print(*glob.glob("/sys/class/infiniband/*1"), os.access("/dev/infiniband/uverbs0", os.R_OK))' | xargs)" \
			"/sys/devices/pci0fab:01/0fab:01:08.0/infiniband/emu0 ndevs types /sys/class/infiniband/emu1 True"
	fi
fi

unset RDMAEMU_SYSFS
is "without the variable nothing is rewritten" \
	"$(LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$SHIM" ls -d /sys/class/infiniband* 2>/dev/null)" \
	"$(ls -d /sys/class/infiniband* 2>/dev/null)"
check "what must be refused is" "$T/sys_shim_tree" errors "$TEST_DIR/bad"
check "the tree is removed" "$T/sys_shim_tree" remove "$root"
check "nothing is left" test ! -e "$root"
done_testing
