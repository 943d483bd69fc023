#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packaging/kubernetes/tree.sh DIR: completes what `make install PREFIX=DIR` has written, so that it works in containers
# whose images lack the libraries that the command links. It copies them to DIR/lib/rdmaemu/linked, and lets the
# command, and the tap, look there first. Only libc, which must not be older than here, and the libraries for RDMA,
# which are the program's own, come from the image.
set -eu

dir=$1
linked=$dir/lib/rdmaemu/linked
command -v patchelf >/dev/null || {
	echo "tree: patchelf is not installed" >&2
	exit 1
}
mkdir -p "$linked"
for file in "$dir/bin/rdmaemu" "$dir/lib/rdmaemu/librdmaemu-tap.so"; do
	ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r name path; do
		case $name in
		libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | libibverbs.so.* | librdmacm.so.*) ;;
		*) cp -L "$path" "$linked/$name" ;;
		esac
	done
done
# RPATH, not RUNPATH: it counts for the libraries of libraries, too.
patchelf --force-rpath --set-rpath "\$ORIGIN/../lib/rdmaemu/linked" "$dir/bin/rdmaemu"
patchelf --force-rpath --set-rpath "\$ORIGIN/linked" "$dir/lib/rdmaemu/librdmaemu-tap.so"
