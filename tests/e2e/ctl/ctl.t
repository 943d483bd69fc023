#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the library of tests, from an installed tree
# librdmaemu-ctl: as it is installed, from inside a program under test and from outside.
. "$(dirname "$0")/../../lib/lib.sh"
need pkg-config "${CC:-cc}"

root=$TEST_DIR/root
check "make install" make -C "$TOP" --no-print-directory BUILD="${BUILD#"$TOP/"}" install DESTDIR="$root" PREFIX=/usr
export PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
flags() {
	pkg-config "$@" rdmaemu-ctl
}
version=$("$RDMAEMU" --version | cut -d' ' -f2)
is "pkg-config knows the version" "$(flags --modversion)" "$version"
is "the library says which it is" \
	"$(readelf -d "$root/usr/lib/librdmaemu-ctl.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" librdmaemu-ctl.so.0
is "it needs nothing but libc" "$(readelf -d "$root/usr/lib/librdmaemu-ctl.so" | grep NEEDED | grep -v 'libc\.so\|lib[a-z]*san')" ''
is "it exports what the header has" \
	"$(nm -D --defined-only "$root/usr/lib/librdmaemu-ctl.so" | sed -n 's/.* T \(.*\)@@.*/\1/p' | sort)" \
	"$(sed -n 's/^RDMAEMU_API .*[ *]\(rdmaemu_[a-z_]*\)(.*/\1/p' "$root/usr/include/rdmaemu.h" | sort)"
is "so does the archive" \
	"$(nm -g --defined-only "$root/usr/lib/librdmaemu-ctl.a" | sed -n 's/.* [TDBR] //p' | grep -v '^rdmaemu_')" ''

# A program that was linked with version 0.1.0 finds each function, with the same types. After a release with new ones:
#	abidw --no-corpus-path --no-comp-dir-path --drop-private-types --headers-dir include \
#		build/lib/librdmaemu-ctl.so >tests/data/librdmaemu-ctl.abi
same_abi() {
	local status=0
	abidiff --drop-private-types --headers-dir2 "$root/usr/include" "$TOP/tests/data/librdmaemu-ctl.abi" \
		"$root/usr/lib/librdmaemu-ctl.so" || status=$?
	# 4: a difference, such as a new function; 8: one that breaks programs.
	[ $((status & ~4)) = 0 ]
}
if [ "$(uname -m)" = x86_64 ] && command -v abidiff >/dev/null; then
	check "its ABI is that of the release" same_abi
else
	skip "its ABI is that of the release" "abidiff of abigail-tools is not installed, or this is no x86-64"
fi

# compile OUT ARGS...
compile() {
	local out=$1
	shift
	# shellcheck disable=SC2046
	"${CC:-cc}" -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -I"$TOP" ${BUILD_SAN-} $(flags --cflags) -o "$out" "$@"
}
# A build under sanitizers has its objects instrumented.
BUILD_SAN=
[ "$SLOW" = 1 ] || BUILD_SAN=-fsanitize=address,undefined
rc=("$BUILD"/obj/tests/lib/c/rc_end.o "$BUILD"/obj/tests/lib/c/rc_side.o "$BUILD"/obj/tests/lib/c/peer.o)
# shellcheck disable=SC2046
check "a test program, by pkg-config" compile "$TEST_DIR/shared" "$TOP/tests/e2e/ctl/app.c" "${rc[@]}" \
	$(flags --libs) -libverbs -lpthread
check "the same with the archive" compile "$TEST_DIR/static" "$TOP/tests/e2e/ctl/app.c" "${rc[@]}" \
	"$root/usr/lib/librdmaemu-ctl.a" -libverbs -lpthread
export LD_LIBRARY_PATH=$root/usr/lib

# under NAME ARGS... - a program that prints TAP itself, under `rdmaemu run`
under() {
	local out status=0
	out=$(limit "$RDMAEMU" run ${RUN_FLAGS-} -- "$TEST_DIR/$@" 2>&1 </dev/null) || status=$?
	sed -E "s|^((not )?ok) |\\1 $*${RUN_FLAGS:+ (${RUN_FLAGS})}: |" <<<"$out"
	[ $status = 0 ] || FAILED=$((FAILED + 1))
}
under shared
under static
RUN_FLAGS='--fabric hand --clock manual' under shared manual
RUN_FLAGS='--fabric alone --isolated --control --clock manual' under shared manual
RUN_FLAGS='--fabric nodes --node other' under shared

# From outside; the sources are built once more, under sanitizers.
printf 'devices 2\n' >"$TEST_DIR/two"
outside() {
	local out status=0
	check "a fabric" "$RDMAEMU" fabric start --fabric out --profile "$TEST_DIR/two"
	out=$(limit "$@" "$RDMAEMU_DIR" out "$version" "$RDMAEMU" 2>&1) || status=$?
	sed -E "s|^((not )?ok) |\\1 ${1##*/}: |" <<<"$out"
	[ $status = 0 ] || not_ok "${1##*/}: status $status"
}
# shellcheck disable=SC2046
check "a program outside" compile "$TEST_DIR/outside" \
	"$TOP/tests/e2e/ctl/outside.c" $(flags --libs)
outside "$TEST_DIR/outside"
if BUILD_SAN='' compile "$TEST_DIR/asan" -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined "$TOP"/tests/e2e/ctl/outside.c "$TOP"/libctl/*.c \
	"$TOP"/fabric/proto/{control_call,state_find,port_counters}.c >"$TEST_DIR/asan.out" 2>&1; then
	LD_PRELOAD='' outside "$TEST_DIR/asan"
elif echo 'int main(void) { return 0; }' | "${CC:-cc}" -fsanitize=address,undefined -x c -o "$TEST_DIR/empty" - 2>/dev/null; then
	not_ok "under sanitizers" "$(cat "$TEST_DIR/asan.out")"
else
	skip "under sanitizers" "they are not installed"
fi

# The header alone, in other languages.
printf '#include <rdmaemu.h>\nint main(void) { return rdmaemu_version()[0] == 0; }\n' >"$TEST_DIR/plain.c"
cp "$TEST_DIR/plain.c" "$TEST_DIR/plain.cc"
# shellcheck disable=SC2046
check "C99" "${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror $(flags --cflags) -o "$TEST_DIR/plain" \
	"$TEST_DIR/plain.c" $(flags --libs)
check "it runs" "$TEST_DIR/plain"
if command -v "${CXX:-g++}" >/dev/null; then
	# shellcheck disable=SC2046
	check "C++" "${CXX:-g++}" -std=c++11 -pedantic -Wall -Wextra -Werror $(flags --cflags) \
		-o "$TEST_DIR/plus" "$TEST_DIR/plain.cc" $(flags --libs)
	check "it runs, too" "$TEST_DIR/plus"
else
	skip "C++" "there is no compiler"
fi
done_testing
