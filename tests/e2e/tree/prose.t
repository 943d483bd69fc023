#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Comments, docs, man pages, messages and TAP lines follow mk/prose.words; comment and doc lines are not
# too long; each source begins with the SPDX line.
. "$(dirname "$0")/../../lib/lib.sh"
cd "$TOP" || exit 1
need git

# Folders that are clean so far.
CLEAN='.ci CONTRIBUTING.md README.md SECURITY.md docs/design docs/guide fabric man mk tests/bench tests/data tests/fuzz tests/lib tests/model tests/shim tests/torture tests/verbs tests/unit/emulator
tests/unit/traces'

tap python3 mk/prose.py --self-test
# shellcheck disable=SC2086
check "prose follows mk/prose.words" python3 mk/prose.py $CLEAN
done_testing
