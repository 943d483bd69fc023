#!/bin/bash
# SPDX-License-Identifier: MIT
# record.sh NAME... - record samples anew, each next to this script. BUILD= names the build directory. Needs perftest,
# ibverbs-utils, rdmacm-utils and ucx-utils.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
R=$(cd "$here/../.." && cd "${BUILD:-build}" && pwd)/bin/rdmaemu
RDMAEMU_DIR=$(mktemp -d)
export RDMAEMU_DIR
port=24711
# The first node that is made, and the server's.
server=10.77.0.1

# pair NAME SERVER -- CLIENT
pair() {
	local name=$1 s=() i
	shift
	while [ "$1" != -- ]; do
		s+=("$1")
		shift
	done
	shift
	rm -rf "${here:?}/$name"
	"$R" record -o "$here/$name" --fabric "$name" ${FLAGS-} --node a -- "${s[@]}" >"$RDMAEMU_DIR/server.out" 2>&1 &
	for ((i = 0; i < 50; i++)); do
		sleep 0.1
		[ $i -lt 15 ] || break
	done
	"$R" record -o "$here/$name" --fabric "$name" ${FLAGS-} --node b -- "$@" >"$RDMAEMU_DIR/client.out" 2>&1 ||
		cat "$RDMAEMU_DIR/client.out"
	wait
}

# Queues of some entries: what UCX posts at first is most of its trace.
ucx() {
	local args=(-p $port -t ucp_put_lat -s 8 -n 20 -w 5)
	(
		export UCX_TLS=rc_v UCX_NET_DEVICES=rdmaemu0:1 UCX_LOG_LEVEL=error
		export UCX_{RC,UD}_VERBS_RX_QUEUE_LEN=64 UCX_RC_VERBS_TX_QUEUE_LEN=64 UCX_UD_VERBS_RX_QUEUE_LEN_INIT=16
		export UCX_{RC,UD}_VERBS_{R,T}X_BUFS_GROW=16
		pair "$1" ucx_perftest "${args[@]}" -- ucx_perftest "${args[@]}" $server
	)
}

sample() {
	case $1 in
	rc_pingpong) pair "$1" ibv_rc_pingpong -p $port -g 1 -n 20 -r 8 -- ibv_rc_pingpong -p $port -g 1 -n 20 -r 8 $server ;;
	rping) pair "$1" rping -s -p $port -C 5 -- rping -c -a $server -p $port -C 5 -V ;;
	rnr_storm)
		printf 'rnr node=a every=3\n' >"$RDMAEMU_DIR/rnr.scn"
		FLAGS="--scenario $RDMAEMU_DIR/rnr.scn" pair "$1" ib_send_bw -p $port -x 1 -F -n 64 -s 64 -r 8 -t 16 -- ib_send_bw -p $port -x 1 -F -n 64 -s 64 -r 8 -t 16 $server
		;;
	lossy_write)
		printf 'drop opcode=RDMA_WRITE_ONLY round=1 every=5\n' >"$RDMAEMU_DIR/lossy.scn"
		FLAGS="--scenario $RDMAEMU_DIR/lossy.scn" pair "$1" ib_write_bw -p $port -x 1 -F -n 20 -s 512 -- ib_write_bw -p $port -x 1 -F -n 20 -s 512 $server
		;;
	atomics) pair "$1" ib_atomic_lat -p $port -x 1 -F -n 20 -- ib_atomic_lat -p $port -x 1 -F -n 20 $server ;;
	ucx) ucx "$1" ;;
	ud_multicast) pair "$1" mckey -m 239.1.1.1 -b $server -C 5 -- mckey -m 239.1.1.1 -s -b 10.77.0.2 -C 5 ;;
	*) echo "record.sh: no such sample: $1" >&2 && exit 2 ;;
	esac
}

[ $# != 0 ] || set -- rc_pingpong rping rnr_storm lossy_write atomics ud_multicast ucx
for name; do
	sample "$name"
done
rm -rf "$RDMAEMU_DIR"
