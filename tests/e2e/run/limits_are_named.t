#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: limits of one machine
# A limit that is too low is named in one line, with its value and what was wanted.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo

# limited LIMIT VALUE COMMAND... - run it under `ulimit LIMIT VALUE`; output to $OUT
OUT=$TEST_DIR/out
limited() {
	limit bash -c 'ulimit "$1" "$2"; shift 2; exec "$@"' - "$@" >"$OUT" 2>&1
}

# named NAME LINES PATTERN - $OUT has the pattern, and as many lines of rdmaemu's
named() {
	if grep -Eq "^rdmaemu: $3\$" "$OUT" && [ "$(grep -c ^rdmaemu: "$OUT")" = "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$OUT")"
	fi
}

# Memory files count as files: HCA memory is one of 485 MiB, a program's queues are another.
limited -f 1000 "$RDMAEMU" run ibv_devinfo -l
named "too short for HCA memory" 1 \
	'fabric default: cannot start: HCA memory: File too large; files are limited to 1000 KiB \(ulimit -f\), [0-9]+ KiB were wanted'
check "files of HCA memory's size are enough" limited -f 600000 "$RDMAEMU" run ibv_devinfo -l
limited -f 600000 "$RDMAEMU" run "$T/app_device_advertised" queues
named "too short for the largest queues" 1 \
	"cannot map 1048576 KiB for this program's queues: File too large; files are limited to 600000 KiB \(ulimit -f\), 1048576 KiB were wanted"
limit "$RDMAEMU" fabric stop
check "a short program on a fabric without the limit" limit "$RDMAEMU" fabric start
check "has all queues" limited -f 600000 "$RDMAEMU" run "$T/app_device_advertised" queues
if [ "${SAN_RDMAEMU-}" ]; then
	skip "address space" "a sanitizer maps terabytes"
else
	limited -v 400000 "$RDMAEMU" run ibv_devinfo -l
	named "no address space for HCA memory" 1 \
		'cannot use the fabric \(.*\): Cannot allocate memory; the address space is limited to 400000 KiB \(ulimit -v\), [0-9]+ KiB were wanted; see .*'
	limited -v 600000 "$RDMAEMU" run "$T/app_device_advertised" queues
	named "no address space for the largest queues" 1 \
		"cannot map [0-9]+ KiB for this program's queues: Cannot allocate memory; the address space is limited to 600000 KiB .*, [0-9]+ KiB were wanted"
	limit "$RDMAEMU" fabric stop
	limited -v 400000 "$RDMAEMU" run ibv_devinfo -l
	named "nor for the fabric" 1 \
		'fabric default: cannot start: HCA memory: Cannot allocate memory; the address space is limited to 400000 KiB \(ulimit -v\), [0-9]+ KiB were wanted'
fi
done_testing
