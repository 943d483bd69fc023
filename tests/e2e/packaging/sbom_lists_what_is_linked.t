#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: files
# packaging/sbom.py lists each package of which the binaries link a library, once, and nothing else; its date is
# SOURCE_DATE_EPOCH.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
command -v dpkg-query >/dev/null || skip_all "the packages of libraries are dpkg's to know"

files=("$BUILD/bin/rdmaemu" "$BUILD/bin/rdmaemu-replay" "$BUILD/lib/librdmaemu.so")
sbom() {
	SOURCE_DATE_EPOCH=86400 python3 "$TOP/packaging/sbom.py" 1.2.3 "${files[@]}"
}
sbom >"$TEST_DIR/sbom"
is "a document of rdmaemu" "$(json "(d['spdxVersion'], d['creationInfo']['created'], d['packages'][0]['name'],
	d['packages'][0]['versionInfo'])" <"$TEST_DIR/sbom")" "('SPDX-2.3', '1970-01-02T00:00:00Z', 'rdmaemu', '1.2.3')"

# The packages by another way: the cache of the loader has the libraries' places.
linked() {
	local name path
	readelf -d "${files[@]}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r name; do
		path=$(ldconfig -p | awk -v name="$name" '$1 == name && /x86-64|AArch64/ { print $NF; exit }')
		dpkg-query -S "$path" "$(readlink -f "$path")" "/usr$path" 2>/dev/null | sed 's/:.*//'
	done | sort -u
}
is "it names the packages" "$(json "'\n'.join(sorted(p['name'] for p in d['packages'][1:]))" <"$TEST_DIR/sbom")" "$(linked)"
is "each with its version" "$(json "[p['name'] for p in d['packages'] if not p.get('versionInfo')]" <"$TEST_DIR/sbom")" '[]'
is "and each is linked" "$(json "len(d['relationships'])" <"$TEST_DIR/sbom")" \
	"$(json "len(d['packages'])" <"$TEST_DIR/sbom")"
is "the same bytes each time" "$(sbom | cksum)" "$(cksum <"$TEST_DIR/sbom")"

# A cross compiler makes binaries for another machine: the field e_machine says which.
other=$(python3 - "${files[0]}" "$TEST_DIR/other" <<'END'
import sys
with open(sys.argv[1], "rb") as file:
    binary = bytearray(file.read())
x86_64, aarch64 = b"\x3e\0", b"\xb7\0"
binary[18:20] = x86_64 if binary[18:20] == aarch64 else aarch64
with open(sys.argv[2], "wb") as file:
    file.write(binary)
print("amd64" if binary[18:20] == x86_64 else "arm64")
END
)
files=("$TEST_DIR/other")
is "for another machine, packages are that machine's" "$(sbom | json "{r['referenceLocator'].split('=')[1]
	for p in d['packages'] for r in p.get('externalRefs', [])} - {'$other'}")" 'set()'
is "and none is left out" "$(sbom | json "len(d['packages']) > len({n for n in '''$(readelf -d "$TEST_DIR/other" |
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libm\.' -e '^ld-linux')'''.split()})")" True
done_testing
