#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `rdmaemu status` shows what programs have on real devices as it shows programs on emulated ones. The emulator of an
# outer run stands for the real devices, and knows the same objects.
. "$(dirname "$0")/../../lib/lib.sh"
need rping ib_send_bw

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
counts='sorted((c["qps"], c["cqs"], c["mrs"], c["mr_bytes"], c["pds"]) for c in d["clients"])'
queues='sorted((q["qpn"], q["type"], q["state"], q["device"], q["pid"], q["name"], q.get("peer_qpn")) for q in d["qps"])'

# both EXPRESSION - of the status of the emulated devices, and of the one of real devices
both() {
	status_json | json "$1"
	status_json --fabric real | json "$1"
}

# same - the two statuses have the same objects
same() {
	local c q
	c=$(both "$counts")
	q=$(both "$queues")
	[ "$(uniq <<<"$c" | wc -l) $(uniq <<<"$q" | wc -l)" = "1 1" ]
}

# real COMMAND... - on real devices, with a journal
real() {
	emu "$R" run --real --explain --fabric real -- "$@"
}

# --- each step of a program

mkfifo steps
real "$T/app_fault_objects" <steps >out 2>err &
run=$!
exec 3>steps
text() {
	limit "$R" status --fabric real "$@" | sed -nE '/^(program|client|qps|qp)/ { s/process [0-9]+/process PID/; s/0x[0-9a-f]+/N/g; p }'
}
for step in opened created failed destroyed closed; do
	wait_for 20 grep -q "^$step" out || not_ok "the program gets to: $step" "$(cat err)"
	check "$step: as on emulated devices" same
	case $step in
	created)
		is "they have real devices" "$(status_json --fabric real | json '{(c["real"], *c["devices"]) for c in d["clients"]}, {q["real"] for q in d["qps"]}')" \
			"({(True, 'rdmaemu0')}, {True})"
		is "as text" "$(text)" "program  app_fault_objects, real device rdmaemu0: process PID: 3 QPs, 6 CQs, 3 MRs
qps      2 RTS, 1 RESET"
		is "with -v" "$(text -v | sort)" "client 0: process PID (app_fault_objects), real device rdmaemu0, 3 QPs, 6 CQs, 3 MRs
qp N: RC RTS, process PID (app_fault_objects), real device rdmaemu0, peer N
qp N: RC RTS, process PID (app_fault_objects), real device rdmaemu0, peer N
qp N: UD RESET, process PID (app_fault_objects), real device rdmaemu0"
		is "metrics have them, too" "$(limit "$R" status --fabric real --prometheus | grep -c '_qps{.*real="true".* 3$\|^rdmaemu_qp_info{.*real="true"')" 4
		;;
	failed)
		is "one queue pair has failed" "$(text | tail -1)" "qps      1 ERR, 1 RTS, 1 RESET"
		;;
	closed)
		is "no device is open" "$(text)" "program  app_fault_objects, no real device: process PID: 0 QPs, 0 CQs, 0 MRs"
		;;
	esac
	echo >&3
done
exec 3>&-
wait $run
is "the program ends well" $? 0

# --- objects and states that librdmacm makes

port=$(free_port)
# shellcheck disable=SC2016
real sh -c 'rping -s -p "$0" -C 1000000 >/dev/null 2>&1 & server=$!
	until rping -c -a 127.0.0.1 -p "$0" -C 1000000 >/dev/null 2>&1; do
		[ -e stop ] && exit; kill -0 $server || exit; sleep 0.1
	done' "$port" >/dev/null 2>&1 &
run=$!
connected() {
	[ "$(status_json --fabric real | json '[q["state"] for q in d["qps"]]')" = "['RTS', 'RTS']" ]
}
check "both ends of a connection are in RTS" wait_for 20 connected
is "and have what they have on emulated devices" "$(both "$counts" | uniq | wc -l)" 1
touch stop
for pid in $(status_json --fabric real | json '" ".join(str(c["pid"]) for c in d["clients"])'); do
	kill "$pid"
done
wait $run
# ib_send_bw goes through the table of GIDs to its end.
port=$(free_port)
# shellcheck disable=SC2016
real sh -c 'ib_send_bw -F -n 5 -p "$0" & until ib_send_bw -F -n 5 -p "$0" localhost; do sleep 0.1; done; wait' "$port" \
	>/dev/null 2>explained
is 'an empty entry of the table of GIDs is no failure' "$(grep -c ENODATA explained)" 0
done_testing
