#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/packages.sh SUITE...: on a bare root of each of these Debian suites (bookworm, trixie), builds the packages of
# the last commit (`make deb`) and lets lintian check them; on a second one, which has nothing of the build, installs
# them, runs their autopkgtests as a user without privileges, purges them, and looks for files that are left.
#
# FRESH_DIR=	where the roots are made (a new directory, removed at the end); roots that are there already serve again
# FRESH_MIRROR=	the mirror of Debian (see tests/lib/debian_mirror.sh)
set -eu -o pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/lib/debian_mirror.sh
. tests/lib/debian_mirror.sh
# shellcheck source=tests/lib/bare_root.sh
. tests/lib/bare_root.sh

[ $# != 0 ] || {
	echo "packages: name Debian suites: bookworm, trixie" >&2
	exit 1
}
bare_root_can || exit
dir=${FRESH_DIR:-$(mktemp -d "${TMPDIR:-/var/tmp}/rdmaemu-packages.XXXXXX")}
commit=$(git rev-parse --short HEAD)
failed=0

cleanup() {
	bare_root_leave
	[ "${FRESH_DIR-}" ] || rm -rf --one-file-system "$dir"
}
trap cleanup EXIT

# step COMMAND - print it, run it there, print how long it took, and what it printed if it failed
step() {
	local began=$SECONDS status=0
	echo "\$ $1"
	bare_root_run "export DEBIAN_FRONTEND=noninteractive && $1" </dev/null >"$dir/output" 2>&1 || status=$?
	[ $status = 0 ] || tail -n 100 "$dir/output"
	echo "# exit status $status, $((SECONDS - began)) s"
	[ $status = 0 ] || failed=1
	return $status
}

# build SUITE - packages in the root's /root/rdmaemu/build/deb
build() {
	bare_root_enter "$1" "$dir/$1" git,make,ca-certificates
	rm -rf "$dir/$1/root/rdmaemu"
	git clone -q --no-local . "$dir/$1/root/rdmaemu"
	step "cd /root/rdmaemu && make deb" &&
		step "apt-get -qq install -y --no-install-recommends lintian" &&
		step "cd /root/rdmaemu/build/deb && lintian --allow-root --pedantic --fail-on error,warning,info,pedantic *.changes"
	bare_root_leave
}

# files - what the root has, without apt's and dpkg's own records
files() {
	(cd "$BARE_ROOT" && find . -xdev -path ./var/lib/apt -prune -o -path ./var/lib/dpkg -prune -o \
		-path ./var/cache -prune -o -path ./var/log -prune -o -path ./tmp -prune -o -path ./proc -prune -o -print) | sort
}

# use SUITE - install, test, purge
use() {
	local root=$dir/$1-use test needs
	bare_root_enter "$1" "$root" ca-certificates
	rm -rf "$root/tmp/deb"
	mkdir -p "$root/tmp/deb"
	cp "$dir/$1"/root/rdmaemu/build/deb/*.deb packaging/debian/tests/* "$root/tmp/deb/"
	rm -f "$root"/tmp/deb/*-dbgsym_*
	# These stay, so that files which are left afterwards are those of rdmaemu's packages.
	needs=$(sed -n 's/^Depends: //p' packaging/debian/tests/control | tr ',' '\n' | sed 's/|.*//' | grep -v rdmaemu |
		sort -u | tr -d ' ' | tr '\n' ' ')
	step "apt-get -qq update && apt-get -qq install -y --no-install-recommends $needs" || return 0
	files >"$dir/before"
	step "apt-get -qq install -y --no-install-recommends /tmp/deb/*.deb" || return 0
	for test in $(sed -n 's/^Tests: //p' packaging/debian/tests/control); do
		step "su -s /bin/bash nobody -c /tmp/deb/$test" || :
	done
	step "test -s /usr/share/man/man1/rdmaemu.1.gz -a -s /usr/share/doc/rdmaemu/rdmaemu.spdx.json" || :
	step "apt-get -qq purge -y --autoremove '*rdmaemu*'" || :
	files >"$dir/after"
	echo "# files that are left: $(comm -13 "$dir/before" "$dir/after" | wc -l)"
	comm -13 "$dir/before" "$dir/after" | sed 's/^/# left: /' | head -n 20
	cmp -s "$dir/before" "$dir/after" || failed=1
	bare_root_leave
}

for suite; do
	echo "# $suite, commit $commit"
	build "$suite"
	[ $failed != 0 ] || use "$suite"
done
exit $failed
