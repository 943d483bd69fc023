/* SPDX-License-Identifier: MIT */
/* Packets that a wire sends. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#include "emulator/ib.h"

#define BYTES_MAX   65507u /* of a datagram, before the kernel cuts it */
#define PACKETS_MAX 64u
#define AROUND	    16u /* BTH and ICRC */

/* As many packets as the kernel takes in one piece, which is one burst, leave so. */
static void test_a_burst_leaves_in_one_piece(void)
{
	u32 mtu, n, runs, sent, i;

	wire_make();
	for (i = 1; i <= 5; i++) {
		wire_connect_with(i);
		mtu = ib_mtu_bytes(i);
		n = min_u32(BYTES_MAX / (mtu + AROUND), PACKETS_MAX);
		runs = wire.n_runs;
		sent = wire.n_sent;
		emu_post(wire.m, &wire.live, WR_SEND, i, wire.m->c[1].mem, 2 * n * mtu);
		emu_ring(wire.m, &wire.live);
		wire_settle();
		CU_ASSERT_EQUAL(wire.n_sent - sent, 2 * n);
		CU_ASSERT_EQUAL(wire.n_runs - runs, 2);
		CU_ASSERT(wire_audit());
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a burst leaves in one piece", test_a_burst_leaves_in_one_piece },
		{ NULL, NULL },
	};

	return cu_run("output", tests);
}
