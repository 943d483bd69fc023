#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Comments, docs, man pages, messages and TAP lines follow mk/prose.words; comment and doc lines are not
# too long; each source begins with the SPDX line.
. "$(dirname "$0")/../../lib/lib.sh"
cd "$TOP" || exit 1
need git

# All but the engine's own folder, its transport and verbs.
CLEAN='.ci CONTRIBUTING.md Makefile README.md SECURITY.md docs emulator/audit emulator/cm emulator/engine emulator/journal
examples fabric include libctl libshim man mk profiles tests traces'

tap python3 mk/prose.py --self-test
# shellcheck disable=SC2086
check "prose follows mk/prose.words" python3 mk/prose.py $CLEAN
done_testing
