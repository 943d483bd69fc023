#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: a fabric of its own, whose process has all packets
# Chaos: correct programs do not notice, a program that relies on luck fails, and a seed repeats the run.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_send_bw ib_write_lat ib_read_lat

stop() {
	"$RDMAEMU" fabric stop >/dev/null 2>&1
}

lucky() {
	"$RDMAEMU" run -- "$T/app_qp_lucky" "$@" 2>/dev/null
}

# Without chaos luck holds.
"$RDMAEMU" fabric start
order=$(lucky)
is "without chaos: as posted" $? 0
stop

caught=
for seed in $(seq 20); do
	RDMAEMU_CHAOS=$seed lucky >"$TEST_DIR/order" || caught="$caught $seed"
	[ "$(wc -w <"$TEST_DIR/order")" = "$(wc -w <<<"$order")" ] || not_ok "seed $seed: completions are missing"
	stop
done
[ -n "$caught" ] && ok "a lucky program is caught within 20 seeds" || not_ok "a lucky program is caught within 20 seeds"

# The same order, packet by packet, by a clock that is moved by hand.
by_hand() {
	"$RDMAEMU" fabric start --chaos="$1" --clock manual
	lucky "$RDMAEMU"
	stop
}
one=$(by_hand 5)
same=0
for _ in $(seq 10); do
	[ "$(by_hand 5)" = "$one" ] && same=$((same + 1))
done
is "the same seed, the same order" "$same" 10
[ "$(by_hand 6)" != "$one" ] && ok "another seed, another order" || not_ok "another seed, another order"

# The command prints the seed, and takes it as an option.
# The fabric of one command is there to be asked, also where the next one comes late.
export RDMAEMU_LINGER=60000
"$RDMAEMU" run --chaos=77 -- true 2>"$TEST_DIR/err"
is "the seed at the end" "$(cat "$TEST_DIR/err")" "rdmaemu: chaos seed 77"
is "in the status" "$(status_json | json "d['chaos_seed']")" 77
"$RDMAEMU" run -- sh -c 'exit 7' 2>/dev/null
is "the exit status is the program's" $? 7
"$RDMAEMU" fabric start --chaos=77
is "another seed is refused" "$("$RDMAEMU" run --chaos=78 -- true 2>&1)" \
	"rdmaemu: fabric default is running with chaos of seed 77; choose another --fabric"
check "any seed will do" "$RDMAEMU" run --chaos -- true
stop
"$RDMAEMU" run --chaos -- true 2>"$TEST_DIR/err"
seed=$(sed -n 's/^rdmaemu: chaos seed \([0-9]*\)$/\1/p' "$TEST_DIR/err")
is "a random one is told" "$(status_json | json "d['chaos_seed']")" "${seed:-none}"
stop
"$RDMAEMU" fabric start
is "a fabric without it" "$("$RDMAEMU" run --chaos -- true 2>&1)" \
	"rdmaemu: fabric default is running without chaos; choose another --fabric"
stop
is "no seed" "$("$RDMAEMU" run --chaos=x -- true 2>&1)" \
	"rdmaemu: run: --chaos 'x': expected a number of at most 64 bits, or random"

# Programs that are right do not notice.
counted() {
	status_json | json "sum(p['counters']['$1'] for d in d['devices'] for p in d['ports'])"
}
for seed in 1 2 3; do
	export RDMAEMU_CHAOS=$seed
	RUN_FLAGS=
	"$RDMAEMU" fabric start
	app app_qp_ops remote
	app app_uc_message remote
	app app_ud_datagram
	app app_xrc_sides remote
	app app_srq_queue remote
	[ "$(counted send_rnr_err)" -gt 0 ] && ok "seed $seed: there were RNR NAKs" || not_ok "seed $seed: there were RNR NAKs"
	check "seed $seed: the HCA's memory is sound" audit_all
	stop
	PAIR_NAME="seed $seed: RC" pair ibv_rc_pingpong -n 200
	PAIR_NAME="seed $seed: RC, by events" pair ibv_rc_pingpong -n 200 -e
	PAIR_NAME="seed $seed: UC" pair ibv_uc_pingpong -n 200
	PAIR_NAME="seed $seed: UD" pair ibv_ud_pingpong -g 0 -n 200
	PAIR_NAME="seed $seed: ib_send_bw" pair ib_send_bw -n 500
	PAIR_NAME="seed $seed: ib_write_lat" pair ib_write_lat -n 100
	PAIR_NAME="seed $seed: ib_read_lat" pair ib_read_lat -n 100
	stop
done
export RDMAEMU_CHAOS=4
RUN_FLAGS=--isolated
app app_qp_ops remote
stop
done_testing
