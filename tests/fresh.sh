#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/fresh.sh SUITE...: what a stranger does first, on machines that have nothing: makes a bare root of each of these
# Debian suites (bookworm, trixie), with git and make alone, clones the last commit into it, and runs there what README
# says: make demo, make, make test. Prints each command, how long it took, and what it printed.
#
# FRESH_ARCH=	arm64: builds for arm64 by a cross compiler and runs its tests by qemu (make test-arm64), instead
# FRESH_TESTS=	the TESTS of make test (e2e/perftest/pingpong unit); empty: all of them
# FRESH_DIR=	where the roots are made (a new directory, removed at the end); roots that are there already serve again
# FRESH_MIRROR=	the mirror of Debian (see tests/lib/debian_mirror.sh)
set -eu -o pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/lib/debian_mirror.sh
. tests/lib/debian_mirror.sh
# shellcheck source=tests/lib/bare_root.sh
. tests/lib/bare_root.sh

fail() {
	echo "fresh: $*" >&2
	exit 1
}

[ $# != 0 ] || fail "name Debian suites: bookworm, trixie"
bare_root_can || exit
arch=${FRESH_ARCH:-native}
case $arch in
native) tests=${FRESH_TESTS-e2e/perftest/pingpong unit} ;;
arm64) tests=${FRESH_TESTS-} ;;
*) fail "expected arm64, not: $arch" ;;
esac
dir=${FRESH_DIR:-$(mktemp -d "${TMPDIR:-/var/tmp}/rdmaemu-fresh.XXXXXX")}
commit=$(git rev-parse --short HEAD)

cleanup() {
	bare_root_leave
	[ "${FRESH_DIR-}" ] || rm -rf --one-file-system "$dir"
}
trap cleanup EXIT

# step COMMAND - as README prints it, in the clone
step() {
	local began=$SECONDS status=0
	echo "\$ $1"
	bare_root_run "cd /root/rdmaemu && $1" </dev/null 2>&1 || status=$?
	echo "# exit status $status, $((SECONDS - began)) s"
	[ $status = 0 ] || failed=1
}

# build_native, build_arm64 - the steps, by architecture
build_native() {
	step "make demo"
	step "make"
	step "make test${tests:+ TESTS='$tests'}"
	step "make install PREFIX=/usr/local && rdmaemu run ibv_devices && rdmaemu fabric stop && make uninstall PREFIX=/usr/local"
}

# A process in a chroot may not make the user namespace whose kernel starts qemu. So it is made here, and entered.
build_arm64() {
	step "make arm64"
	BARE_ROOT_BY="tests/arm64.sh run $BARE_ROOT/root/rdmaemu/build-aarch64/sysroot" step "make NO_DEPS=1 test-arm64${tests:+ TESTS='$tests'}"
}

failed=0
for suite; do
	echo "# $suite, commit $commit"
	bare_root_enter "$suite" "$dir/$suite" git,make,ca-certificates
	rm -rf "$dir/$suite/root/rdmaemu"
	git clone -q --no-local . "$dir/$suite/root/rdmaemu"
	build_"$arch"
	bare_root_leave
done
exit $failed
