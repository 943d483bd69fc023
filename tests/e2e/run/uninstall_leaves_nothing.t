#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: files
# `make install` puts every file in its place, and `make uninstall` removes all of them; `make help` and `make demo`.
. "$(dirname "$0")/../../lib/lib.sh"

root=$TEST_DIR/root
makes() {
	env -u MAKEFLAGS -u MFLAGS make -C "$TOP" --no-print-directory NO_DEPS=1 BUILD="${BUILD#"$TOP/"}" "$@"
}
check "make install" makes install DESTDIR="$root" PREFIX=/usr

for file in bin/rdmaemu bin/rdmaemu-replay lib/rdmaemu/librdmaemu.so lib/rdmaemu/librdmaemu-tap.so \
	lib/rdmaemu/librdmaemu-dispatch.so \
	lib/librdmaemu-ctl.a lib/pkgconfig/rdmaemu-ctl.pc include/rdmaemu.h share/bash-completion/completions/rdmaemu \
	share/zsh/site-functions/_rdmaemu share/fish/vendor_completions.d/rdmaemu.fish; do
	check "it has $file" test -s "$root/usr/$file"
done
for page in "$TOP"/man/*; do
	check "it has ${page##*/}" cmp "$page" "$root/usr/share/man/man${page##*.}/${page##*/}"
done
for file in "$TOP"/profiles/*.conf; do
	check "it has ${file##*/}" cmp "$file" "$root/usr/share/rdmaemu/profiles/${file##*/}"
done
is "links lead to the library" "$(readlink -f "$root/usr/lib/librdmaemu-ctl.so")" \
	"$(echo "$root"/usr/lib/librdmaemu-ctl.so.*.*)"
is "the .pc file has the prefix" "$(grep -c '^prefix=/usr$' "$root/usr/lib/pkgconfig/rdmaemu-ctl.pc")" 1
is "the installed command is the one that was built" "$("$root/usr/bin/rdmaemu" --version)" "$("$RDMAEMU" --version)"
is "which preloads the installed library" "$("$root/usr/bin/rdmaemu" run sh -c 'echo "$LD_PRELOAD"')" \
	"$root/usr/lib/rdmaemu/librdmaemu.so"
is "the completion is that of the command" "$(cat "$root/usr/share/bash-completion/completions/rdmaemu")" \
	"$("$RDMAEMU" completion bash)"

check "with LIBDIR=" makes install DESTDIR="$root.multiarch" PREFIX=/usr LIBDIR=lib/triplet
check "the control library is there" test -s "$root.multiarch/usr/lib/triplet/librdmaemu-ctl.so"
is "as the .pc file says" "$(grep '^libdir=' "$root.multiarch/usr/lib/triplet/pkgconfig/rdmaemu-ctl.pc")" \
	'libdir=${prefix}/lib/triplet'

# What others have there stays.
echo other >"$root/usr/bin/other"
check "make uninstall" makes uninstall DESTDIR="$root" PREFIX=/usr
is "no file is left but that of others" "$(cd "$root" && find . ! -type d)" "./usr/bin/other"
is "nor a folder of rdmaemu's own" "$(find "$root" -name '*rdmaemu*')" ""
check "make uninstall again" makes uninstall DESTDIR="$root" PREFIX=/usr

lists() {
	local target
	makes help >"$TEST_DIR/help" || return
	for target in all clean demo help install lint test uninstall; do
		grep -qE "^  $target +[a-z]" "$TEST_DIR/help" || return
	done
	! awk 'length($0) > 100 { exit 1 }' "$TEST_DIR/help" || return 0
}
check "make help lists targets with a line each" lists
done_testing
