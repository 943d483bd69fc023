/* SPDX-License-Identifier: MIT */
/*
 * Packets from an untrusted source: requester and responder cope with malformed packets, wrong
 * order, and unexpected answers.
 */
#include "emulator/packet_fault.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/c/emu_foreign.h"

static struct foreign f;

static void up(void)
{
	foreign_up(&f, QPT_RC);
}

static void down(void)
{
	CU_ASSERT(foreign_down(&f));
}

static void put(const struct foreign_pkt *p)
{
	foreign_put(&f, p);
}

/* What came back last: opcode, syndrome, PSN behind the first; and nothing else since. */
static bool got(u8 op, u8 aeth, u32 psn)
{
	const struct burst *b = &f.kept[0];
	bool ok = f.n_kept == 1 && b->op == op && b->aeth == aeth &&
		  b->psn == psn_add(emu_conn_defaults.psn_a, psn);

	if (!ok && f.n_kept)
		printf("# %u came: op %u aeth 0x%02x psn +%u\n", f.n_kept, b->op, b->aeth,
		       (b->psn - emu_conn_defaults.psn_a) & IB_PSN_MASK);
	f.n_kept = 0;
	return ok;
}

static bool nothing(void)
{
	bool ok = !f.n_kept;

	f.n_kept = 0;
	return ok;
}

/* The last notice is that of a packet which was dropped for that. */
static bool dropped(u32 fault)
{
	const struct journal_entry *j =
		&f.m->hca->notice[(f.m->hca->notice_seq - 1) % JOURNAL_NOTICES];

	return f.m->hca->notice_seq && j->kind == JRN_DROP && j->cause == CAUSE_PACKET &&
	       j->info == fault;
}

static struct cqe polled(struct emu_cq *cq)
{
	struct cqe c = { .status = 255 };

	emu_poll(f.m, cq, &c, NULL);
	return c;
}

#define FIRST BF_FIRST
#define LAST  BF_LAST
#define ONLY  (BF_FIRST | BF_LAST)
#define ASK   BF_ACK_REQ

/* --- requests --- */

static void test_good(void)
{
	struct cqe c;

	up();
	emu_recv(f.m, &f.live, 7, f.m->c[1].mem, 4 * FOREIGN_MTU);
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU });
	put(&(struct foreign_pkt){ .op = BOP_SEND, .psn = 1, .len = FOREIGN_MTU });
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = LAST | ASK, .psn = 2, .len = 1 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(foreign_qp(&f)->resp.msn, 1);
	c = polled(&f.live.rcq);
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(c.byte_len, 2 * FOREIGN_MTU + 1);
	put(&(struct foreign_pkt){ .op = BOP_WRITE, .flags = ONLY | ASK, .psn = 3 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 3));
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 4, .dma_len = 3000 });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 4));
	put(&(struct foreign_pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 7 });
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 7));
	put(&(struct foreign_pkt){
		.op = BOP_ATOMIC_WRITE, .flags = ONLY | ASK, .psn = 8, .len = 8, .dma_len = 8 });
	CU_ASSERT_EQUAL(f.kept[0].len, 0);
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 8));
	put(&(struct foreign_pkt){ .op = BOP_FLUSH, .flags = ONLY, .psn = 9, .dma_len = 8 });
	CU_ASSERT_EQUAL(f.kept[0].len, 0);
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 9));
	CU_ASSERT_EQUAL(foreign_qp(&f)->resp.epsn, psn_add(emu_conn_defaults.psn_a, 10));
	down();
}

/* A portion of the answer came back: its flags, and which bytes of the message it has. */
static bool got_portion(u8 flags, u32 psn, u32 off, u32 len)
{
	const struct burst *b = &f.kept[0];

	return b->flags == flags && b->off == off && b->len == len &&
	       b->npkts == packets_of(len, FOREIGN_MTU) && got(BOP_READ_RESP, AETH_ACK, psn);
}

static void test_read_in_portions(void)
{
	struct foreign_pkt read = { .op = BOP_READ_REQ,
				    .flags = ONLY,
				    .dma_len = 4 * FOREIGN_MTU + 1,
				    .part = 2 * FOREIGN_MTU };
	int again;

	up();
	/* The second time the request is a duplicate. */
	for (again = 0; again < 2; again++) {
		put(&read);
		CU_ASSERT(got_portion(FIRST, 0, 0, 2 * FOREIGN_MTU));
		CU_ASSERT_EQUAL(foreign_qp(&f)->resp.msn, again);
		read.psn = 2;
		read.asked = 2 * FOREIGN_MTU;
		put(&read);
		CU_ASSERT(got_portion(0, 2, 2 * FOREIGN_MTU, 2 * FOREIGN_MTU));
		CU_ASSERT_EQUAL(foreign_qp(&f)->resp.msn, again);
		read.psn = 4;
		read.asked = 4 * FOREIGN_MTU;
		read.part = 1;
		put(&read);
		CU_ASSERT(got_portion(LAST, 4, 4 * FOREIGN_MTU, 1));
		CU_ASSERT_EQUAL(foreign_qp(&f)->resp.msn, 1);
		read.psn = read.asked = 0;
		read.part = 2 * FOREIGN_MTU;
	}
	/* The first portion fits; the message does not. */
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ,
				   .flags = ONLY,
				   .psn = 5,
				   .dma_len = 1u << 30,
				   .part = FOREIGN_MTU });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_REM_ACCESS, 5));
	down();
}

/* Each is the only request of its connection, which a NAK ends. */
static const struct {
	struct foreign_pkt pkt[3];
	u32 n;
	u8 nak;
} refused[] = {
	/* IBTA 9.7.4.1.2: order of opcodes */
	{ { { .op = BOP_SEND, .len = FOREIGN_MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = LAST, .len = 1 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .len = FOREIGN_MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_SEND, .flags = FIRST, .psn = 1, .len = FOREIGN_MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_SEND, .flags = ONLY, .psn = 1, .len = 5 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_WRITE, .psn = 1, .len = FOREIGN_MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_READ_REQ, .flags = ONLY, .psn = 1, .dma_len = 8 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = FOREIGN_MTU, .dma_len = 3 * FOREIGN_MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1, .len = FOREIGN_MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	/* 9.7.4.1.6: lengths */
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU - 4 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = 2 * FOREIGN_MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = ONLY, .len = FOREIGN_MTU + 1 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_SEND, .psn = 1, .len = FOREIGN_MTU - 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1, .len = FOREIGN_MTU + 4 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = 9 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = FOREIGN_MTU, .dma_len = FOREIGN_MTU - 1 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = FOREIGN_MTU, .dma_len = 2 * FOREIGN_MTU },
	    { .op = BOP_WRITE, .flags = LAST, .psn = 1, .len = FOREIGN_MTU - 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = ~0u } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = FOREIGN_MTU, .dma_len = ~0u } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_WRITE, .flags = ONLY, .len = 4, .dma_len = 4 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_WRITE, .flags = ONLY, .len = 8, .dma_len = 8, .off = 4 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_REQ, .flags = ONLY, .off = 4 } }, 1, AETH_NAK_INV_REQ },
	/* annex A19: reserved bits, a right that the QP lacks */
	{ { { .op = BOP_FLUSH, .flags = ONLY, .swap = 1 << 5 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_FLUSH, .flags = ONLY, .swap = 1 } }, 1, AETH_NAK_INV_REQ },
	/* 9.7.4.1.5: one that does not exist */
	{ { { .op = BOP_NONE, .flags = ONLY } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_NONE, .flags = ONLY, .len = 100 } }, 1, AETH_NAK_INV_REQ },
	/* keys and ranges */
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = 8, .rkey = 1 } },
	  1,
	  AETH_NAK_REM_ACCESS },
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = 8, .off = EMU_AREA - 7 } },
	  1,
	  AETH_NAK_REM_ACCESS },
	{ { { .op = BOP_FLUSH, .flags = ONLY, .dma_len = 8, .off = EMU_AREA - 7 } },
	  1,
	  AETH_NAK_REM_ACCESS },
	{ { { .op = BOP_READ_REQ, .flags = ONLY, .dma_len = ~0u } }, 1, AETH_NAK_REM_ACCESS },
	{ { { .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 9, .off = EMU_AREA - 8 } },
	  1,
	  AETH_NAK_REM_ACCESS },
};

static void test_refused(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(refused); i++) {
		u32 n = refused[i].n, state;
		bool ok;

		up();
		emu_recv(f.m, &f.live, 7, f.m->c[1].mem, 8 * FOREIGN_MTU);
		for (u32 k = 0; k < n; k++)
			put(&refused[i].pkt[k]);
		ok = got(BOP_ACK, refused[i].nak, n - 1);
		state = emu_state(f.m, &f.live);
		if (!ok || state != QPS_ERR)
			printf("# case %u, state %u\n", i, state);
		CU_ASSERT(ok);
		CU_ASSERT_EQUAL(state, QPS_ERR);
		CU_ASSERT(f.m->hca->error_seq > f.n_errors);
		/* It is dead now. */
		put(&refused[i].pkt[0]);
		CU_ASSERT(nothing());
		down();
	}
}

static void test_sequence(void)
{
	up();
	emu_recv(f.m, &f.live, 7, f.m->c[1].mem, 4 * FOREIGN_MTU);
	/* A gap: one NAK, of what is missing. */
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 3, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_PSN_SEQ, 0));
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 4, .len = 5 });
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 9, .dma_len = 8 });
	CU_ASSERT(nothing());
	/* Malformed ahead of what is expected is ahead, above all. */
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = FIRST, .psn = 5, .len = 1 });
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 5 });
	CU_ASSERT(nothing());
	/* Half the circle ahead is behind. */
	put(&(struct foreign_pkt){
		.op = BOP_SEND, .flags = ONLY | ASK, .psn = 0x800000, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, IB_PSN_MASK));
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 0));
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 2, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_PSN_SEQ, 1));
	CU_ASSERT_EQUAL(foreign_qp(&f)->resp.rq_cons, 1);
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_RTS);
	down();
}

static void test_duplicates(void)
{
	u64 *word;

	up();
	word = (u64 *)(uintptr_t)f.m->c[1].mem;
	*word = 5;
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 2 * FOREIGN_MTU });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 0));
	put(&(struct foreign_pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 2 });
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	/* Once more: the result of the first time, and memory is left alone. */
	put(&(struct foreign_pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 2 });
	CU_ASSERT_EQUAL(f.kept[0].orig, 5);
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	/* The rest of the READ, and more than it had been. */
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ,
				   .flags = ONLY,
				   .psn = 1,
				   .dma_len = FOREIGN_MTU,
				   .off = FOREIGN_MTU });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 1));
	put(&(struct foreign_pkt){
		.op = BOP_READ_REQ, .flags = ONLY, .psn = 1, .dma_len = 3 * FOREIGN_MTU });
	CU_ASSERT(nothing() && dropped(PKT_RANGE));
	/* What cannot be answered again is not: a key that is none, an atomic that never was. */
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 8, .rkey = 1 });
	put(&(struct foreign_pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 0 });
	CU_ASSERT(nothing());
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 1 });
	CU_ASSERT(nothing() && dropped(PKT_OPCODE));
	/* A WRITE that came before changes nothing. */
	emu_fill(f.m->c[0].mem, 8, 3);
	put(&(struct foreign_pkt){
		.op = BOP_WRITE, .flags = ONLY | ASK, .psn = 1, .len = 8, .dma_len = 8 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_RTS);
	down();
}

static void test_rnr(void)
{
	up();
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_RNR_NAK | emu_conn_defaults.min_rnr, 0));
	emu_recv(f.m, &f.live, 7, f.m->c[1].mem, 4);
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_INV_REQ, 0));
	CU_ASSERT_EQUAL(polled(&f.live.rcq).status, WCS_LOC_LEN_ERR);
	down();
}

/* Nobody hears of it: the message is dropped, and the next one is not. */
static void test_uc(void)
{
	foreign_up(&f, QPT_UC);
	emu_recv(f.m, &f.live, 7, f.m->c[1].mem, 4 * FOREIGN_MTU);
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = FIRST, .len = FOREIGN_MTU - 1 });
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = LAST, .psn = 1, .len = 1 });
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = LAST, .psn = 2, .len = 1 });
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 3, .dma_len = 8 });
	CU_ASSERT(dropped(PKT_OPCODE));
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 3 });
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_OPCODE));
	put(&(struct foreign_pkt){
		.op = BOP_WRITE, .flags = ONLY, .psn = 3, .len = 8, .dma_len = 7 });
	CU_ASSERT_EQUAL(polled(&f.live.rcq).status, 255);
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY, .psn = 4, .len = 9 });
	CU_ASSERT_EQUAL(polled(&f.live.rcq).byte_len, 9);
	CU_ASSERT(nothing());
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_RTS);
	down();
}

/* --- answers --- */

/* The live side asks: three SENDs of one packet, or a READ of @len bytes. */
static void ask(u32 opcode, u32 n, u32 len)
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
	up();
	put(&(struct foreign_pkt){ .op = BOP_ACK, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	ask(WR_SEND, 3, 100);
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = IB_PSN_MASK, .aeth = AETH_NAK_INV_REQ });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct foreign_pkt){ .op = BOP_READ_RESP, .flags = ONLY, .psn = 3, .len = 8 });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	CU_ASSERT_EQUAL(polled(&f.live.scq).status, 255);
	/* Reserved syndromes say nothing. */
	for (u32 s = 0x40; s < 0x100; s++) {
		if (s >= AETH_NAK_PSN_SEQ && s <= AETH_NAK_REM_OP)
			continue;
		put(&(struct foreign_pkt){ .op = BOP_ACK, .aeth = (u8)s });
		CU_ASSERT(dropped(PKT_SYNDROME));
	}
	CU_ASSERT_EQUAL(foreign_qp(&f)->req.una, 0);
	/* An ACK may have any number of credits; a duplicate ACK has no effect. */
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 1, .aeth = 3 });
	CU_ASSERT_EQUAL(polled(&f.live.scq).wr_id, 0);
	CU_ASSERT_EQUAL(polled(&f.live.scq).wr_id, 1);
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 1, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_NAK_REM_OP });
	CU_ASSERT_EQUAL(polled(&f.live.scq).status, WCS_REM_OP_ERR);
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_ERR);
	down();
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

		up();
		ask(responses[i].opcode, 1, responses[i].opcode == WR_RDMA_READ ? 2500 : 8);
		for (u32 k = 0; k < responses[i].n; k++)
			put(&responses[i].pkt[k]);
		c = polled(&f.live.scq);
		if (c.status != responses[i].status)
			printf("# case %u: status %u\n", i, c.status);
		CU_ASSERT_EQUAL(c.status, responses[i].status);
		CU_ASSERT_EQUAL(emu_state(f.m, &f.live), c.status ? QPS_ERR : QPS_RTS);
		down();
	}
}

/*
 * A response is skipped, or only acknowledged: the requester repeats the request, up to retry_cnt.
 */
static void test_implied_nak(void)
{
	up();
	ask(WR_RDMA_READ, 1, 2500);
	put(&(struct foreign_pkt){ .op = BOP_READ_RESP, .psn = 1, .len = FOREIGN_MTU });
	CU_ASSERT_EQUAL(f.n_kept, 1);
	CU_ASSERT_EQUAL(f.kept[0].op, BOP_READ_REQ);
	CU_ASSERT_EQUAL(f.kept[0].psn, emu_conn_defaults.psn_b);
	f.n_kept = 0;
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_ACK });
	CU_ASSERT(nothing());
	CU_ASSERT_EQUAL(polled(&f.live.scq).status, 255);
	/* Then its rest alone. */
	put(&(struct foreign_pkt){ .op = BOP_READ_RESP, .flags = FIRST, .len = FOREIGN_MTU });
	put(&(struct foreign_pkt){ .op = BOP_READ_RESP, .flags = ONLY, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(f.n_kept, 1);
	CU_ASSERT_EQUAL(f.kept[0].psn, psn_add(emu_conn_defaults.psn_b, 1));
	put(&(struct foreign_pkt){
		.op = BOP_READ_RESP, .flags = FIRST, .psn = 1, .len = FOREIGN_MTU });
	put(&(struct foreign_pkt){ .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(polled(&f.live.scq).status, WCS_SUCCESS);
	down();
}

static const struct cu_test tests[] = {
	{ "what is right is served", test_good },
	{ "the answer to a READ request in portions", test_read_in_portions },
	{ "what is refused, with which NAK", test_refused },
	{ "sequence numbers", test_sequence },
	{ "duplicates", test_duplicates },
	{ "no receive, one that is too small", test_rnr },
	{ "UC drops without a word", test_uc },
	{ "ghost ACKs and reserved syndromes", test_ghost_acks },
	{ "responses: order and lengths", test_responses },
	{ "responses that are skipped", test_implied_nak },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("foreign", tests);
}
