#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# settings: one: programs that tests/e2e/perftest and tests/e2e/cm run in all
# `rdmaemu run --real` changes nothing, with the emulator of an outer run as the machine: unmodified programs print the
# same, numbers masked, and end the same. tests/guest/programs does this on a kernel's devices.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/plain_real.sh"
need ibv_rc_pingpong ib_send_bw rping mckey ucx_perftest stdbuf

# One fabric for all, which does not begin anew with each program.
export RDMAEMU_LINGER=60000
pair_alike() {
	sides plain "$1" "$2" "$RDMAEMU" run --
	went_well plain || { cat "$TEST_DIR/plain.status"; tail -n 5 "$TEST_DIR"/plain.{server,client}; return 1; }
	sides real "$1" "$2" "$RDMAEMU" run -- "$RDMAEMU" run --real --
	alike plain real
}

while IFS=$'\t' read -r server client; do
	check "$(pair_name "$server")" pair_alike "$server" "$client"
done < <(program_pairs rdmaemu0 127.0.0.1 0 emulator "$(free_port)")
done_testing
