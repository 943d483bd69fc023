#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packaging/reproducible.sh TARBALL [ARCH]: builds Debian's packages twice, in other folders, with other dates, time
# zones, languages and umasks, and compares them byte by byte. Tests are left out.
set -eu
cd "$(dirname "$0")/.."

command -v faketime >/dev/null || {
	echo "reproducible: faketime is not installed, by which the second build has another date" >&2
	exit 1
}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/rdmaemu-reproducible.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}"

(
	umask 022
	TZ=UTC LC_ALL=C.UTF-8 packaging/deb.sh "$1" "$dir/one" "${2-}"
)
(
	umask 002
	TZ=Asia/Tokyo LC_ALL=C faketime -f +400d packaging/deb.sh "$1" "$dir/another/and-longer" "${2-}"
)
differ=
for one in "$dir"/one/*.deb; do
	if ! cmp "$one" "$dir/another/and-longer/${one##*/}"; then
		differ="$differ ${one##*/}"
		! command -v diffoscope >/dev/null || diffoscope "$one" "$dir/another/and-longer/${one##*/}" || :
	fi
done
[ -z "$differ" ] || {
	echo "reproducible: these differ:$differ" >&2
	exit 1
}
echo "reproducible: $(ls "$dir"/one/*.deb | wc -l) packages, the same bytes from both builds"
