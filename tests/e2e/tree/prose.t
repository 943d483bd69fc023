#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Comments, docs, man pages, messages and TAP lines follow mk/prose.words; comment and doc lines are not
# too long; each source begins with the SPDX line.
. "$(dirname "$0")/../../lib/lib.sh"
cd "$TOP" || exit 1
need git

tap python3 mk/prose.py --self-test
check "prose follows mk/prose.words" python3 mk/prose.py
done_testing
