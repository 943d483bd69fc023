# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Unmodified programs in pairs of server and client, plain and with a command before them that must change nothing
# (`rdmaemu run --real`); sourced after tests/lib/lib.sh by tests that have a device for them: the emulator's, or one of
# the guest's kernel.

# rxe_sends_mckey - whether datagrams of mckey leave rdma_rxe. Its sender destroys their address handle as soon as it
# has posted them, and rxe of Linux 6.12 looks the handle up later, in a workqueue: it loses some, at times.
rxe_sends_mckey() {
	[[ $(uname -r) = 6.1.* ]]
}

# program_pairs DEVICE ADDRESS GID KIND PORT - the pairs for a device, one a line: server and client, separated by a
# tab. ADDRESS is the port's, for rdma_cm and for sockets; GID an index of its GID table; PORT one for sockets. KIND is
# emulator, rxe or siw; an iWARP device (siw) has RC alone, connected by the rdma_cm.
program_pairs() {
	local dev=$1 address=$2 gid=$3 kind=$4 port=$5 line no_mpi test
	no_mpi=$(without_mpi)
	if [ "$kind" != siw ]; then
		while read -r line; do
			printf '%s -p %s\t%s -p %s %s\n' "$line" "$port" "$line" "$port" "$address"
		done <<-END
			ibv_rc_pingpong -d $dev -g $gid -n 50
			ibv_rc_pingpong -d $dev -g $gid -n 50 -e -c
			ibv_rc_pingpong -d $dev -g $gid -n 50 -N
			ibv_uc_pingpong -d $dev -g $gid -n 50
			ibv_ud_pingpong -d $dev -g $gid -n 50
			ibv_srq_pingpong -d $dev -g $gid -n 50
			ib_send_bw -F -d $dev -x $gid -n 100 -s 4096
			ib_send_bw -F -d $dev -x $gid -n 100 -s 1024 -c UD
			ib_send_bw -F -d $dev -x $gid -n 100 -s 4096 -e -b
			ib_write_bw -F -d $dev -x $gid -n 100 -s 4096 -q 4
			ib_write_bw -F -d $dev -x $gid -n 100 -s 4096 -c UC
			ib_read_bw -F -d $dev -x $gid -n 100 -s 4096
			ib_atomic_bw -F -d $dev -x $gid -n 100
			ib_send_lat -F -d $dev -x $gid -n 100
			ib_write_lat -F -d $dev -x $gid -n 100 -s 8192
			ib_read_lat -F -d $dev -x $gid -n 100
			ib_atomic_lat -F -d $dev -x $gid -n 100
		END
		line="ibv_xsrq_pingpong -d $dev -g $gid -m 1024 -n 20 -p $port"
		printf '%s\t%s\n' "$line -c 1" "$line $address"
		# UCX drops datagrams of rxe over IPv4: it looks for their kind in a field that rxe leaves 0.
		[ "$kind" != rxe ] || gid=0
		line="env UCX_TLS=rc_v UCX_NET_DEVICES=$dev:1 UCX_IB_GID_INDEX=$gid UCX_LOG_LEVEL=error UCX_WARN_UNUSED_ENV_VARS=n"
		line+=" UCX_FENCE_MODE=weak ucx_perftest $no_mpi -p $port -n 100 -w 10"
		for test in "tag_lat -s 8" "ucp_put_lat -s 100000" "ucp_fadd -s 8"; do
			printf '%s\t%s\n' "$line -t $test" "$line -t $test $address"
		done
		printf '%s\t%s\n' "udaddy -b $address" "udaddy -b $address -s $address"
		[ "$kind" = rxe ] && ! rxe_sends_mckey || printf '%s\t%s\n' \
			"stdbuf -oL mckey -m 239.1.2.3 -b $address" "mckey -m 239.1.2.3 -b $address -s"
	fi
	printf '%s\t%s\n' "rping -s -a $address -C 10 -V" "rping -c -a $address -C 10 -V" \
		"ucmatose -b $address" "ucmatose -s $address" \
		"rdma_server -s $address" "rdma_client -s $address" \
		"ib_send_bw -F -R -d $dev -n 100 -s 4096" "ib_send_bw -F -R -d $dev -n 100 -s 4096 $address" \
		"ib_write_lat -F -R -d $dev -n 100" "ib_write_lat -F -R -d $dev -n 100 $address"
}

# pair_name SERVER - a command line of the list without what only tunes it
pair_name() {
	sed -E 's/^env .* ucx_perftest/ucx_perftest/; s/^stdbuf -oL //; s/ -p [0-9]+//; s/ -P 0//; s/  / /g' <<<"$1"
}

# mckey_joined PID - whether the receiver waits for datagrams, or has ended: a sender does not wait for it
mckey_joined() {
	grep -qs "receiving data transfers\|initiating data transfers" "$TEST_DIR/$NAME.server" || ! kill -0 "$1" 2>/dev/null
}

# has_begun FILE PID - whether the file exists, or the process has ended
has_begun() {
	[ -e "$1" ] || ! kill -0 "$2" 2>/dev/null
}

# sides_once NAME SERVER CLIENT [COMMAND...] - run two command lines, each by COMMAND; leaves outputs and exit statuses
# in $TEST_DIR/NAME.*. A client that finds no listener yet fails, and is started again while its server lives. TRACE is
# the directory into which COMMAND records: a client that fails before the server begins would complete that trace. A
# client is started LISTENS_AFTER seconds later still.
sides_once() {
	local NAME=$1 server=$2 client=$3 pid status begun=$SECONDS
	shift 3
	: >"$TEST_DIR/$NAME.server" # a receiver before says there that it receives, too
	# Not by limit(): a signal would end the subshell of that function, and not the server.
	# shellcheck disable=SC2086 # command lines are plain words
	timeout --foreground -k 5 "$LIMIT" "$@" $server >"$TEST_DIR/$NAME.server" 2>&1 </dev/null &
	pid=$!
	[[ $client != mckey* ]] || wait_for 30 mckey_joined $pid
	[ -z "${TRACE-}" ] || wait_for 30 has_begun "$TRACE/trace" $pid
	[ -z "${LISTENS_AFTER-}" ] || sleep "$LISTENS_AFTER"
	while :; do
		status=0
		# shellcheck disable=SC2086
		limit "$@" $client >"$TEST_DIR/$NAME.client" 2>&1 </dev/null || status=$?
		did_well $status "$TEST_DIR/$NAME.client" && status=0
		[ $status != 0 ] && [ $((SECONDS - begun)) -lt 30 ] && kill -0 $pid 2>/dev/null &&
			! too_early "$TEST_DIR/$NAME.client" || break
		sleep 0.2
	done
	[ $status = 0 ] || kill $pid 2>/dev/null
	echo "client $status" >"$TEST_DIR/$NAME.status"
	status=0
	wait $pid || status=$?
	did_well $status "$TEST_DIR/$NAME.server" && status=0
	echo "server $status" >>"$TEST_DIR/$NAME.status"
}

# sides NAME SERVER CLIENT [COMMAND...] - sides_once, again while perftest's client comes too early
sides() {
	local i
	for ((i = 0; i < 12; i++)); do
		sides_once "$@"
		too_early "$TEST_DIR/$1.client" || return 0
		[ -z "${TRACE-}" ] || rm -rf "$TRACE"
	done
}

# masked FILE - its lines with numbers, hexadecimal ones and addresses, too, as N, and blanks as one; without what rping
# says, or not, in the race that did_well() describes, and without the lines that ucx_perftest prints each second and
# perftest if it cannot calibrate its clock on a busy host
masked() {
	sed -E '/^rdma_get_cm_event: |^(client|server) DISCONNECT EVENT|wait for RDMA_READ_ADV state 10$|^\[thread [0-9]+\]|^Correlation coefficient r\^2: /d
		s/0x[0-9a-f]+|[0-9a-f:]*:[0-9a-f:]+|\<[0-9a-f]{5,}\>|-?\<(inf|nan)\>|[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?/N/gi
		s/[[:blank:]]+/ /g; s/ $//' "$1"
}

# went_well NAME - whether both sides of the pair ended with 0
went_well() {
	[ "$(cat "$TEST_DIR/$1.status")" = $'client 0\nserver 0' ]
}

# alike NAME NAME - print how two pairs differ, which must not
alike() {
	local side
	diff "$TEST_DIR/$1.status" "$TEST_DIR/$2.status" || return
	for side in server client; do
		diff <(masked "$TEST_DIR/$1.$side") <(masked "$TEST_DIR/$2.$side") || return
	done
}
