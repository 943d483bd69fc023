#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what devices are like
# Device profiles: the built-in ones, files, errors in them; devices enforce their limits.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo

fabric() {
	limit "$RDMAEMU" fabric "$@"
}

# on PROFILE COMMAND... - on a fabric of that profile, named after it
on() {
	local profile=$1
	shift
	limit "$RDMAEMU" run --fabric "p-${profile//[^a-z0-9]/-}" --profile "$profile" -- "$@"
}

# pair_on PROFILE PROGRAM ARGS... - server and client on a fabric of that profile
pair_on() {
	local profile=$1
	shift
	RDMAEMU_FABRIC=p-$profile RDMAEMU_PROFILE=$profile PAIR_NAME="$profile: $*" pair "$@"
}

# shows PROFILE PATTERN... - lines of ibv_devinfo -v
shows() {
	local profile=$1 info pattern
	shift
	info=$(on "$profile" ibv_devinfo -v 2>&1)
	for pattern; do
		if grep -qE "^[[:space:]]*$pattern\$" <<<"$info"; then
			ok "$profile: $pattern"
		else
			not_ok "$profile: no line matches: $pattern" "$(grep -E "${pattern%%:*}:" <<<"$info")"
		fi
	done
}

shows generic 'max_qp:[[:space:]]+65000' 'vendor_part_id:[[:space:]]+1' 'phys_port_cnt:[[:space:]]+1'
shows rxe 'hca_id:[[:space:]]+rxe0' 'max_cqe:[[:space:]]+32767' 'max_srq:[[:space:]]+960' \
	'active_width:[[:space:]]+1X \(1\)' 'active_speed:[[:space:]]+2.5 Gbps \(1\)'
shows connectx6 'vendor_id:[[:space:]]+0x02c9' 'vendor_part_id:[[:space:]]+4123' \
	'fw_ver:[[:space:]]+20.31.1014' 'board_id:[[:space:]]+MT_0000000223' 'max_sge:[[:space:]]+30'
shows efa 'hca_id:[[:space:]]+efa_0' 'transport:[[:space:]]+unspecified \(4\)' 'vendor_id:[[:space:]]+0x1d0f' \
	'vendor_part_id:[[:space:]]+61345' 'link_layer:[[:space:]]+Unspecified' 'port_lid:[[:space:]]+0' \
	'max_msg_sz:[[:space:]]+0x1000' 'gid_tbl_len:[[:space:]]+1' 'GID\[  0\]:[[:space:]]+fe80:0000:0000:0000(:[0-9a-f]{4}){4}'
shows minimal 'max_sge:[[:space:]]+1' 'max_mtu:[[:space:]]+256 \(1\)' 'active_mtu:[[:space:]]+256 \(1\)' \
	'atomic_cap:[[:space:]]+ATOMIC_NONE \(0\)' 'max_srq:[[:space:]]+0' 'max_pkeys:[[:space:]]+1'
shows infiniband 'link_layer:[[:space:]]+InfiniBand' 'phys_port_cnt:[[:space:]]+2' \
	'port_lid:[[:space:]]+2' 'port_lid:[[:space:]]+3' 'sm_lid:[[:space:]]+1' \
	'max_pkeys:[[:space:]]+8' 'GID\[  0\]:[[:space:]]+fe80:0000:0000:0000(:[0-9a-f]{4}){4}'

# Devices have the limits that the profile states. 0x1c: RC, UC, UD; 0x11c: RAW_PACKET as well.
# limits_on PROFILE ARGS...
limits_on() {
	local profile=$1
	shift
	RUN_FLAGS="--fabric p-$profile --profile $profile" app app_device_limits "$@"
}
limits_on generic 0x11c ops
limits_on connectx6 0x11c ops
limits_on rxe 0x1c ops
limits_on minimal 0x1c ops
limits_on infiniband 0x1c

# InfiniBand addresses by LID, without any GID.
for program in ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
	if command -v "$program" >/dev/null; then
		pair_on infiniband "$program"
	else
		skip "$program" "not installed"
	fi
done
pair_on infiniband ibv_rc_pingpong -i 2
pair_on infiniband ibv_rc_pingpong -g 0
pair_on infiniband ibv_ud_pingpong -i 2 -g 0
is "LIDs are what they tell each other" \
	"$(grep -c 'address:  *LID 0x000[23]' "$TEST_DIR/client.out")" 2
if command -v ib_send_bw >/dev/null; then
	pair_on infiniband ib_send_bw -n 500
	pair_on infiniband ib_send_bw -n 500 -c UD
	pair_on infiniband ib_send_bw -n 500 -i 2
	# perftest posts by ibv_wr_*() to what it takes for a ConnectX.
	pair_on connectx6 ib_send_bw -n 500
	pair_on connectx6 ib_write_lat -n 500
	pair_on connectx6 ib_read_bw -n 500
	pair_on rxe ib_send_lat -n 500
else
	skip "perftest" "not installed"
fi
if (pair_on minimal ibv_rc_pingpong) >"$TEST_DIR/minimal"; then
	not_ok "minimal: 500 receives are too many"
else
	ok "minimal: 500 receives are too many"
fi
pair_on minimal ibv_rc_pingpong -r 10 -m 256 -s 1024 -n 100

# Files.
conf=$TEST_DIR/two.conf
cat >"$conf" <<EOF
# two devices of two ports
devices	2
ports = 2
name	pair	# pair0, pair1
max_pkeys 4
pkeys	0xffff, 0x8001
max_qp	100
EOF
check "a file" fabric start --fabric two --profile "$conf"
info=$(limit "$RDMAEMU" run --fabric two -- ibv_devinfo -v)
is "two devices" "$(grep -c '^hca_id:[[:space:]]*pair[01]$' <<<"$info")" 2
is "of two ports each" "$(grep -c '^[[:space:]]*port:[[:space:]]*[12]$' <<<"$info")" 4
is "with the limit given" "$(grep -c 'max_qp:[[:space:]]*100$' <<<"$info")" 2
is "all else is as in generic" "$(grep -c 'max_cq:[[:space:]]*65000$' <<<"$info")" 2
is "status names the profile" "$(status_json --fabric two | json 'd["profile"]')" two.conf
is "and no address is at two ports" "$(status_json --fabric two | json \
	'(lambda g: len(g) - len(set(g)))([g["gid"] for x in d["devices"] for p in x["ports"] for g in p["gids"]])')" 0
RDMAEMU_FABRIC=two PAIR_NAME="from port to port of a device" pair ibv_rc_pingpong -d pair1 -i 2 -g 0
check "stop" fabric stop --fabric two

cd "$TEST_DIR" || exit 1
check "a file by its relative name" fabric start --fabric rel --profile ./two.conf
check "stop" fabric stop --fabric rel
echo "profile = $conf" >"$TEST_DIR/settings"
check "a file of settings names it" fabric start --fabric set --config "$TEST_DIR/settings"
is "two devices" "$(status_json --fabric set | json 'len(d["devices"])')" 2
check "stop" fabric stop --fabric set

# A fabric that runs is what it is.
check "start rxe" fabric start --fabric mine --profile rxe
check "the same profile again" fabric start --fabric mine --profile rxe
out=$(fabric start --fabric mine --profile connectx6 2>&1)
is "another profile: refused" "$?" 1
is "in a line that says why" "$out" \
	"rdmaemu: fabric mine is running with another profile; choose another --fabric"
check "no profile: whatever runs" limit "$RDMAEMU" run --fabric mine -- true
check "stop" fabric stop --fabric mine

# bad NAME TEXT EXPECTED - a file with TEXT in its second line is refused in one line, and no fabric
# is started
bad() {
	local file=$TEST_DIR/bad.conf out status
	printf '# bad\n%s\n' "$2" >"$file"
	out=$(fabric start --fabric bad --profile "$file" 2>&1)
	status=$?
	if [ $status != 0 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -qE "^rdmaemu: $file(:2)?: $3" <<<"$out" &&
		! fabric status --fabric bad >/dev/null 2>&1; then
		ok "$1"
	else
		not_ok "$1" "status $status" "$out"
	fi
}
bad "an unknown key" "max_qps 5" "'max_qps': expected"
bad "a key without value" "max_qp" "'max_qp': expected"
bad "no number" "max_qp many" "'many': expected a number from 1 to [0-9]+"
bad "too large a number" "max_rd_atom 17" "'17': expected a number from 0 to 16"
bad "too small a number" "max_sge 0" "'0': expected a number from 1 to 32"
bad "a negative number" "max_sge -1" "'-1': expected"
bad "what is behind a number" "max_sge 4x" "'4x': expected"
bad "an unknown word" "link_layer Token_Ring" "'Token_Ring': expected one of Ethernet, InfiniBand"
bad "an unknown capability" "caps XRC MIND_READING" "'MIND_READING': expected RESIZE_MAX_WR, "
bad "three ports" "ports 3" "'3': expected a number from 1 to 2"
bad "a P_Key of 0" "pkeys 0" "'0': expected partition keys"
bad "more P_Keys than the table has" "pkeys 1 2" "pkeys: expected no more than max_pkeys, 1"
bad "an MTU beyond the largest" "active_mtu 4096"$'\n'"max_mtu 1024" "active_mtu: expected no more than max_mtu"
bad "a name with a slash" "name ../x" "'../x': expected 1 to 19 letters"
out=$(limit "$RDMAEMU" run --fabric bad --profile "$TEST_DIR/bad.conf" -- true 2>&1)
is "run says the same, and exits with 125" "$? $(grep -c "^rdmaemu: $TEST_DIR/bad.conf:2: " <<<"$out")" "125 1"
out=$(fabric start --fabric bad --profile nonesuch 2>&1)
is "an unknown name" "$? $out" \
	"2 rdmaemu: profile 'nonesuch': expected generic, infiniband, rxe, connectx6, efa, minimal, or a file"
out=$(RDMAEMU_PROFILE=$TEST_DIR/none.conf fabric start --fabric bad 2>&1)
is "no such file" "$? $out" "2 rdmaemu: profile $TEST_DIR/none.conf: No such file or directory"

# The files that are installed are the built-in profiles.
for file in "$TOP"/profiles/*.conf; do
	check "$(basename "$file") can be loaded" fabric start --fabric file --profile "$file"
	check "and is the built-in one" fabric start --fabric file --profile "$(basename "$file" .conf)"
	check "stop" fabric stop --fabric file
done
done_testing
