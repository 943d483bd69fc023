/* SPDX-License-Identifier: MIT */
/* Packets that a wire sends. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#include "emulator/ib.h"
#include "emulator/qp.h"

#define BYTES_MAX   65507u /* of a datagram, before the kernel cuts it */
#define PACKETS_MAX 64u
#define ACKED	    (128u << 10) /* bytes of a message for which there is an ACK, at least */
#define AROUND	    16u /* BTH and ICRC */

/* Post a request to host 1. Return: how many packets leave for it. */
static u32 live_post(u32 op, u32 id, u32 len)
{
	u32 sent = wire.n_sent;

	emu_post(wire.m, &wire.live, op, id, wire.m->c[1].mem, len);
	emu_ring(wire.m, &wire.live);
	wire_settle();
	return wire.n_sent - sent;
}

/* As many packets as the kernel takes in one piece, which is one burst, leave so. */
static void test_a_burst_leaves_in_one_piece(void)
{
	u32 mtu, n, runs, i;

	wire_make();
	for (i = 1; i <= 5; i++) {
		wire_connect_with(i);
		mtu = ib_mtu_bytes(i);
		n = min_u32(BYTES_MAX / (mtu + AROUND), PACKETS_MAX);
		runs = wire.n_runs;
		CU_ASSERT_EQUAL(live_post(WR_SEND, i, 2 * n * mtu), 2 * n);
		CU_ASSERT_EQUAL(wire.n_runs - runs, 2);
		CU_ASSERT(wire_audit());
	}
}

/* A rest of a few packets does not leave as a burst of its own. */
static void test_a_message_of_64_kib_is_one_burst(void)
{
	const u32 len = 64u << 10;
	u32 runs, i;

	wire_make();
	for (i = 3; i <= 5; i++) {
		wire_connect_with(i);
		runs = wire.n_runs;
		CU_ASSERT_EQUAL(live_post(WR_SEND, i, len), len / ib_mtu_bytes(i));
		/* Two of the same length: a piece of all but the rest would be longer. */
		CU_ASSERT_EQUAL(wire.n_runs - runs, 2);
		CU_ASSERT(wire.sent.ip_id + 1u >= len / ib_mtu_bytes(i) / 2);
	}
}

/*
 * Each ACK costs both sides a datagram. But without one in the window no more would be sent, and
 * the sender would wait where the receiver falls behind.
 */
static void test_a_long_message_asks_for_an_ack_in_each_window(void)
{
	u32 i, sent, asked, window, acks;

	wire_make();
	for (i = 1; i <= 5; i++) {
		wire_connect_with(i);
		window = hca_peer_window(ib_mtu_bytes(i));
		acks = max_u32(window * ib_mtu_bytes(i) / ACKED, 2);
		asked = wire.n_acks_asked;
		sent = live_post(WR_SEND, i, 4 * window * ib_mtu_bytes(i));
		CU_ASSERT(sent <= window);
		CU_ASSERT(sent > window - PACKETS_MAX);
		CU_ASSERT(wire.n_acks_asked > asked && wire.n_acks_asked <= asked + acks);
		/* A burst that follows the window may ask for the last of them. */
		CU_ASSERT(wire.n_acks_asked + 1 >= asked + acks);
	}
}

/* The answer to one has a first and a last packet of other lengths, which leave on their own. */
static void test_a_read_asks_for_several_bursts_at_once(void)
{
	u32 i;

	wire_make();
	for (i = 1; i <= 5; i++) {
		wire_connect_with(i);
		CU_ASSERT_EQUAL(live_post(WR_RDMA_READ, i, 1u << 20), 2);
		CU_ASSERT(wire.sent.dma_len <=
			  hca_peer_window(ib_mtu_bytes(i)) / 2 * ib_mtu_bytes(i));
	}
}

/* A program sends a packet after it has given the token back: what follows it must not overtake. */
static void test_nothing_overtakes_a_packet_that_a_program_sends(void)
{
	struct hca_qp *qp;
	u32 sent;

	wire_make();
	wire_connect();
	qp = hca_qp_by_num(wire.f->hca, wire.live.qpn);
	sent = wire.n_sent;
	qp->leaving = LEAVING;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 8), 0);
	/* The program rings the queue pair for that. */
	CU_ASSERT_EQUAL(qp->leaving, LEAVING_MISSED);
	qp->leaving = LEAVING_NOTHING;
	emu_ring(wire.m, &wire.live);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, sent + 1);
	CU_ASSERT(wire_audit());
}

/* Its receiver drops a message of UC of which packets arrive twice. */
static void test_of_a_burst_that_a_program_began_the_rest_is_sent(void)
{
	struct hca_qp *qp;

	wire_make();
	wire_connect();
	qp = hca_qp_by_num(wire.f->hca, wire.live.qpn);
	qp->part_psn = qp->req.next_psn;
	qp->part_sent = 2;
	/* The kernel cuts no pieces: a socket takes single packets. */
	wire.f->hca->wires.bursts = 0;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 5 * qp->mtu), 3);
	CU_ASSERT_EQUAL(qp->part_sent, 0);
	CU_ASSERT(wire_audit());
}

/* Whether the host or the path to a peer refuses a piece is not the same for other peers. */
static void test_a_path_with_a_small_mtu_does_not_end_pieces(void)
{
	u32 runs;

	wire_make();
	wire_connect();
	wire.piece_error = EINVAL;
	wire.frame_error = EMSGSIZE;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 8 * 1024), 0);
	CU_ASSERT_EQUAL(wire.f->hca->wires.bursts, 1);
	wire.piece_error = wire.frame_error = 0;
	wire_connect();
	runs = wire.n_runs;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 8 * 1024), 8);
	CU_ASSERT_EQUAL(wire.n_runs, runs + 1);
	CU_ASSERT(wire_audit());
}

static void test_where_the_kernel_does_not_cut_packets_leave_one_by_one(void)
{
	u64 lost = wire_counts()->lost_refused;
	u32 runs;

	wire_make();
	wire_connect();
	wire.piece_error = EINVAL;
	/* The first packet of the piece leaves, and the others are lost. */
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 8 * 1024), 1);
	CU_ASSERT_EQUAL(wire_counts()->lost_refused, lost + 7);
	CU_ASSERT_EQUAL(wire.f->hca->wires.bursts, 0);
	CU_ASSERT_EQUAL(wire.f->hca->wires.bursts_error, EINVAL);
	wire_connect();
	runs = wire.n_runs;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 1, 8 * 1024), 8);
	CU_ASSERT_EQUAL(wire.n_runs, runs);
	wire.piece_error = 0;
	wire.f->hca->wires.bursts = 1;
	CU_ASSERT(wire_audit());
}

static u8 lent_bytes[64u << 10];
static u32 lent_asked;

/* struct egress.lent */
static u32 payload_find(void *ctx, const struct hca_mem *mem, u64 off, u64 len, struct iovec *v,
			u32 max)
{
	(void)ctx;
	(void)mem;
	lent_asked++;
	CU_ASSERT_FATAL(max && off + len <= sizeof(lent_bytes));
	*v = (struct iovec){ lent_bytes + off, len };
	return 1;
}

/* Each frame has its part of the payload, copied, since its ICRC is of the bytes as they were. */
static u32 lent_frames_wrong(const struct egress *o, u32 off, u32 len, u32 mtu)
{
	const u8 *end = (const u8 *)o->map + o->map_len;
	u32 i, part, wrong = 0;

	for (i = 0; i * mtu < len; i++) {
		part = min_u32(len - i * mtu, mtu);
		wrong += o->frames[i].payload_len != part;
		wrong += o->frames[i].payload < (const u8 *)o->map ||
			 o->frames[i].payload + part > end;
		wrong += memcmp(o->frames[i].payload, lent_bytes + off + i * mtu, part) != 0;
	}
	return wrong;
}

/* All that leaves must be good packets: wire_world.h. */
static void test_a_payload_that_is_mapped_is_copied_into_its_frames(void)
{
	static const u32 lens[] = { 2, 255, 1000, 4096 };
	u32 i, copies, len;

	wire_make();
	for (i = 0; i < sizeof(lent_bytes); i++)
		lent_bytes[i] = (u8)(i * 167 + i / 251);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		wire_connect_with(5);
		wire.f->roce->egress.lent = payload_find;
		len = 2 * 4096 + lens[i];
		copies = wire.n_copies;
		lent_asked = 0;
		CU_ASSERT_EQUAL(live_post(WR_SEND, i, len), 3);
		CU_ASSERT_EQUAL(lent_asked, 1);
		CU_ASSERT_EQUAL(wire.n_copies, copies);
		CU_ASSERT_EQUAL(lent_frames_wrong(&wire.f->roce->egress, 0, len, 4096), 0);
		CU_ASSERT(wire_audit());
	}
	/* The next one is of memory that is not mapped. */
	wire_connect_with(5);
	wire.f->roce->egress.lent = NULL;
	copies = wire.n_copies;
	CU_ASSERT_EQUAL(live_post(WR_SEND, 9, 3 * 4096), 3);
	CU_ASSERT(wire.n_copies > copies);
	CU_ASSERT_PTR_NULL(wire.f->roce->egress.room);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a burst leaves in one piece", test_a_burst_leaves_in_one_piece },
		{ "a message of 64 KiB is one burst", test_a_message_of_64_kib_is_one_burst },
		{ "a long message asks for an ACK in each window",
		  test_a_long_message_asks_for_an_ack_in_each_window },
		{ "a path with a small MTU does not end pieces",
		  test_a_path_with_a_small_mtu_does_not_end_pieces },
		{ "where the kernel does not cut, packets leave one by one",
		  test_where_the_kernel_does_not_cut_packets_leave_one_by_one },
		{ "a READ asks for several bursts at once",
		  test_a_read_asks_for_several_bursts_at_once },
		{ "nothing overtakes a packet that a program sends",
		  test_nothing_overtakes_a_packet_that_a_program_sends },
		{ "of a burst that a program began, the rest is sent",
		  test_of_a_burst_that_a_program_began_the_rest_is_sent },
		{ "a payload that is mapped is copied into its frames",
		  test_a_payload_that_is_mapped_is_copied_into_its_frames },
		{ NULL, NULL },
	};

	return cu_run("output", tests);
}
