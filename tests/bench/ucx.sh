# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# UCX over RC on the emulator, next to UCX's own shared memory on the same two CPUs; sourced by tests/bench/run. By
# default memory is lent as far as that takes little time; RDMAEMU_LEND=1 asks for all of it: those are samples of their
# own. Without ucx_perftest nothing is measured.

# Each test: its name, the field of the result line, counted from its end, -t of ucx_perftest, bytes, iterations
UCX_TESTS=(
	'tag_lat 4 tag_lat 8 50000'
	'put_lat 4 ucp_put_lat 8 50000'
	'get 4 ucp_get 8 100000'
	'fadd 4 ucp_fadd 8 100000'
	'rate_64 0 tag_bw 64 200000'
	'bw_65536 2 tag_bw 65536 50000'
	'bw_1048576 2 tag_bw 1048576 5000'
)

# ucx_alone PROGRAM ARGS... - as pair_run, without the emulator
# shellcheck disable=SC2317
ucx_alone() {
	local port server c=0
	port=$(free_port)
	# shellcheck disable=SC2086
	limit $PAIR_SERVER "$@" -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	# shellcheck disable=SC2086
	wait_listen "$port" $server &&
		limit $PAIR_CLIENT "$@" -p "$port" "$ADDR" >"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	[ $c = 0 ] || kill $server 2>/dev/null
	wait $server && return $c
}

# ucx_test NAME FIELD TEST BYTES TIMES - one sample
ucx_test() {
	local name=$1 field=$2 value
	set -- ucx_perftest "${no_mpi[@]}" -t "$3" -s "$4" -n "$5" -w 1000 -f
	note "$name: $*"
	if ! ${PAIR:-pair_run} "$@" >"$dir/log"; then
		failure "$name: $*"
		return
	fi
	value=$(awk -v f="$field" 'NF > 6 && $(NF - f) ~ /^[0-9.]+$/ { v = $(NF - f) } END { print v }' "$dir/client.out")
	if [ -n "$value" ]; then
		sample "$name" "$value"
	else
		cp "$dir/client.out" "$dir/log"
		failure "$name: $*"
	fi
}

# ucx - each test over shared memory, over the emulator, and over the emulator with lent memory
ucx() {
	local t no_mpi=()
	command -v ucx_perftest >/dev/null || return 0
	read -ra no_mpi < <(without_mpi)
	local -x UCX_LOG_LEVEL=error UCX_WARN_UNUSED_ENV_VARS=n UCX_FENCE_MODE=weak
	for t in "${UCX_TESTS[@]}"; do
		# shellcheck disable=SC2086
		UCX_TLS=posix,cma PAIR=ucx_alone ucx_test shm_ucx_$t
		# shellcheck disable=SC2086
		UCX_TLS=rc_v UCX_NET_DEVICES=rdmaemu0:1 ucx_test ucx_$t
		# shellcheck disable=SC2086
		RDMAEMU_LEND=1 UCX_TLS=rc_v UCX_NET_DEVICES=rdmaemu0:1 ucx_test lent_ucx_$t
	done
}
