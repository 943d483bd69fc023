#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packaging/rpm.sh TARBALL DIR [OPTION...]: builds RPM packages of a release's tarball, which `make dist` has written,
# in DIR, by the tarball's own packaging/rpm/rdmaemu.spec. OPTIONs are rpmbuild's (`--without check`); its output is in
# DIR/log. Times are those of the spec's changelog, so that the same files give the same bytes.
set -eu

tarball=$(realpath "$1")
release=$(basename "$tarball" .tar.gz)
version=${release#rdmaemu-}
dir=$(mkdir -p "$2" && realpath "$2")
shift 2
command -v rpmbuild >/dev/null || {
	echo "rpm: rpmbuild is not installed; Debian's package of it is rpm" >&2
	exit 1
}
rm -rf "$dir"
mkdir -p "$dir"
tar xzf "$tarball" -C "$dir" --strip-components=3 "$release/packaging/rpm/rdmaemu.spec"
chmod 644 "$dir/rdmaemu.spec"
has=$(rpmspec -q --srpm --qf '%{VERSION}' "$dir/rdmaemu.spec")
[ "$has" = "$version" ] || {
	echo "rpm: packaging/rpm/rdmaemu.spec has version $has, and this is $version" >&2
	exit 1
}
# A machine of another family has the libraries, and no record of them that rpm could read.
[ ! -e /etc/debian_version ] || set -- --nodeps "$@"
began=$(date +%s)
echo "rpm: rpmbuild builds the packages and runs the unit tests, which takes some minutes"
rpmbuild -ba --define "_topdir $dir/tree" --define "_sourcedir $(dirname "$tarball")" \
	--define "_rpmdir $dir" --define "_srcrpmdir $dir" --define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
	--define '_buildhost localhost' --define 'source_date_epoch_from_changelog 1' \
	--define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
	"$@" "$dir/rdmaemu.spec" >"$dir/log" 2>&1 || {
	tail -n 30 "$dir/log" >&2
	echo "rpm: rpmbuild failed; $dir/log has everything" >&2
	exit 1
}
rm -rf "$dir/tree"
cd "$dir"
echo "rpm: built in $(($(date +%s) - began)) s, in $dir:"
ls ./*.rpm
