#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: needs no fabric
# Doorbells, token, commits, completions and wake-ups under a weak memory model: all executions (tests/litmus/model.h),
# and that the search notices each fence that is missing (tests/litmus/mutants/).
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=${BUILD:-build}/tests/litmus
if [ ! -x "$dir/token" ]; then
	echo "# SKIP these programs are built without sanitizers, with gcc"
	exit 77
fi

for program in token commit sequence copy; do
	"$dir/$program" || echo "not ok - litmus $program: status $?"
done
for mutant in tests/litmus/mutants/*.sed; do
	name=$(basename "$mutant" .sed)
	"$dir/mutants/$name/program" >"$TEST_DIR/out"
	if [ $? = 1 ] && grep -q '^not ok' "$TEST_DIR/out"; then
		echo "ok - $name is noticed"
	else
		echo "not ok - $name is noticed"
	fi
done
