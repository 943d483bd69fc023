#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# Random walks with a model beside them: the engine alone, and four programs through the verbs API.
#	WALK_SEED= WALK_STEPS=	repeat one, or walk further
. "$(dirname "$0")/lib.sh"

out=$(WALK_STEPS=${WALK_STEPS-$((1000000 / SLOW))} limit "$T/walk_engine" 2>&1) ||
	[ -n "$(grep '^not ok' <<<"$out")" ] || not_ok "walk_engine" "status $?"
echo "$out"
grep -q '^not ok' <<<"$out" && FAILED=$((FAILED + 1))
done_testing
