#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Comments, docs, man pages and makefiles name only files that exist, and header sections name the files
# that define their prototypes.
. "$(dirname "$0")/../../lib/lib.sh"
cd "$TOP" || exit 1
need git

tap python3 tests/lib/py/references.py --self-test
check "no stale references" python3 tests/lib/py/references.py
done_testing
