# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers of the tests with the programs of rsockets; sourced after tests/lib/lib.sh.

# shellcheck source=tests/lib/rdmacm.sh
. "$TOP/tests/lib/rdmacm.sh"

# stream LINES PROGRAM ARGS... - run both sides. They exit with 0 even if a transfer failed, so they must print
# exactly LINES lines of results
stream() {
	local port lines=$1
	shift
	port=$(free_port)
	cm_both TCP "$port" "$* -p $port" "$* -p $port -s $ADDR" &&
		says client.out "$lines" '^[^ ]+ +[0-9].*s +[0-9.]+ +[0-9.]+$' &&
		says client.out $((lines + 1)) .
}

stream_check() {
	check "${*:2}" stream "$@"
}
