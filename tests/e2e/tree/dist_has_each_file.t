#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: files
# `make dist` writes the files of the last commit, below a folder of the release's name, and the same bytes each time.
. "$(dirname "$0")/../../lib/lib.sh"
git -C "$TOP" rev-parse HEAD >/dev/null 2>&1 || skip_all "the tree is no clone of the repository"

version=$("$RDMAEMU" --version | awk '{ print $2; exit }')
# dist DIR - write the tarball there
dist() {
	env -u MAKEFLAGS -u MFLAGS make -C "$TOP" --no-print-directory BUILD="$TEST_DIR/$1" dist
}
check "make dist" dist one
tarball=rdmaemu-$version.tar.gz
check "its name has the version" test -s "$TEST_DIR/one/$tarball"
is "it has each file of the commit" "$(tar tzf "$TEST_DIR/one/$tarball" | grep -v '/$' | sort)" \
	"$(git -C "$TOP" ls-tree -r --name-only HEAD | sed "s|^|rdmaemu-$version/|" | sort)"
check "make dist again" dist two
check "the same bytes" cmp "$TEST_DIR/one/$tarball" "$TEST_DIR/two/$tarball"
is "the RPM packages are of this version" "$(awk '$1 == "Version:" { print $2 }' "$TOP/packaging/rpm/rdmaemu.spec")" "$version"
is "the packages are of this version" "$(sed -n '1s/rdmaemu (\(.*\)-.*/\1/p' "$TOP/packaging/debian/changelog")" "$version"
# The package is built with the libraries of tests/deps.sh; libc6-dev comes with build-essential.
sed -n '/^Build-Depends:/,/^[A-Z][a-z-]*-Root:/p' "$TOP/packaging/debian/control" | grep -o 'lib[a-z0-9-]*-dev\|nettle-dev\|zlib1g-dev' |
	sort -u >"$TEST_DIR/control"
is "with all libraries of tests/deps.sh" "$(sed -n 's/^BUILD="\(.*\)"$/\1/p' "$TOP/tests/deps.sh" | tr ' ' '\n' |
	grep -e '-dev$' | grep -v libc6 | grep -vxFf "$TEST_DIR/control")" ''
done_testing
