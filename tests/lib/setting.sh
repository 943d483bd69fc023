# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Where the two sides of a test are: sourced by tests/lib/lib.sh. SETTING, which tests/run hands in, is
#
#	one	both on the host's own node
#	nodes	the server on node a, the client on node b of one fabric
#	fabrics	the server on one fabric, the client on another, each in a network namespace of its own,
#		with a veth between them; the fabrics are joined over TCP, or with FABRICS_BY=roce have wires
#		that speak RoCE v2
#
# Each test says in a line `# settings:` which of them it runs in; see tests/README.md.
#
# run_a() (emu(), cm_start(), the servers of pair_run()) runs programs at the server's place, run_b()
# at the client's. $ADDR and $ADDR6 are the server's addresses, for rdma_cm and for sockets, $CLIENT and
# $CLIENT6 the client's. Both functions start the fabrics when they are first needed, with the settings
# in RDMAEMU_* and RUN_FLAGS; in `one`, `rdmaemu run` does.

SETTING=${SETTING:-one}
export FABRICS_BY=${FABRICS_BY:-tcp}
SERVER_AT=() CLIENT_AT=() IN_CLIENT=()
ADDR=127.0.0.1 ADDR6=::1 CLIENT=127.0.0.1 CLIENT6=::1
SIDES='local remote'
TEST_DIR_B=$TEST_DIR/client
# The GID index of an address of IPv6: the first one is link-local, and those are no wires.
GID6=0
[ "$SETTING-$FABRICS_BY" != fabrics-roce ] || GID6=2

# by_setting N M - N in the setting `one`, M in the others, which need not repeat all that `one` shows
by_setting() {
	if [ "$SETTING" = one ]; then
		echo "$1"
	else
		echo "$2"
	fi
}

# by_wire - whether wires of --roce connect the two sides
by_wire() {
	[ "$SETTING" = fabrics ] && [ "$FABRICS_BY" = roce ]
}

# in_one COMMAND... - run it in the setting `one` only: it has no second side
in_one() {
	[ "$SETTING" != one ] || "$@"
}

# A command after these words runs as root of a new network namespace. Root needs no user namespace for that, and cannot
# have one in a chroot.
NEW_NETNS=(unshare -n)
[ "$(id -u)" = 0 ] || NEW_NETNS=(unshare -rn)

# own_netns ARGS... - restart the test in a network namespace of its own, in which it is root; once
own_netns() {
	[ -z "${IN_NETNS-}" ] || return 0
	need unshare nsenter ip
	"${NEW_NETNS[@]}" true 2>/dev/null || skip_all "cannot make network namespaces"
	export TEST_DIR IN_NETNS=1
	exec "${NEW_NETNS[@]}" "$0" "$@"
}

# veth_pair - make a second namespace: a process in it is PEER, a command that enters it is IN_PEER. This
# namespace has the addresses 192.0.2.1 and 2001:db8::1, the other 192.0.2.2 and 2001:db8::2
veth_pair() {
	unshare -n sleep infinity &
	PEER=$!
	IN_PEER=(nsenter -t $PEER -n)
	wait_for 10 other_netns $PEER || return
	ip link set lo up && "${IN_PEER[@]}" ip link set lo up &&
		ip link add veth0 type veth peer name veth1 netns $PEER || return
	# No link-local addresses: they would appear a second later, and cause a GID_CHANGE event.
	ip link set veth0 addrgenmode none
	"${IN_PEER[@]}" ip link set veth1 addrgenmode none
	ip addr add 192.0.2.1/24 dev veth0 && ip addr add 2001:db8::1/64 dev veth0 nodad &&
		ip link set veth0 up &&
		"${IN_PEER[@]}" ip addr add 192.0.2.2/24 dev veth1 &&
		"${IN_PEER[@]}" ip addr add 2001:db8::2/64 dev veth1 nodad &&
		"${IN_PEER[@]}" ip link set veth1 up
}

# try_netns ARGS... - restart the test in a network namespace of its own with a veth pair, where one can be made
try_netns() {
	[ -n "${IN_NETNS-}" ] || ! command -v nsenter >/dev/null || ! command -v ip >/dev/null ||
		! "${NEW_NETNS[@]}" true 2>/dev/null || own_netns "$@"
	[ -n "${IN_NETNS-}" ] || return 0
	trap setting_end EXIT
	veth_pair || skip_all "no veth interfaces here"
}

# other_netns PID - whether a process has made its network namespace: before that, nsenter(1) enters this one
other_netns() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# at_client COMMAND... - run it where the client's fabric is
at_client() {
	"${IN_CLIENT[@]}" timeout --foreground -k 5 "$LIMIT" "$@"
}

# fabric_name - print the fabric that programs use with the current RUN_FLAGS and RDMAEMU_FABRIC
fabric_name() {
	sed -n 's/.*--fabric[ =]\([^ ]*\).*/\1/p' <<<"${RUN_FLAGS-}" | grep . || echo "${RDMAEMU_FABRIC:-default}"
}

# setting_up - start the setting's fabric or fabrics for the current RUN_FLAGS, if they do not run yet
setting_up() {
	local name
	[ "$SETTING" != one ] || return 0
	name=$(fabric_name)
	[ ! -e "$TEST_DIR/up.$name" ] || return 0
	"${SETTING}_up" >"$TEST_DIR/up.out" 2>&1 && : >"$TEST_DIR/up.$name" && return
	echo "the fabrics of this setting do not start:"
	cat "$TEST_DIR/up.out"
	return 1
}

# In this order: node a has the first addresses.
nodes_up() {
	# shellcheck disable=SC2086
	limit "$RDMAEMU" fabric start ${RUN_FLAGS-} &&
		limit "$RDMAEMU" run ${RUN_FLAGS-} --node a -- true &&
		limit "$RDMAEMU" run ${RUN_FLAGS-} --node b -- true
}

fabrics_up() {
	"fabrics_up_$FABRICS_BY"
}

# A wire has one fabric: those of other names end.
fabrics_up_roce() {
	local f
	for f in "$TEST_DIR"/up.*; do
		case $f in
		*.out | *'*') continue ;;
		esac
		RUN_FLAGS='' RDMAEMU_FABRIC=${f##*/up.} fabric_stop
	done
	# shellcheck disable=SC2086
	limit "$RDMAEMU" fabric start ${RUN_FLAGS-} --roce "$ADDR,$ADDR6" &&
		at_client "$RDMAEMU" fabric start ${RUN_FLAGS-} --roce "$CLIENT,$CLIENT6"
}

fabrics_up_tcp() {
	local port
	port=$(free_port)
	printf 'for this test' >"$TEST_DIR/token"
	# shellcheck disable=SC2086
	limit "$RDMAEMU" fabric start ${RUN_FLAGS-} --listen "192.0.2.1:$port" \
		--token-file "$TEST_DIR/token" --name alpha &&
		at_client "$RDMAEMU" fabric start ${RUN_FLAGS-} --join "192.0.2.1:$port" \
			--token-file "$TEST_DIR/token" --name beta &&
		wait_for 20 fabrics_know
}

# Whether each of the two fabrics knows the other's node.
fabrics_know() {
	local name
	name=$(fabric_name)
	[[ $(status_json --fabric "$name") =~ \"name\":\"beta\",[^]}]*\"addresses\": ]] &&
		[[ $(client_status --fabric "$name") =~ \"name\":\"alpha\",[^]}]*\"addresses\": ]]
}

# crossed NAME - note whether packets passed between the two sides of a fabric that is about to end
crossed() {
	local node=b n
	[ "$SETTING" = nodes ] || node=beta
	[ "$SETTING" != fabrics ] || [ "$FABRICS_BY" != roce ] || node=node0
	n=$(client_status --fabric "$1" | json "sum(p['counters'].get('xmit_packets', 0)
		for x in d['devices'] if x['node'] == '$node' for p in x['ports'])" 2>/dev/null)
	[ "${n:-0}" = 0 ] || : >"$TEST_DIR/crossed"
}

# fabric_stop - end the setting's fabric or fabrics of the current RUN_FLAGS
fabric_stop() {
	local name
	name=$(fabric_name)
	if [ -e "$TEST_DIR/up.$name" ]; then
		crossed "$name"
		rm -f "$TEST_DIR/up.$name"
	fi
	[ "$SETTING" != fabrics ] || at_client "$RDMAEMU" fabric stop --fabric "$name" >/dev/null 2>&1
	limit "$RDMAEMU" fabric stop --fabric "$name" >/dev/null 2>&1
}

# setting_down - end all fabrics; fails the test if no packet ever passed between the two sides
setting_down() {
	local f
	[ "$SETTING" != one ] || return 0
	for f in "$TEST_DIR"/up.*; do
		case $f in
		*.out | *'*') continue ;;
		esac
		RUN_FLAGS='' RDMAEMU_FABRIC=${f##*/up.} fabric_stop
	done
	[ -e "$TEST_DIR/crossed" ] || not_ok "packets passed between the sides of the setting"
}

# client_status - status_json of the client's fabric
client_status() {
	at_client "$RDMAEMU" status --json "$@"
}

# audit_all ARGS... - `rdmaemu status --audit` of the fabric, and of the client's
audit_all() {
	limit "$RDMAEMU" status --audit "$@" || return
	[ "$SETTING" != fabrics ] || at_client "$RDMAEMU" status --audit "$@"
}

# clock_env PROGRAM - the variable that makes perftest's programs sleep while they calibrate their clock
clock_env() {
	case ${1##*/} in
	ib_*_bw | ib_*_lat | raw_ethernet_*) echo "LD_PRELOAD=$T/gettimeofday_naps.so" ;;
	esac
}

# command_a COMMAND... - leave in CMD the command line that runs COMMAND at the server's place; command_b
# at the client's. SERVER_ENV and CLIENT_ENV may hold variables, PAIR_SERVER and PAIR_CLIENT a wrapper
# command, RUN_FLAGS flags of `rdmaemu run`.
command_a() {
	setting_up || return
	# shellcheck disable=SC2206,SC2046
	CMD=(timeout --foreground -k 5 "$LIMIT" env $(clock_env "$1") ${SERVER_ENV-} ${PAIR_SERVER-}
		"$RDMAEMU" run ${RUN_FLAGS-} "${SERVER_AT[@]}" -- "$@")
}

command_b() {
	setting_up || return
	# shellcheck disable=SC2206,SC2046
	CMD=("${IN_CLIENT[@]}" timeout --foreground -k 5 "$LIMIT" env $(clock_env "$1") ${CLIENT_ENV-} ${PAIR_CLIENT-}
		"$RDMAEMU" run ${RUN_FLAGS-} "${CLIENT_AT[@]}" -- "$@")
}

run_a() {
	local CMD
	command_a "$@" && "${CMD[@]}"
}

run_b() {
	local CMD
	command_b "$@" && "${CMD[@]}"
}

# peer_vars - export the variables with which a program of tests/verbs puts its second process at the
# client's place (tests/lib/c/peer.c)
peer_vars() {
	local CMD
	[ "$SETTING" != one ] || return 0
	# In an isolated fabric a program's child may be on another node only if it controls the fabric.
	[ "$SETTING" != nodes ] || export RDMAEMU_CONTROL=yes
	export PEER_ENV PEER_NETNS PEER_ADDR=$CLIENT PEER_ADDR6=$CLIENT6 HERE_ADDR=$ADDR HERE_ADDR6=$ADDR6
	CLIENT_ENV='' PAIR_CLIENT='' command_b env || return
	PEER_ENV=$("${CMD[@]}" | grep -E '^RDMAEMU_(SOCKET|SYSFS|NODE|DIR|FABRIC)=')
	PEER_NETNS=''
	[ "$SETTING" != fabrics ] || PEER_NETNS=/proc/$PEER/ns/net
}

# setting_init ARGS... - called once by tests/lib/lib.sh, with the test's arguments
setting_init() {
	case $SETTING in
	one) return ;;
	nodes)
		SERVER_AT=(--node a) CLIENT_AT=(--node b)
		ADDR=10.77.0.1 ADDR6=fd77::1 CLIENT=10.77.0.2 CLIENT6=fd77::2
		;;
	fabrics)
		own_netns "$@"
		trap setting_end EXIT
		veth_pair || skip_all "no veth interfaces here"
		mkdir -p -m 700 "$TEST_DIR_B"
		IN_CLIENT=("${IN_PEER[@]}" env RDMAEMU_DIR="$TEST_DIR_B")
		ADDR=192.0.2.1 ADDR6=2001:db8::1 CLIENT=192.0.2.2 CLIENT6=2001:db8::2
		;;
	*)
		echo "no setting: $SETTING" >&2
		exit 2
		;;
	esac
	SIDES=remote
}

setting_end() {
	kill "$PEER" 2>/dev/null
}
