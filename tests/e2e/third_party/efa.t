#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# An EFA device as programs find it: libfabric's efa provider with its fi_pingpong, and perftest over SRD, of which
# Debian 13's has WRITE, too.
export RDMAEMU_PROFILE=efa
. "$(dirname "$0")/../../lib/lib.sh"
need fi_pingpong fi_info ib_send_bw ib_send_lat ib_read_bw ib_read_lat

# Peers of one machine would use the provider shm, and not the device.
export FI_EFA_ENABLE_SHM_TRANSFER=0

listed() {
	local type
	run_a fi_info -p efa >"$TEST_DIR/info.out" 2>&1 </dev/null || return
	for type in RDM DGRAM; do
		grep -q "type: FI_EP_$type$" "$TEST_DIR/info.out" || return
	done
	grep -q 'protocol: FI_PROTO_EFA$' "$TEST_DIR/info.out"
}
check "fi_info: the efa provider's endpoints" listed || cat "$TEST_DIR/info.out"

# fi_pair ENDPOINT ARGS... - data compared by itself (-c). It leaves out sizes that are beyond the endpoint's
fi_pair() {
	SERVER_PORT=-B CLIENT_PORT=-P pair_run fi_pingpong -p efa -e "$1" -c -I 20 "${@:2}" || return
	grep -qE ' 20 +=20 ' "$TEST_DIR/client.out" || {
		echo "the client has sent nothing"
		return 1
	}
}
for size in 1 4096 1048576; do
	# libfabric 2 offers the endpoint efa-direct first, which sends no message in pieces.
	if [ $size = 1048576 ] && fi_info --version | grep -q '^libfabric: *2'; then
		skip "SRD, $size bytes" "libfabric 2 takes efa-direct, whose messages have at most the MTU"
		continue
	fi
	check "SRD, $size bytes" fi_pair rdm -S $size
	check "SRD, tagged, $size bytes" fi_pair rdm -S $size -m tagged
done
for size in 1 1024; do
	check "datagrams, $size bytes" fi_pair dgram -S $size
done

n=$(by_setting 1000 200)
for size in 1 4096; do
	pair ib_send_bw -c SRD -x 0 -n $n -s $size
	pair ib_send_lat -c SRD -x 0 -n $n -s $size
done
for size in 1 4096 1048576; do
	pair ib_read_bw -c SRD -x 0 -n $n -s $size
done
pair ib_read_lat -c SRD -x 0 -n $n
pair ib_send_bw -c SRD -x 0 -n $n -q 4
pair ib_send_bw -c UD -x 0 -n $n
if perftest_srd_writes; then
	for size in 1 4096 1048576; do
		pair ib_write_bw -c SRD -x 0 -n $n -s $size
	done
	pair ib_write_bw -c SRD -x 0 -n $n -b
	pair ib_write_bw -c SRD -x 0 -n $n --write_with_imm
	pair ib_write_lat -c SRD -x 0 -n $n
else
	skip "WRITE over SRD" "this perftest does not have it"
fi
done_testing
