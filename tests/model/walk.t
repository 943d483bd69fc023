#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# settings: one: its model has one device
# Random walks that are compared with a model: of the engine alone, and of four programs through the
# verbs API. WALK_SEED= and WALK_STEPS= (of the engine; a tenth of it for the programs) repeat one.
. "$(dirname "$0")/../lib/lib.sh"

seed=${WALK_SEED:-1}
steps=${WALK_STEPS:-$((300000 / SLOW))}
[ -z "${WALK_STEPS-}" ] || LIMIT=$((TEST_TIMEOUT > 60 ? TEST_TIMEOUT - 10 : TEST_TIMEOUT))

# walk COMMAND... - prints TAP itself
walk() {
	local out status=0
	out=$(limit "$@" 2>&1 </dev/null) || status=$?
	echo "$out"
	if grep -q '^not ok ' <<<"$out"; then
		FAILED=$((FAILED + 1))
	elif [ $status != 0 ]; then
		not_ok "${1##*/}" "status $status"
	fi
}

WALK_SEED=$seed WALK_STEPS=$steps walk "$T/walk_engine"

# While the programs walk and when they have destroyed everything, with their devices still open.
cat >"$TEST_DIR/audit" <<'END'
import json, subprocess, sys
d = json.loads(subprocess.check_output([sys.argv[1], "status", "--json", "--audit"]))
left = [c for c in d["clients"] if c["objects"]] if "end" in sys.argv else []
if d["audit"] not in ("clean", "the engine is busy") or left or ("end" in sys.argv and d["qps"]):
    print("not ok audit: %s; objects left: %s" % (d["audit"], left))
    sys.exit(1)
END
audit="/usr/bin/python3 $TEST_DIR/audit $RDMAEMU"
"$RDMAEMU" fabric start >/dev/null
for mode in turns free; do
	walk "$RDMAEMU" run -- "$T/walk_verbs" $mode $((steps / 10)) "$seed" "$audit" "$audit end"
done
"$RDMAEMU" fabric stop >/dev/null 2>&1

# The programs below the tap see what the model says, too, and make the same calls: with the recorder, and with rules
# that no call hits. On a fabric with rules the emulator takes other turns, so those are on a fabric of real devices.
# walked COMMAND... - the totals of the walk that COMMAND runs
walked() {
	limit "$@" "$T/walk_verbs" turns $((steps / 20)) "$seed" 2>&1 </dev/null | sed 's/^# turns: //'
}
plain=$(walked "$RDMAEMU" run --fresh --)
echo "# $plain"
case $plain in
*"not ok "*) not_ok "without the tap" "$plain" ;;
esac
printf '%s program=nobody\n' "wc status=GENERAL_ERR" "cq delay 1ms" "defer 1ms" "cq hold" \
	"fail call=ibv_post_send errno=EIO" "fail call=ibv_modify_qp errno=EIO" >"$TEST_DIR/rules"
is "recorded" "$(walked "$RDMAEMU" run --fresh -- "$RDMAEMU" record --real --payload none -o "$TEST_DIR/trace" --)" "$plain"
is "with rules for real devices" "$(walked "$RDMAEMU" run --fresh -- "$RDMAEMU" run --real --fresh \
	--scenario "$TEST_DIR/rules" -- | grep -v '^rdmaemu: fault f')" "$plain"
done_testing
