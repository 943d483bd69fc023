#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: counts instructions
# `run --real` alone leaves nothing in a program: a post and a poll execute as many instructions as without it. With
# fault rules the tap is there, and costs a bounded number of them, whatever rules there are: a request that no rule
# names does not ask the fabric process. The emulator of an outer run stands for the device.
. "$(dirname "$0")/../../lib/lib.sh"
need valgrind callgrind_annotate gcc
need_valgrind

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
gcc -O2 -o cost "$TOP/tests/bench/tap_cost.c" -libverbs || skip_all "gcc makes no program"

# counts LOOP COMMAND... - instructions that one call of the loop executes; in front of the program stands COMMAND
counts() {
	rm -f callgrind.*
	limit "${@:2}" valgrind -q --tool=callgrind --callgrind-out-file=callgrind.%p --collect-atstart=no \
		--toggle-collect="$1" ./cost >/dev/null 2>err || cat err
	sed -n 's/^totals: //p' callgrind.* | awk '{ printf "%.0f\n", $1 / 1000 }'
}

echo 'fail call=ibv_reg_mr errno=ENOMEM nth=1000000' >rules
# Rules of each kind, of which none is about what the loops do.
cat >all <<'END'
fail call=ibv_reg_mr errno=ENOMEM nth=1000000
fail call=ibv_post_recv errno=ENOMEM program=nobody
wc status=GENERAL_ERR opcode=SEND
wc status=GENERAL_ERR wr_id=77
wc status=GENERAL_ERR program=nobody
cq delay 1ms size=99
cq hold
defer 1ms type=UD
cm drop REQ
limit max_qp=1000
END
for loop in poll_loop post_loop; do
	plain=$(counts $loop "$R" run --)
	check "$loop is counted: $plain" test "$plain" -gt 0
	real=$(counts $loop "$R" run -- "$R" run --real --)
	# One for the rounding: a first call binds symbols.
	check "$loop: as many with --real: $real" test $((real - plain)) -ge -1 -a $((real - plain)) -le 1
	for rules in rules:130 all:400; do
		most=$((plain + ${rules#*:}))
		tapped=$(counts $loop "$R" run -- "$R" run --real --fresh --scenario "${rules%:*}" --)
		check "$loop: more with rules, but at most $most: $tapped" test "$tapped" -gt "$plain" -a "$tapped" -le $most
	done
done
done_testing
