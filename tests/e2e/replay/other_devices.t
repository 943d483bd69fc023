#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: makes its own fabrics, which stand for other machines
# Traces that were recorded over other devices, and traces that are replayed on other devices, with other names, GIDs,
# LIDs and addresses. A fabric plays the part of the hardware; `--real` cannot tell the difference.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong ib_write_bw rping ucmatose udaddy

# on FABRIC NODE COMMAND... - where the devices of that fabric's node are the machine's own
on() {
	local fabric=$1 node=$2
	shift 2
	limit "$RDMAEMU" run --fabric "$fabric" ${node:+--node "$node"} -- "$@"
}

# listens FABRIC PORT PID
listens() {
	kill -0 "$3" 2>/dev/null || return 0
	"$RDMAEMU" status --json --fabric "$1" 2>/dev/null |
		json "any(i['state'] == 'LISTEN' and i['source'].endswith(':$2') for i in d['ids'])" | grep -q True
}

# both FABRIC PORT RECORD... -- SERVER -- CLIENT - two programs, each behind RECORD; \$A and \$B are their nodes
both() {
	local fabric=$1 port=$2 server status=0 words=() s=() c=()
	shift 2
	while [ "$1" != -- ]; do words+=("$1") && shift; done
	shift
	while [ "$1" != -- ]; do s+=("$1") && shift; done
	shift
	c=("$@")
	on "$fabric" "${A-}" "${words[@]}" -- "${s[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	if [ -n "${CM-}" ]; then
		wait_for 20 listens "$fabric" "$port" $server
	else
		wait_listen "$port" $server
	fi || return
	on "$fabric" "${B-}" "${words[@]}" -- "${c[@]}" >"$TEST_DIR/client.out" 2>&1 </dev/null || status=$?
	wait $server || status=$?
	# rping's threads race at its end.
	[ $status = 0 ] || [ "${s[0]}" = rping ] && return
	tail -n 5 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}

# over FABRIC NAME COMMAND... - a pair is recorded over the devices of a fabric
over() {
	local fabric=$1 dir=$TEST_DIR/$2 port
	shift 2
	rm -rf "$dir"
	port=$(free_port)
	both "$fabric" "$port" "$RDMAEMU" record --real -o "$dir" -- "$@" -p "$port" -- "$@" -p "$port" 127.0.0.1
}

# over_cm FABRIC NAME SERVER -- CLIENT - the same of programs that connect by the rdma_cm. What rping does with its
# channel when that is no more, at its end, is no part of what is to be played.
over_cm() {
	local fabric=$1 dir=$TEST_DIR/$2 port CM=1 i
	shift 2
	for i in 1 2 3 4 5; do
		rm -rf "$dir"
		port=$(free_port)
		both "$fabric" "$port" "$RDMAEMU" record --real -o "$dir" -- "${@//PORT/$port}" || return
		grep -q 'channel=?' "$dir"/p*/calls || return 0
	done
	return 1
}

# plays NAME [FLAG]... - on a fresh fabric, without a divergence
plays() {
	local out dir=$TEST_DIR/$1
	shift
	out=$(limit "$RDMAEMU" replay --timeout $((20 * SLOW)) "$@" "$dir" 2>&1) &&
		grep -q ', [1-9][0-9]* calls, .*: no divergence$' <<<"$out" && return
	echo "$out"
	return 1
}

# plays_on FABRIC NODE NAME [FLAG]... - on the devices of that node
plays_on() {
	local out dir=$TEST_DIR/$3 fabric=$1 node=$2
	shift 3
	out=$(on "$fabric" "$node" "$RDMAEMU" replay --real --timeout $((20 * SLOW)) "$@" "$dir" 2>&1) &&
		grep -q ', [1-9][0-9]* calls, .*: no divergence$' <<<"$out" && return
	echo "$out"
	return 1
}

# refused WORDS COMMAND... - exit status 2 and a line with these words
refused() {
	local words=$1 out status=0
	shift
	out=$("$@" 2>&1) || status=$?
	[ $status = 2 ] && [ "$(wc -l <<<"$out")" = 1 ] && [[ $out == *"$words"* ]] && return
	echo "status $status: $out"
	return 1
}

# first_address NAME PROGRAM - the IPv4 address in the GID table, or of the port
first_address() {
	local hex
	hex=$(sed -n 's/^gid 0 1 [0-9]* 00000000000000000000ffff\([0-9a-f]*\) .*/\1/p' "$TEST_DIR/$1/$2/devices" | head -n 1)
	printf '%d.%d.%d.%d\n' "0x${hex:0:2}" "0x${hex:2:2}" "0x${hex:4:2}" "0x${hex:6:2}"
}

# --- recorded over other devices, played here ---

cat >"$TEST_DIR/card.conf" <<END
name mlx5_
fw_ver 20.31.1014
vendor_id 0x02c9
part_id 4123
hw_ver 0
speed HDR
max_qp 20000
max_sge 30
max_cqe 4194303
comp_vectors 63
END
check "a fabric that stands for a card" limit "$RDMAEMU" fabric start --fabric card --name host1 --profile "$TEST_DIR/card.conf"
check "one that stands for a card of InfiniBand" limit "$RDMAEMU" fabric start --fabric ib --name host1 --profile infiniband

check "recorded over a card: ibv_rc_pingpong" over card rc ibv_rc_pingpong -g 1 -n 50
check "what the devices were is in the trace" grep -qE '^device 0 mlx5_0 [0-9a-f]{16}$' "$TEST_DIR/rc/p2/devices"
check "the card's name is elsewhere another" plays rc
check "recorded over a card: ibv_ud_pingpong" over card ud ibv_ud_pingpong -g 1 -n 50
check "datagrams" plays ud
check "recorded over a card: ib_write_bw" with_clock over card write ib_write_bw -n 20 -F
check "perftest" plays write
addr=$(first_address rc p1)
check "recorded over a card: rping" over_cm card rping rping -s -C 3 -a "$addr" -p PORT -- rping -c -a "$addr" -C 3 -p PORT
check "addresses of the rdma_cm" plays rping
check "recorded over InfiniBand: ibv_rc_pingpong" over ib ibrc ibv_rc_pingpong -n 50
check "LIDs" plays ibrc

profile_same() {
	local line
	"$RDMAEMU" run --fabric like --profile "$TEST_DIR/rc/profile" ibv_devinfo -v >"$TEST_DIR/like" || return
	for line in "hca_id:	mlx5_0" "fw_ver:				20.31.1014" "vendor_id:			0x02c9" \
		"vendor_part_id:			4123" "max_qp:				20000" "max_sge:			30"; do
		grep -qF "$line" "$TEST_DIR/like" || { echo "not there: $line" && return 1; }
	done
}
check "the trace has a profile of the card" profile_same
check "a fabric with it says what the card has said" plays write --capabilities
check "what a card of another kind can do is not compared" plays write --profile generic
capabilities() {
	local out status=0
	out=$(limit "$RDMAEMU" replay --capabilities --profile generic "$TEST_DIR/write" 2>&1) || status=$?
	[ $status = 1 ] && grep -q 'ibv_query_device' <<<"$out" && return
	echo "status $status: $out"
	return 1
}
check "--capabilities: it is" capabilities

# --- a run over other devices and one here, compared ---

# compared NAME NAME STATUS [OPTION]... - `trace diff` ends with that status; what it prints is in $TEST_DIR/compared
compared() {
	local status=0
	limit "$RDMAEMU" trace diff "${@:4}" "$TEST_DIR/$1" "$TEST_DIR/$2" >"$TEST_DIR/compared" 2>&1 || status=$?
	[ $status = "$3" ] && return
	echo "status $status"
	head -n 20 "$TEST_DIR/compared"
	return 1
}

# prints LINE... - that output has each of these lines
prints() {
	local line
	for line; do
		grep -qxF -- "$line" "$TEST_DIR/compared" || { echo "not there: $line" && head -n 20 "$TEST_DIR/compared" && return 1; }
	done
}

cat >"$TEST_DIR/soft.conf" <<END
name soft
active_mtu 2048
max_qp 500
END
check "a fabric of another kind" limit "$RDMAEMU" fabric start --fabric soft --name host2 --subnet 10.46.0.0/16 --profile "$TEST_DIR/soft.conf"
# emulated NAME PORT COMMAND... - the same pair by the emulator, on another device; \$A and \$B are its nodes
emulated() {
	local dir=$TEST_DIR/$1 port=$2
	shift 2
	rm -rf "$dir"
	both soft "$port" "$RDMAEMU" record --fabric soft -o "$dir" -- "$@"
}
port=$(free_port)
pair=(ibv_rc_pingpong -g 1 -n 50 -p "$port")
check "the emulator does the same" emulated erc "$port" "${pair[@]}" -- "${pair[@]}" 127.0.0.1
check "it did the same on both" compared rc erc 0
check "devices that differ are told" prints "~ device: mlx5_0 | soft0"
check "--capabilities: they differ" compared rc erc 1 --capabilities
check "how fast a port is" grep -q '^- p[12]/calls:[0-9]*: ibv_query_port .*active_speed=64' "$TEST_DIR/compared"
pair=(ibv_rc_pingpong -g 1 -n 50 -m 512 -p "$port")
check "the emulator, with another MTU" emulated emtu "$port" "${pair[@]}" -- "${pair[@]}" 127.0.0.1
check "what a program asks for is compared" compared rc emtu 1
check "and printed" grep -q '^+ p1/calls:[0-9]*: ibv_modify_qp .*path_mtu=IBV_MTU_512' "$TEST_DIR/compared"
addr=$(first_address rc p1)
check "recorded over a card: rdma_client" over_cm card cmcard rdma_server -s "$addr" -p PORT -- rdma_client -s "$addr" -p PORT
addr=$(first_address erc p1)
port=$(sed -n 's/^rdma_getaddrinfo .*service="\([0-9]*\)".*/\1/p' "$TEST_DIR/cmcard/p1/calls")
CM=1 check "the emulator does the same: rdma_client" emulated ecm "$port" rdma_server -s "$addr" -p "$port" -- \
	rdma_client -s "$addr" -p "$port"
check "it did the same, with other addresses" compared cmcard ecm 0
echo "active_mtu 1024" >"$TEST_DIR/short.conf"
check "a fabric of another MTU" limit "$RDMAEMU" fabric start --fabric short --profile "$TEST_DIR/short.conf"
check "recorded over it: ib_read_bw" with_clock over short gread ib_read_bw -x 1 -n 20 -F
port=$(free_port)
pair=(ib_read_bw -x 1 -n 20 -F -p "$port")
check "the emulator does the same: ib_read_bw" with_clock emulated eread "$port" "${pair[@]}" -- "${pair[@]}" 127.0.0.1
check "a limit that a program passes on is that of the device" compared gread eread 0
check "and it is told" prints "~ ibv_query_port attr.active_mtu: IBV_MTU_1024 | IBV_MTU_2048" \
	"~ ibv_modify_qp attr.path_mtu: IBV_MTU_1024 | IBV_MTU_2048"
json_of_devices() {
	"$RDMAEMU" trace diff --json "$TEST_DIR/gread" "$TEST_DIR/eread" >"$TEST_DIR/compared" &&
		json "{'devices': True, 'call': 'ibv_query_device', 'field': 'attr.max_qp', 'a': '65000', 'b': '500'} in d \
			and all(e['devices'] for e in d)" <"$TEST_DIR/compared" | grep -qx True && return
	cat "$TEST_DIR/compared"
	return 1
}
check "as JSON" json_of_devices

# --- recorded here, played on other devices ---

# here NAME FLAGS -- COMMAND... - a pair on nodes a and b of a fabric of its own
here() {
	local dir=$TEST_DIR/$1 port server status=0 flags=()
	shift
	while [ "$1" != -- ]; do flags+=("$1") && shift; done
	shift
	rm -rf "$dir"
	port=$(free_port)
	limit "$RDMAEMU" record -o "$dir" "${flags[@]}" --node a -- "$@" -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server || return
	limit "$RDMAEMU" record -o "$dir" "${flags[@]}" --node b -- "$@" -p "$port" 127.0.0.1 >"$TEST_DIR/client.out" 2>&1 </dev/null || status=$?
	wait $server || status=$?
	return $status
}

# here_cm NAME FABRIC SERVER -- CLIENT - of the rdma_cm, on the same nodes
here_cm() {
	local dir=$TEST_DIR/$1 fabric=$2 port i
	shift 2
	for i in 1 2 3 4 5; do
		rm -rf "$dir"
		port=${PORT-$(free_port)}
		both_here "$fabric" "$dir" "$port" "${@//PORT/$port}" || return
		grep -q 'channel=?' "$dir"/p*/calls || return 0
	done
	return 1
}

both_here() {
	local fabric=$1 dir=$2 port=$3 server status=0 s=()
	shift 3
	while [ "$1" != -- ]; do s+=("$1") && shift; done
	shift
	limit "$RDMAEMU" record -o "$dir" --fabric "$fabric" --node a -- "${s[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_for 20 listens "$fabric" "$port" $server || return
	limit "$RDMAEMU" record -o "$dir" --fabric "$fabric" --node b -- "$@" >"$TEST_DIR/client.out" 2>&1 </dev/null || status=$?
	wait $server || status=$?
	[ $status = 0 ] || [ "${s[0]}" = rping ] && return
	tail -n 5 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}

check "a fabric to record on" limit "$RDMAEMU" fabric start --fabric mine --subnet 10.9.0.0/24
check "one of InfiniBand" limit "$RDMAEMU" fabric start --fabric mineib --subnet 10.9.0.0/24 --profile infiniband
for fabric in mine mineib; do
	for node in a b; do
		check "$fabric: node $node" limit "$RDMAEMU" run --fabric $fabric --node $node -- true
	done
done
check "a machine with other addresses" limit "$RDMAEMU" fabric start --fabric far --name host2 --subnet 10.44.0.0/16 \
	--profile "$TEST_DIR/card.conf"
check "one of InfiniBand with others" limit "$RDMAEMU" fabric start --fabric farib --name host2 --subnet 10.45.0.0/16 --profile infiniband

check "recorded here: ibv_rc_pingpong" here hrc --fabric mine -- ibv_rc_pingpong -g 1 -n 50
check "a card by another name, with other GIDs" plays_on far x hrc
check "and as always" plays hrc
check "recorded here: ibv_ud_pingpong" here hud --fabric mine -- ibv_ud_pingpong -g 1 -n 50
check "the GRHs of datagrams" plays_on far x hud
check "recorded here: ib_send_bw, datagrams" with_clock here hsend --fabric mine -- ib_send_bw -c UD -n 20 -F
check "perftest on a card" plays_on far x hsend
addr=$(first_address hrc p1)
check "recorded here: ucmatose" here_cm hcm mine ucmatose -b "$addr" -p PORT -- ucmatose -s "$addr" -p PORT
check "addresses of a card" plays_on far x hcm
# Its port is its own.
PORT=7174 check "recorded here: udaddy" here_cm hudaddy mine udaddy -b "$addr" -- udaddy -s "$addr"
check "paths of datagrams" plays_on far x hudaddy
check "recorded here, InfiniBand: ibv_ud_pingpong" here hibud --fabric mineib -- ibv_ud_pingpong -n 50
check "LIDs of a card" plays_on farib x hibud

check "recorded here, InfiniBand: ucmatose" here_cm hibcm mineib ucmatose -b 10.9.0.1 -p PORT -- ucmatose -s 10.9.0.1 -p PORT
check "addresses that are no GIDs" plays_on farib x hibcm

# --- a changed library ---

# caught MUTANT NAME WORDS - the replay on devices of that emulator (tests/mutants) ends with these words
caught() {
	local out status=0
	out=$(RDMAEMU_LIB=$T/mutants/$1/librdmaemu.so on far x "$RDMAEMU" replay --real --timeout $((10 * SLOW)) "$TEST_DIR/$2" 2>&1) ||
		status=$?
	[ $status = 1 ] && grep -q "$3" <<<"$out" && return
	echo "status $status: $out"
	return 1
}
check "recorded here: ib_atomic_bw" with_clock here hatomic --fabric mine -- ib_atomic_bw -n 100 -F
check "atomics on a card" plays_on far x hatomic
# The recorder saw the server's word change during the run, or only its final contents; the client's memory has what the
# atomics returned. Whichever program compares first ends the replay.
check "a library whose atomics are wrong is caught" caught atomic_adds_one_more hatomic \
	"memory \(that peers change\|at its end\) differs"
check "one whose immediates are wrong is caught" caught immediate_is_zero hudaddy "the completion's imm differs"

# --- rules of faults ---

# Queries by the recorder and the replay are not recorded as calls of the program.
rules() {
	local a b
	printf 'fail call=%s errno=EIO nth=1\n' ibv_query_port ibv_query_gid_ex ibv_query_device >"$TEST_DIR/rules"
	a=$(limit "$RDMAEMU" run --fabric r1 --scenario "$TEST_DIR/rules" -- ibv_devinfo -v 2>&1; echo $?)
	b=$(limit "$RDMAEMU" record -o "$TEST_DIR/rules.trace" --fabric r2 --scenario "$TEST_DIR/rules" -- ibv_devinfo -v 2>&1; echo $?)
	[ "${a//guid:*/}" = "${b//guid:*/}" ] && grep -q ' = EIO$' "$TEST_DIR/rules.trace/p1/calls" &&
		grep -q '^gid 0 1 0 ' "$TEST_DIR/rules.trace/p1/devices" && plays rules.trace && return
	printf '%s\n' "$a" "$b"
	return 1
}
check "rules count the program's calls only" rules

# --- what cannot be mapped ---

# changed NAME SED... - the trace $TEST_DIR/changed
changed() {
	rm -rf "$TEST_DIR/changed"
	cp -r "$TEST_DIR/$1" "$TEST_DIR/changed"
	sed -i "${@:2}" "$TEST_DIR"/changed/p*/devices
}
plays_on_raw() {
	on "$1" x "$RDMAEMU" replay --real "$TEST_DIR/$2"
}
check "another link layer" refused "expected Ethernet, here rdmaemu0 has InfiniBand" plays_on_raw farib hrc
changed rc -e '$a device 1 mlx5_1 0002c90300a1b2c0\nport 1 1 Ethernet 0 0 0'
check "fewer devices" refused "expected 2 devices (mlx5_0, mlx5_1), here are 1 (mlx5_0)" plays_on_raw far changed
changed rc -e 's/^\(gid 0 1 1 .*\) RoCEv2 /\1 RoCEv1 /'
check "no GID of that type" refused "expected an entry like GID 1 (::ffff:" plays_on_raw far changed
changed rc -e 's/^port 0 1 Ethernet .*/port 0 1 Ethernet 0 0 0 0/'
check "a line that is none" refused "changed/p1/devices:3: expected 'port DEVICE PORT LINK LID LMC SM_LID'" plays_on_raw far changed

# At another index, which calls name.
index() {
	changed rc -e 's/^gid 0 1 1 \(.*\)/gid 0 1 1 fe800000000000000000000000000001 RoCEv1 0\ngid 0 1 2 \1/' \
		-e '/^gid 0 1 [23] .* RoCEv2 [0-9]*$/d'
	sed -i 's/ index=1 / index=2 /; s/sgid_index=1 /sgid_index=2 /' "$TEST_DIR"/changed/p*/calls
	plays changed
}
check "a GID that is elsewhere in the table" index

older() {
	rm -rf "$TEST_DIR/changed"
	here hold --fabric mine2 --subnet 10.9.0.0/24 -- ibv_rc_pingpong -g 1 -n 50 || return
	cp -r "$TEST_DIR/hold" "$TEST_DIR/changed"
	rm "$TEST_DIR"/changed/p*/devices
	plays changed
}
check "a trace that does not say what the devices were" older
done_testing
