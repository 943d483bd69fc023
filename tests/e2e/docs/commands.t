#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: the pages' own commands
# waits
# Each command that README.md, docs/guide/ and docs/reference/ show runs as shown, and prints what the page shows.
# Arguments: the pages to check, instead of all.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
cd "$TOP" || exit 1

# Servers of the pages use the programs' default ports: in a network namespace of its own, where one can be made.
if [ -z "${IN_NETNS-}" ] && unshare -rn true 2>/dev/null; then
	own_netns "$@"
fi
if [ -n "${IN_NETNS-}" ]; then
	trap setting_end EXIT
	veth_pair || skip_all "no veth interfaces here"
fi

pages=(README.md docs/guide/*.md docs/reference/*.md)
[ $# = 0 ] || pages=("$@")
export PATH=${RDMAEMU%/*}:$PATH LIMIT
mkdir -p "$TEST_DIR/blocks"
python3 tests/lib/py/docs_pages.py run "$TOP" "$TEST_DIR/blocks" "${pages[@]}" || FAILED=1
done_testing
