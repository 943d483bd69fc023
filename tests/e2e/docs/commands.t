#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 40
# settings: one: the pages' own commands
# waits
# Each command that README.md, docs/guide/, docs/reference/ and the manual pages show runs as shown, and prints what
# the page shows. C code of the pages compiles.
# Arguments: the pages to check, instead of all. docs/guide/applications.md is tests/e2e/apps/lines_of_the_page.t's.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
cd "$TOP" || exit 1

# Servers of the pages use the programs' default ports: in a network namespace of its own, where one can be made.
try_netns "$@"

shopt -s extglob
pages=(README.md docs/guide/!(applications).md docs/reference/*.md man/*.[1-8])
[ $# = 0 ] || pages=("$@")
export PATH=${RDMAEMU%/*}:$PATH LIMIT
mkdir -p "$TEST_DIR/blocks"
python3 tests/lib/py/docs_pages.py run "$TOP" "$TEST_DIR/blocks" "${pages[@]}" || FAILED=1

# compiles PAGE - the C code that it shows, as the body of a function
compiles() {
	{
		printf '#include <err.h>\n#define RDMAEMU_TEST_FAIL(text) errx(1, "%%s", text)\n#include <rdmaemu-test.h>\n'
		printf 'void run_the_code_under_test(void);\nvoid body(void)\n{\n'
		case $1 in
		*.md) awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$1" ;;
		*) awk '/^.SH EXAMPLES/ { on = 1; next } /^\.fi/ { on = 0 } on && !/^\./' "$1" ;;
		esac
		echo '}'
	} >"$TEST_DIR/body.c"
	grep -q rdmaemu_open "$TEST_DIR/body.c" &&
		${CC:-cc} -std=gnu11 -Wall -Werror -Iinclude -fsyntax-only "$TEST_DIR/body.c"
}
if [ $# = 0 ]; then
	for page in docs/guide/ci.md man/rdmaemu.3; do
		check "C code of $page" compiles "$page"
	done
fi
done_testing
