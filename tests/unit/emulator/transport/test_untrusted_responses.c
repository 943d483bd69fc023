/* SPDX-License-Identifier: MIT */
/*
 * Responses and acknowledgements from an untrusted source: the requester copes with wrong order,
 * wrong lengths, and answers that nobody waits for.
 */
#include "emulator/packet_fault.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_foreign.h"

static struct foreign f;

/* The live side asks: three SENDs of one packet, or a READ of @len bytes. */
static void ask_peer(u32 opcode, u32 n, u32 len)
{
	for (u32 i = 0; i < n; i++) {
		struct sq_wqe *w = emu_post(f.m, &f.live, opcode, i, f.m->c[1].mem + i * 8192, len);

		if (opcode != WR_SEND)
			emu_remote(f.m, w, 0, f.m->c[0].mem);
	}
	emu_ring(f.m, &f.live);
	f.n_kept = 0;
}

static void test_ghost_acks(void)
{
	foreign_up(&f, QPT_RC);
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .aeth = AETH_ACK });
	CU_ASSERT(foreign_dropped(&f, PKT_NOT_WAITED));
	ask_peer(WR_SEND, 3, 100);
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(foreign_dropped(&f, PKT_NOT_WAITED));
	foreign_put(&f, &(struct foreign_pkt){
				.op = BOP_ACK, .psn = IB_PSN_MASK, .aeth = AETH_NAK_INV_REQ });
	CU_ASSERT(foreign_dropped(&f, PKT_NOT_WAITED));
	foreign_put(&f, &(struct foreign_pkt){
				.op = BOP_READ_RESP, .flags = ONLY, .psn = 3, .len = 8 });
	CU_ASSERT(foreign_dropped(&f, PKT_NOT_WAITED));
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).status, 255);
	/* Reserved syndromes say nothing. */
	for (u32 s = 0x40; s < 0x100; s++) {
		if (s >= AETH_NAK_PSN_SEQ && s <= AETH_NAK_REM_OP)
			continue;
		foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .aeth = (u8)s });
		CU_ASSERT(foreign_dropped(&f, PKT_SYNDROME));
	}
	CU_ASSERT_EQUAL(foreign_qp(&f)->req.una, 0);
	/* An ACK may have any number of credits; a duplicate ACK has no effect. */
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .psn = 1, .aeth = 3 });
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).wr_id, 0);
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).wr_id, 1);
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .psn = 1, .aeth = AETH_ACK });
	CU_ASSERT(foreign_dropped(&f, PKT_NOT_WAITED));
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_NAK_REM_OP });
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).status, WCS_REM_OP_ERR);
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_ERR);
	CU_ASSERT(foreign_down(&f));
}

/* The status of a READ of 2500 bytes, or an atomic, by the responses that arrive. */
static const struct {
	u32 opcode;
	struct foreign_pkt pkt[3];
	u32 n;
	u32 status;
} responses[] = {
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 452 } },
	  3,
	  WCS_SUCCESS },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = ONLY, .len = FOREIGN_MTU } },
	  1,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_READ_RESP, .len = FOREIGN_MTU } }, 1, WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU - 4 } },
	  1,
	  WCS_LOC_LEN_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 1, .len = FOREIGN_MTU } },
	  2,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .psn = 2, .len = FOREIGN_MTU } },
	  3,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = FOREIGN_MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 453 } },
	  3,
	  WCS_LOC_LEN_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU, .aeth = AETH_RNR_NAK } },
	  1,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_ATOMIC_ACK } }, 1, WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_ACK, .aeth = AETH_NAK_REM_ACCESS } }, 1, WCS_REM_ACCESS_ERR },
	{ WR_ATOMIC_FETCH_AND_ADD, { { .op = BOP_ATOMIC_ACK } }, 1, WCS_SUCCESS },
	{ WR_ATOMIC_FETCH_AND_ADD,
	  { { .op = BOP_READ_RESP, .flags = ONLY, .len = 8 } },
	  1,
	  WCS_BAD_RESP_ERR },
	{ WR_ATOMIC_WRITE, { { .op = BOP_READ_RESP, .flags = ONLY } }, 1, WCS_SUCCESS },
	{ WR_ATOMIC_WRITE,
	  { { .op = BOP_READ_RESP, .flags = ONLY, .len = 8 } },
	  1,
	  WCS_LOC_LEN_ERR },
	{ WR_ATOMIC_WRITE, { { .op = BOP_ATOMIC_ACK } }, 1, WCS_BAD_RESP_ERR },
	{ WR_SEND, { { .op = BOP_READ_RESP, .flags = ONLY, .len = 8 } }, 1, WCS_BAD_RESP_ERR },
};

static void test_responses(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(responses); i++) {
		struct cqe c;

		foreign_up(&f, QPT_RC);
		ask_peer(responses[i].opcode, 1, responses[i].opcode == WR_RDMA_READ ? 2500 : 8);
		for (u32 k = 0; k < responses[i].n; k++)
			foreign_put(&f, &responses[i].pkt[k]);
		c = foreign_polled(&f, &f.live.scq);
		if (c.status != responses[i].status)
			printf("# case %u: status %u\n", i, c.status);
		CU_ASSERT_EQUAL(c.status, responses[i].status);
		CU_ASSERT_EQUAL(emu_state(f.m, &f.live), c.status ? QPS_ERR : QPS_RTS);
		CU_ASSERT(foreign_down(&f));
	}
}

/*
 * A response is skipped, or only acknowledged: the requester repeats the request, up to retry_cnt.
 */
static void test_implied_nak(void)
{
	foreign_up(&f, QPT_RC);
	ask_peer(WR_RDMA_READ, 1, 2500);
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_READ_RESP, .psn = 1, .len = FOREIGN_MTU });
	CU_ASSERT_EQUAL(f.n_kept, 1);
	CU_ASSERT_EQUAL(f.kept[0].op, BOP_READ_REQ);
	CU_ASSERT_EQUAL(f.kept[0].psn, emu_conn_defaults.psn_b);
	f.n_kept = 0;
	foreign_put(&f, &(struct foreign_pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_ACK });
	CU_ASSERT(foreign_silent(&f));
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).status, 255);
	/* Then its rest alone. */
	foreign_put(&f, &(struct foreign_pkt){
				.op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU });
	foreign_put(&f, &(struct foreign_pkt){
				.op = BOP_READ_RESP, .flags = ONLY, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(f.n_kept, 1);
	CU_ASSERT_EQUAL(f.kept[0].psn, psn_add(emu_conn_defaults.psn_b, 1));
	foreign_put(&f,
		    &(struct foreign_pkt){
			    .op = BOP_READ_RESP, .flags = FIRST, .psn = 1, .len = FOREIGN_MTU });
	foreign_put(&f, &(struct foreign_pkt){
				.op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).status, WCS_SUCCESS);
	CU_ASSERT(foreign_down(&f));
}

/*
 * A member of the mesh answers with more packets than the READ, or the part of it that has been
 * requested, is long.
 */
static void test_member_answers_too_much(void)
{
	static const struct {
		u32 len, npkts;
	} reads[] = { { 2500, 4 }, { 2500, 1 << 22 }, { 5 << 20, 4097 } };

	for (u32 i = 0; i < ARRAY_SIZE(reads); i++) {
		foreign_up(&f, QPT_RC);
		ask_peer(WR_RDMA_READ, 1, reads[i].len);
		foreign_put(&f, &(struct foreign_pkt){ .op = BOP_READ_RESP,
						       .flags = FIRST,
						       .len = FOREIGN_MTU,
						       .npkts = reads[i].npkts });
		CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.scq).status, WCS_BAD_RESP_ERR);
		CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_ERR);
		CU_ASSERT(foreign_down(&f));
	}
}

static const struct cu_test tests[] = {
	{ "ghost ACKs and reserved syndromes", test_ghost_acks },
	{ "responses: order and lengths", test_responses },
	{ "responses that are skipped", test_implied_nak },
	{ "a member's answer of more packets than were requested", test_member_answers_too_much },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("foreign_responses", tests);
}
