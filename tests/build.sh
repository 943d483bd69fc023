#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/build.sh TARGET...: builds the targets of the Makefile with all CPUs, unless MAKEFLAGS says with how many. It
# prints one line: how far it is on a terminal, and how long it took at the end. If make fails, its last lines follow.
set -eu -o pipefail
cd "$(dirname "$0")/.."
MAKE=${MAKE:-make} BUILD=${BUILD:-build}
[ -t 1 ] && tty=1 || tty=

jobs=("-j$(nproc)")
case " ${MAKEFLAGS-} " in *' -j'*) jobs=() ;; esac

# build TARGET... - a line for each step, as the Makefile's `say` prints it
build() {
	$MAKE --no-print-directory "${jobs[@]}" BUILD="$BUILD" V=0 "$@" 2>&1
}

# steps TARGET... - how many steps are missing
steps() {
	build -n "$@" | grep -cE "^echo '  [A-Z]+	" || :
}

log=$(mktemp "${TMPDIR:-/tmp}/rdmaemu-build.XXXXXX")
trap 'rm -f "$log"' EXIT
began=$SECONDS done=0 all=0 status=1
[ -z "$tty" ] || all=$(steps "$@")
while read -r line; do
	case $line in
	exit:*) status=${line#exit:} ;;
	[A-Z][A-Z]*$'\t'*) done=$((done + 1)) ;;
	esac
	[ -z "$tty" ] || printf '\r\033[KBuilding rdmaemu: %d of %d files' $done $((all > done ? all : done))
done < <(
	if build "$@" | tee "$log"; then
		echo "exit:0"
	fi
)
[ -z "$tty" ] || printf '\r\033[K'
if [ "$status" != 0 ]; then
	echo "Building rdmaemu: make failed" >&2
	tail -n 30 "$log" >&2
	exit 1
fi
echo "Building rdmaemu: $done files in $((SECONDS - began)) s"
