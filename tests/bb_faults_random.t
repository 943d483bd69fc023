#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rules see all of it there
# Random scenarios, seeded: each ends, in success or in the right error, with the data that was sent; and some of
# them once more, with the same packets hit and the same completions. FAULT_SCENARIOS=, FAULT_AGAIN= and FAULT_SEED=
# for more.
. "$(dirname "$0")/lib.sh"
need python3

N=${FAULT_SCENARIOS:-60}
FIRST=${FAULT_SEED:-1}
AGAIN=${FAULT_AGAIN:-10}
FAULT=$T/app_fault

# one SEED - its output in $OUT, what was hit in $HIT
one() {
	local all=$TEST_DIR/all args
	python3 "$TOP/tests/fault_random.py" "$1" >"$all" || return
	sed '/^--$/,$d' "$all" >"$TEST_DIR/rules"
	args=$(sed '1,/^--$/d' "$all")
	"$RDMAEMU" fabric start --seed "$1" && "$RDMAEMU" fault add --scenario "$TEST_DIR/rules" || return
	# shellcheck disable=SC2086 # several words
	OUT=$(limit "$RDMAEMU" run -- "$FAULT" local $args 2>&1)
	STATUS=$?
	HIT=$("$RDMAEMU" log | sed -n '/dropped: by fault rule/s/^[^ ]* //p' | sed 's/\[[0-9]*\]//g' | sort)
	"$RDMAEMU" status --audit >/dev/null || STATUS=audit
	"$RDMAEMU" fabric stop
}

# right - errors are those that faults of packets make, and what they flush
right() {
	! grep -E '^(send|recv)' <<<"$OUT" |
		grep -vE '^recv [0-9]|success|Flushed|retry counter exceeded|remote (invalid request|operation) error' |
		grep .
}

bad=()
for ((seed = FIRST; seed < FIRST + N; seed++)); do
	one $seed
	if [ "$STATUS" != 0 ] || ! right; then
		bad+=("seed $seed: status $STATUS" "$(tr '\n' ';' <"$TEST_DIR/rules")" "$OUT")
	fi
done
if [ ${#bad[@]} = 0 ]; then
	ok "$N scenarios"
else
	not_ok "$N scenarios" "${bad[@]}"
fi

# by_time SEED - where packets are late it may depend on real time what is sent again, and where requests
# and answers are counted together, which comes first
by_time() {
	python3 "$TOP/tests/fault_random.py" "$1" >"$TEST_DIR/all"
	grep -qE '^(delay|rate|reorder)' "$TEST_DIR/all" ||
		grep -E '(nth|every|after)=' "$TEST_DIR/all" | grep -qvE 'opcode=|psn=|^(rnr|nak)'
}

same=0 bad=()
for ((seed = FIRST; same < AGAIN && seed < FIRST + N; seed++)); do
	! by_time $seed || continue
	one $seed
	out=$OUT hit=$HIT
	one $seed
	[ "$out" = "$OUT" ] && [ "$hit" = "$HIT" ] || bad+=("seed $seed: $(diff <(echo "$hit") <(echo "$HIT") | head -5)")
	same=$((same + 1))
done
if [ ${#bad[@]} = 0 ]; then
	ok "the same again, $same of them"
else
	not_ok "the same again" "${bad[@]}"
fi
done_testing
