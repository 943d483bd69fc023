#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command and files of programs
# A program into which nothing can be preloaded is named in one line, with the reason, before it fails oddly.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc python3
cd "$TEST_DIR" || exit 1
printf '#include <stdio.h>\nint main(void)\n{\n\tputs("ran");\n\treturn 7;\n}\n' >p.c
limit "$RDMAEMU" fabric start >/dev/null

# warns NAME WORDS COMMAND... - one line on stderr, with these words; the program runs all the same
warns() {
	local name=$1 words=$2 status=0
	shift 2
	limit "$RDMAEMU" run -- "$@" >out 2>err || status=$?
	if [ $status = 7 ] && [ "$(cat out)" = ran ] && [ "$(wc -l <err)" = 1 ] && grep -q "^rdmaemu: warning: .*$words" err; then
		ok "$name"
	else
		not_ok "$name" "status $status" "$(cat out err)"
	fi
}

gcc -o dynamic p.c
limit "$RDMAEMU" run ./dynamic >out 2>err
is "nothing to say about a dynamic program" "$?$(cat out err)" 7ran
for flag in -static -static-pie; do
	if gcc $flag -o st p.c 2>/dev/null; then
		warns "gcc $flag" './st is statically linked' ./st
		warns "gcc $flag, by env and nice" './st is statically linked' env -u X A=1 nice -n 1 ./st
		printf '#!%s/st\n' "$PWD" >script && chmod +x script
		warns "gcc $flag, as an interpreter" './script is statically linked' ./script
	else
		skip "gcc $flag" "no static libraries"
	fi
done

# Of programs for other machines, the header alone.
damaged() {
	cp dynamic "$1"
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
damaged words 4 '\001'
limit "$RDMAEMU" run ./words >out 2>err
grep -q "warning: ./words is a 32-bit program and librdmaemu.so has 64 bits" err && ok "another word size" ||
	not_ok "another word size" "$(cat err)"
damaged machine 18 '\002'
limit "$RDMAEMU" run ./machine >out 2>err
grep -q "warning: ./machine is a program for another machine" err && ok "another machine" ||
	not_ok "another machine" "$(cat err)"

# musl's loader cannot load a library of glibc's: the program would not start.
gcc -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl p.c
rdmaemu_refuses run "musl's loader" 126 "./musl needs the loader /lib/ld-musl-x86_64.so.1" ./musl
rdmaemu_refuses run "musl's loader, by timeout" 126 "./musl needs the loader" timeout -k 1 5 ./musl

# As ld.so itself, which is static and preloads.
loader=$(readelf -l dynamic | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
limit "$RDMAEMU" run "$loader" ./dynamic >out 2>err
is "the loader itself" "$?$(cat out err)" 7ran

if is_root && command -v setpriv >/dev/null && ! findmnt -no OPTIONS -T "$TEST_DIR" | grep -qw nosuid; then
	for what in setuid:4755 setgid:2755; do
		install -o 65534 -g 65534 -m "${what#*:}" dynamic "own-${what%:*}"
		warns "${what%:*}" "is ${what%:*}: the loader preloads nothing" "./own-${what%:*}"
	done
	mkdir -m 0755 user && chmod 711 . && chown 65534 user
	cp dynamic user/caps
	if python3 -c "import os, struct; os.setxattr('user/caps', 'security.capability', struct.pack('<5I', 0x2000001, 1, 0, 0, 0))"; then
		limit setpriv --reuid=65534 --regid=65534 --clear-groups "$RDMAEMU" run --dir "$PWD/user" user/caps >out 2>err
		grep -q 'user/caps is a program with file capabilities' err && ok "file capabilities" ||
			not_ok "file capabilities" "$(cat err)"
		other=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs)
		if "${other[@]}" test -r "$BUILD/lib/librdmaemu.so"; then
			limit "${other[@]}" "$RDMAEMU" run --dir "$PWD/user" user/caps >out 2>err
			is "which no_new_privs takes away" "$(cat out err)" ran
			# The runner, as root, may not stop another user's fabric.
			limit "${other[@]}" "$RDMAEMU" fabric stop --dir "$PWD/user" >/dev/null 2>&1
		else
			skip "which no_new_privs takes away" "another user cannot reach $BUILD"
		fi
	else
		skip "file capabilities" "the file system has no extended attributes"
	fi
else
	skip "setuid and file capabilities" "needs root, setpriv and a file system with set-user-ID"
fi

# The report is about the program, not what starts it.
for by in 'stdbuf -oL' 'env A=1 -' 'nice -n 2' 'timeout -k 1 60' 'env nice stdbuf --output=L'; do
	by=${by% -}
	# shellcheck disable=SC2086
	out=$(limit "$RDMAEMU" run --explain -- $by ./dynamic 2>&1 >/dev/null)
	is "--explain by $by" "$out" "rdmaemu: nothing to explain: no error, drop, NAK or retry of ./dynamic"
done
limit "$RDMAEMU" fabric stop >/dev/null
done_testing
