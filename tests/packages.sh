#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/packages.sh SUITE...: on a bare root of each of these Debian suites (bookworm, trixie), builds the packages of
# the last commit (`make deb`), lets lintian check them, and builds them twice more to compare the bytes (`make
# check-reproducible`); on a second one, which has nothing of the build, installs them, runs their autopkgtests as a
# user without privileges, purges them, and looks for files that are left.
#
# HOST_ARCH=	the architecture to build for, by a cross compiler, where it is not this machine's: arm64. Its packages
#		are installed into a root of this machine, whose kernel starts qemu for their programs (tests/arm64.sh)
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
arch=${HOST_ARCH:-$(dpkg --print-architecture)}
cross=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	cross=-$arch
fi
case $arch in
amd64) gnu=x86-64-linux-gnu ;;
arm64) gnu=aarch64-linux-gnu ;;
*)
	echo "packages: expected amd64 or arm64, not: $arch" >&2
	exit 2
	;;
esac
# While programs of another architecture are run.
emulated=
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
	run_there "export DEBIAN_FRONTEND=noninteractive && $1" </dev/null >"$dir/output" 2>&1 || status=$?
	[ $status = 0 ] || tail -n 100 "$dir/output"
	echo "# exit status $status, $((SECONDS - began)) s"
	[ $status = 0 ] || failed=1
	return $status
}

# run_there COMMAND - in the root, where for packages of another architecture the kernel starts qemu: there as root of a
# user namespace
run_there() {
	local there=()
	[ -z "$emulated" ] || there=(tests/arm64.sh run "$BARE_ROOT")
	BARE_ROOT_BY="${there[*]}" bare_root_run "$1"
}

# build SUITE - packages in the root's /root/rdmaemu/build/deb
build() {
	bare_root_enter "$1" "$dir/$1$cross" git,make,ca-certificates
	rm -rf "$dir/$1$cross/root/rdmaemu"
	git clone -q --no-local . "$dir/$1$cross/root/rdmaemu"
	{ [ -z "$cross" ] || cross_compiler; } &&
		step "cd /root/rdmaemu && make deb${cross:+ HOST_ARCH=$arch}" &&
		step "apt-get -qq install -y --no-install-recommends lintian" &&
		step "cd /root/rdmaemu/build/deb && lintian --allow-root --pedantic --fail-on error,warning,info,pedantic *.changes" &&
		step "cd /root/rdmaemu && make check-reproducible${cross:+ HOST_ARCH=$arch}" &&
		grep '^reproducible: ' "$dir/output"
	bare_root_leave
}

# cross_compiler - install it, and what the packages are built with
cross_compiler() {
	step "dpkg --add-architecture $arch && apt-get -qq update" &&
		step "apt-get -qq install -y --no-install-recommends crossbuild-essential-$arch faketime" &&
		step "cd /root/rdmaemu && cp -r packaging/debian debian &&
			apt-get -qq build-dep -y --no-install-recommends -a $arch -Pcross,nocheck ./ && rm -r debian"
}

# files - what the root has, without apt's and dpkg's own records
files() {
	(cd "$BARE_ROOT" && find . -xdev -path ./var/lib/apt -prune -o -path ./var/lib/dpkg -prune -o \
		-path ./var/cache -prune -o -path ./var/log -prune -o -path ./tmp -prune -o -path ./proc -prune -o -print) | sort
}

# needs - packages that the autopkgtests want, besides those of rdmaemu; a compiler runs on this machine
needs() {
	sed -n 's/^Depends: //p' packaging/debian/tests/control | tr ',' '\n' | sed 's/|.*//' | tr -d ' ' | grep -v rdmaemu |
		sort -u | if [ "$cross" ]; then
			sed "s/^gcc\$/gcc-$gnu/; s/^libc6-dev\$/&-$arch-cross/; s/^.*-utils\$\|^perftest\$/&:$arch/"
		else
			cat
		fi
}

# run_tests - the autopkgtests, as a user without privileges
run_tests() {
	local test emulated=$cross
	for test in $(sed -n 's/^Tests: //p' packaging/debian/tests/control); do
		if [ "$cross" ]; then
			step "export CC=$gnu-gcc PKG_CONFIG_LIBDIR=/usr/lib/$gnu/pkgconfig && /tmp/deb/$test" || :
		else
			step "su -s /bin/bash nobody -c /tmp/deb/$test" || :
		fi
	done
}

# use SUITE - install, test, purge
use() {
	local root=$dir/$1$cross-use sbom=/usr/share/doc/rdmaemu/rdmaemu.spdx.json
	bare_root_enter "$1" "$root" ca-certificates
	rm -rf "$root/tmp/deb"
	mkdir -p "$root/tmp/deb"
	cp "$dir/$1$cross"/root/rdmaemu/build/deb/*.deb packaging/debian/tests/* "$root/tmp/deb/"
	rm -f "$root"/tmp/deb/*-dbgsym_*
	# These stay, so that files which are left afterwards are those of rdmaemu's packages.
	[ -z "$cross" ] || step "dpkg --add-architecture $arch" || return 0
	step "apt-get -qq update && apt-get -qq install -y --no-install-recommends $(needs | tr '\n' ' ')" || return 0
	files >"$dir/before"
	step "apt-get -qq install -y --no-install-recommends /tmp/deb/*.deb" || return 0
	run_tests
	step "test -s /usr/share/man/man1/rdmaemu.1.gz -a -s $sbom" || :
	step "test \"\$(grep -o '?arch=[a-z0-9]*' $sbom | sort -u)\" = '?arch=$arch'" || :
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
