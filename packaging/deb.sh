#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packaging/deb.sh TARBALL DIR [ARCH]: builds Debian's packages of a release's tarball, which `make dist` has written,
# in DIR, for this machine's architecture or, by a cross compiler and without tests, for ARCH. The files of debian/ are
# those of packaging/debian/ in the tarball: there they are in nobody's way who has others.
# DEB_BUILD_OPTIONS= and the other variables of dpkg-buildpackage(1) count; its output is in DIR/log.
set -eu

tarball=$(realpath "$1")
release=$(basename "$tarball" .tar.gz)
version=${release#rdmaemu-}
cross=
if [ "${3-}" ] && [ "$3" != "$(dpkg --print-architecture)" ]; then
	cross=$3
	export DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}"
fi
rm -rf "$2"
mkdir -p "$2"
cd "$2"
cp "$tarball" "rdmaemu_$version.orig.tar.gz"
tar xzf "$tarball"
cd "$release"
cp -r packaging/debian debian

has=$(dpkg-parsechangelog -S Version)
[ "${has%-*}" = "$version" ] || {
	echo "deb: packaging/debian/changelog begins with version $has, and this is $version" >&2
	exit 1
}
began=$(date +%s)
echo "deb: dpkg-buildpackage builds the packages${cross:+ for $cross}, which takes some minutes"
dpkg-buildpackage -us -uc ${cross:+-a"$cross" -Pcross,nocheck} >../log 2>&1 || {
	tail -n 30 ../log >&2
	echo "deb: dpkg-buildpackage failed; $(realpath ../log) has everything" >&2
	exit 1
}
cd ..
rm -r "$release"
echo "deb: built in $(($(date +%s) - began)) s, in $(pwd):"
ls ./*.deb
