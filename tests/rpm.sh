#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/rpm.sh TARBALL DIR: builds the RPM and Debian packages of a release's tarball in DIR/rpm and DIR/deb, where they
# are not there already, without their tests. rpmlint checks the former; then each package has the same files as
# Debian's, with the same modes and, if no compiler wrote them, the same bytes; and the command runs from the unpacked
# files.
set -eu -o pipefail
cd "$(dirname "$0")/.."

tarball=$1
dir=$2
failed=0

# fail WHAT - a check has failed
fail() {
	echo "rpm: $*" >&2
	failed=1
}

# unpack PACKAGE INTO
unpack() {
	local link multiarch
	mkdir -p "$2"
	case $1 in
	*.rpm) rpm2cpio "$1" | (cd "$2" && cpio -idm --quiet) ;;
	*.deb) dpkg-deb -x "$1" "$2" ;;
	esac
	# Each family has a folder of its own for libraries, compresses what it likes, and has records of its own.
	find "$2" -type l -name '*.gz' | while read -r link; do
		ln -s "$(readlink "$link" | sed 's/\.gz$//')" "${link%.gz}"
		rm "$link"
	done
	find "$2" -type f -name '*.gz' -exec gunzip -f {} +
	[ ! -d "$2/usr/lib64" ] || cp -a --remove-destination "$2/usr/lib64/." "$2/usr/lib/"
	for multiarch in "$2"/usr/lib/*-linux-gnu; do
		[ ! -d "$multiarch" ] || cp -a "$multiarch/." "$2/usr/lib/"
		rm -rf "$multiarch"
	done
	rm -rf "$2/usr/lib64" "$2"/usr/share/{licenses,lintian} "$2/usr/lib/.build-id"
	find "$2/usr/share/doc" \( -iname 'changelog*' -o -name copyright -o -name LICENSE \) -delete 2>/dev/null || :
	find "$2" -depth -type d -empty -delete
}

# listed ROOT - type, mode, target and path of each file
listed() {
	(cd "$1" && find . ! -type d -printf '%y %m %l %p\n' | LC_ALL=C sort -k 4)
}

# same DEB RPM - compare one package
same() {
	local a=$dir/unpacked/deb/$1 b=$dir/unpacked/rpm/$2 file
	unpack "$(ls "$dir"/deb/"$1"_[0-9]*.deb)" "$a"
	unpack "$(ls "$dir"/rpm/"$2"-[0-9]*.rpm | grep -v '\.src\.rpm$')" "$b"
	diff <(listed "$a") <(listed "$b") || fail "$2 and Debian's $1 have other files"
	while read -r file; do
		case $(head -c 7 "$a/$file" | tr -d '\0') in
		*ELF* | '!<arch>'*) continue ;;
		esac
		cmp -s "$a/$file" "$b/$file" || fail "$file of $2 has other bytes than in Debian's $1"
	done < <(cd "$a" && find . -type f ! -name '*.pc' ! -name '*.spdx.json')
	echo "# $2: $(find "$b" ! -type d | wc -l) files, compared with those of Debian's $1"
}

[ -d "$dir/rpm" ] || packaging/rpm.sh "$tarball" "$dir/rpm" --without check
[ -d "$dir/deb" ] || DEB_BUILD_OPTIONS=nocheck packaging/deb.sh "$tarball" "$dir/deb"
rpmlint -c packaging/rpm/rpmlint.toml "$dir"/rpm/rdmaemu.spec "$dir"/rpm/*.rpm || fail "rpmlint complains"

rm -rf "$dir/unpacked"
while read -r deb rpm; do
	same "$deb" "$rpm"
done <<'END'
rdmaemu rdmaemu
librdmaemu librdmaemu
librdmaemu-ctl0 librdmaemu-ctl0
rdmaemu-dev rdmaemu-devel
rdmaemu-doc rdmaemu-doc
END

mkdir -p "$dir/unpacked/all"
for package in rdmaemu librdmaemu; do
	cp -a "$dir/unpacked/rpm/$package/." "$dir/unpacked/all/"
done
timeout 120 "$dir/unpacked/all/usr/bin/rdmaemu" run --fresh -- ibv_devinfo >"$dir/devinfo" 2>&1 &&
	grep -q 'hca_id:.*rdmaemu0' "$dir/devinfo" || {
	cat "$dir/devinfo"
	fail "the command of the RPM packages does not run ibv_devinfo"
}
exit $failed
