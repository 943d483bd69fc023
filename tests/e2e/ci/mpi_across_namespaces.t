#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: network namespaces of its own
# waits
# Launchers of MPI start ranks on hosts that are network namespaces with a fabric each, by examples/netns-rsh.sh, and
# the ranks' data passes between the joined fabrics.
. "$(dirname "$0")/../../lib/lib.sh"
need ip unshare nsenter python3
own_netns "$@"
trap setting_end EXIT
veth_pair || skip_all "no veth interfaces here"

# h1 is this namespace.
mkdir -m 700 "$TEST_DIR"/{hosts,h1,h2}
ln -s /proc/$$/ns/net "$TEST_DIR/hosts/h1"
ln -s "/proc/$PEER/ns/net" "$TEST_DIR/hosts/h2"
printf 'for this test' >"$TEST_DIR/token"
chmod 600 "$TEST_DIR/token"

# at HOST COMMAND...
at() {
	limit env RDMAEMU_DIR="$TEST_DIR/$1" nsenter --net="$TEST_DIR/hosts/$1" "${@:2}"
}

# knows HOST OTHER - whether the fabric of HOST knows the node of OTHER
knows() {
	[[ $(at "$1" "$RDMAEMU" status --json) =~ \"name\":\"$2\",[^]}]*\"addresses\": ]]
}

joined() {
	local port
	port=$(free_port)
	at h1 "$RDMAEMU" fabric start --listen "192.0.2.1:$port" --token-file "$TEST_DIR/token" --name h1 &&
		at h2 "$RDMAEMU" fabric start --join "192.0.2.1:$port" --token-file "$TEST_DIR/token" --name h2 &&
		wait_for 20 knows h1 h2 && wait_for 20 knows h2 h1
}
check "two namespaces with joined fabrics" joined || { done_testing; exit; }

# sent HOST - packets that left its fabric's own node
sent() {
	at "$1" "$RDMAEMU" status --json | json "sum(p['counters']['xmit_packets'] for x in d['devices']
		if x['node'] == '$1' for p in x['ports'])"
}

export NETNS_DIR=$TEST_DIR/hosts NETNS_FABRICS=$TEST_DIR UCX_TLS=rc,self UCX_NET_DEVICES=rdmaemu0:1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# An mpirun that ends removes the directory /tmp/ompi.HOST.UID under another one that begins.
export TMPDIR=$TEST_DIR

# ring MPI LAUNCHER... - a rank on each host passes a message around
ring() {
	local before out
	mpicc."$1" -o "$TEST_DIR/ring.$1" "$TOP/examples/mpi-ring.c" || return
	before=$(sent h2)
	# The hosts' fabrics are the agent's to name.
	out=$(timeout -k 5 $((60 * SLOW * PATIENCE)) env -u RDMAEMU_DIR "${@:2}" "$RDMAEMU" run "$TEST_DIR/ring.$1" 2>&1 </dev/null)
	grep -q '^ring of 2: good$' <<<"$out" && [ "$(sent h2)" -gt "$before" ] && return
	echo "$out"
	return 1
}

agent=$TOP/examples/netns-rsh.sh
for mpi in mpich openmpi; do
	command -v mpirun.$mpi mpicc.$mpi >/dev/null || { skip "ranks of $mpi" "$mpi is not installed"; continue; }
	case $mpi in
	# Its proxies come back to the name of the machine otherwise, which is that of no namespace.
	mpich) launch=(mpirun.mpich -localhost 192.0.2.1 -launcher rsh -launcher-exec "$agent" -hosts "h1,h2" -n 2) ;;
	openmpi) launch=(mpirun.openmpi --mca plm_rsh_agent "$agent" -host "h1,h2" -n 2 --mca pml ucx) ;;
	esac
	check "ranks of $mpi on two hosts" ring $mpi "${launch[@]}"
done
for host in h2 h1; do
	at $host "$RDMAEMU" fabric stop >/dev/null 2>&1
done
done_testing
