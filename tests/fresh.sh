#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/fresh.sh SUITE...: what a stranger does first, on machines that have nothing: makes a bare root of each of these
# Debian suites (bookworm, trixie), with git and make alone, clones the last commit into it, and runs there what README
# says: make demo, make, make test. Prints each command, how long it took, and what it printed.
#
# FRESH_TESTS=	the TESTS of make test (e2e/perftest/pingpong unit); empty: all of them
# FRESH_DIR=	where the roots are made (a new directory, removed at the end); roots that are there already serve again
# FRESH_MIRROR=	the mirror of Debian (see tests/lib/debian_mirror.sh)
set -eu -o pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/lib/debian_mirror.sh
. tests/lib/debian_mirror.sh

fail() {
	echo "fresh: $*" >&2
	exit 1
}

[ $# != 0 ] || fail "name Debian suites: bookworm, trixie"
[ "$(id -u)" = 0 ] || fail "bare roots are entered with chroot(8), which needs root"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed"
tests=${FRESH_TESTS-e2e/perftest/pingpong unit}
dir=${FRESH_DIR:-$(mktemp -d "${TMPDIR:-/var/tmp}/rdmaemu-fresh.XXXXXX")}
commit=$(git rev-parse --short HEAD)
mkdir -p "$dir"
root=

leave() {
	[ -z "$root" ] || ! mountpoint -q "$root" || umount -R "$root" || :
	root=
}
cleanup() {
	leave
	[ "${FRESH_DIR-}" ] || rm -rf --one-file-system "$dir"
}
trap cleanup EXIT

# enter SUITE - make the root if it is not there, and mount what programs expect
enter() {
	root=$dir/$1
	if [ ! -e "$root/etc/debian_version" ]; then
		mmdebstrap --quiet --variant=apt --include=git,make,ca-certificates "$1" "$root" \
			"${FRESH_MIRROR:-$(debian_mirror)}" || fail "mmdebstrap: no root of $1"
	fi
	# unshare -m needs a root that is a mount point.
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	mkdir "$root/dev/shm" "$root/dev/pts"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	local node
	for node in null:3 zero:5 full:7 random:8 urandom:9; do
		mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
	done
	mknod -m 666 "$root/dev/tty" c 5 0
	cp /etc/resolv.conf "$root/etc/resolv.conf"
}

# step COMMAND - as README prints it, in the clone
step() {
	local began=$SECONDS status=0
	echo "\$ $1"
	chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
		sh -c "cd /root/rdmaemu && $1" </dev/null 2>&1 || status=$?
	echo "# exit status $status, $((SECONDS - began)) s"
	[ $status = 0 ] || failed=1
}

failed=0
for suite; do
	echo "# $suite, commit $commit"
	enter "$suite"
	rm -rf "$root/root/rdmaemu"
	git clone -q --no-local . "$root/root/rdmaemu"
	step "make demo"
	step "make"
	step "make test${tests:+ TESTS='$tests'}"
	step "make install PREFIX=/usr/local && rdmaemu run ibv_devices && rdmaemu fabric stop && make uninstall PREFIX=/usr/local"
	leave
done
exit $failed
