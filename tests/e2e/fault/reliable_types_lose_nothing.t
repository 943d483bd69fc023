#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rules see all of it there
# Data under loss, duplication, reordering and corruption: RC and XRC deliver all of it once and intact. UC and UD lose
# exactly the dropped messages.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

FAULT=$T/app_fault_packets

# under RULES ARGS... - app_fault_packets in a fabric with these rules; its output in $OUT
under() {
	local rules=$1
	shift
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	"$RDMAEMU" fabric start && "$RDMAEMU" fault add "$rules" || return
	OUT=$(limit "$RDMAEMU" run -- "$FAULT" local "$@" 2>&1)
}

# hits - of all rules
hits() {
	"$RDMAEMU" fault list --json |
		python3 -c "import json, sys; print(sum(r['hits'] for r in json.load(sys.stdin)['faults']))"
}

# whole NAME RULES TYPE OP N SIZE - all is done, all has come, in order and once
whole() {
	local name=$1 rules=$2 n=$5 wanted
	shift 2
	if ! under "$rules" "$@" timeout=11 retry=7 rnr=7 min_rnr=1; then
		not_ok "$name: $*" "$OUT"
		return
	fi
	wanted=$(seq 0 $((n - 1)) | xargs)
	[ "$2" = send ] || [ "$2" = imm ] || {
		is "$name: $*" "$(grep -c ' success$' <<<"$OUT")" "$n"
		return
	}
	is "$name: $*" "$(sed -n 's/^recv \([0-9]*\) .*/\1/p' <<<"$OUT" | xargs)" "$wanted"
}

for type in RC XRC; do
	while IFS='|' read -r rules n; do
		whole "$rules" "$rules" $type send "$n" 5000
		whole "$rules" "$rules" $type imm "$n" 5000
		whole "$rules" "$rules" $type write "$n" 5000
		whole "$rules" "$rules" $type read "$n" 5000
		whole "$rules" "$rules" $type add 20 8
		[ $type = RC ] || break
	done <<-END
		loss 10%|60
		loss 1%|200
		duplicate 30%|100
		reorder 10% gap=3|100
		corrupt 10%|100
		delay 100us jitter=50us distribution=pareto|50
		loss 3% ; duplicate 3% ; corrupt 3% ; reorder 3% gap=2 ; nak code=PSN_SEQ_ERR prob=0.02 ; rnr prob=0.02|100
	END
done

# At 50 % eight losses of one packet in a row come up: then it is that message's turn to fail, those before it
# have come, and those after it are flushed.
for op in send imm; do
	for seed in 1 2 3 4; do
		under "loss 50% opcode=REQUEST seed=$seed" RC $op 10 5000 timeout=11 retry=7 rnr=7
		is "loss 50%: RC $op, seed $seed: as it must end" "$(sed -n 's/^send [0-9]* //p' <<<"$OUT" | uniq |
			sed 's/success/+/; s/transport retry counter exceeded/-/; s/Work Request Flushed Error/f/' |
			tr -d '\n' | sed 's/^+\{0,1\}\(-f\{0,1\}\)\{0,1\}$/right/')" right
		came=$(grep -c '^recv [0-9]' <<<"$OUT")
		is "and what came is whole, in order, and once" "$(sed -n 's/^recv \([0-9]*\) .*/\1/p' <<<"$OUT" | xargs)" \
			"$(seq 0 $((came - 1)) | xargs)"
		check "nothing has succeeded that did not come" test "$came" -ge "$(grep -c ' success$' <<<"$OUT")"
	done
done

# Unreliable transports: exactly the dropped packets are missing.
for type in UC UD; do
	under 'loss 10%' $type send 200 500
	came=$(grep -c '^recv [0-9]' <<<"$OUT")
	dropped=$(hits)
	is "$type: 200 but those that were dropped" "$came" $((200 - dropped))
	check "$type: there were some" test "$dropped" -gt 3
	is "$type: each once" "$(sed -n 's/^recv \([0-9]*\) .*/\1/p' <<<"$OUT" | sort -n | uniq -d)" ''
done
under 'loss 5% opcode=SEND_MIDDLE' UC send 100 5000
is 'UC: a message of which something is lost does not come' "$(grep -c '^recv [0-9]' <<<"$OUT")" \
	$((100 - $("$RDMAEMU" log -v | sed -n '/SEND_MIDDLE.*dropped: by fault/s/.*psn \(0x[0-9a-f]*\).*/\1/p' |
		python3 -c "import sys; print(len({(int(l, 16) - 0xabcdef) % 2**24 // 5 for l in sys.stdin}))")))
"$RDMAEMU" fabric stop
done_testing
