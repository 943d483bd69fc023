/* SPDX-License-Identifier: MIT */
/*
 * Request packets from an untrusted source: the responder copes with malformed ones and with wrong
 * order.
 */
#include "emulator/packet_fault.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_foreign.h"

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
	c = foreign_polled(&f, &f.live.rcq);
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
	u32 again;

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
		CU_ASSERT(foreign_silent(&f));
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
	CU_ASSERT(foreign_silent(&f));
	/* Malformed ahead of what is expected is ahead, above all. */
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = FIRST, .psn = 5, .len = 1 });
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 5 });
	CU_ASSERT(foreign_silent(&f));
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
	CU_ASSERT(foreign_silent(&f) && foreign_dropped(&f, PKT_RANGE));
	/* What cannot be answered again is not: a key that is none, an atomic that never was. */
	put(&(struct foreign_pkt){ .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 8, .rkey = 1 });
	put(&(struct foreign_pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 0 });
	CU_ASSERT(foreign_silent(&f));
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 1 });
	CU_ASSERT(foreign_silent(&f) && foreign_dropped(&f, PKT_OPCODE));
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
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.rcq).status, WCS_LOC_LEN_ERR);
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
	CU_ASSERT(foreign_dropped(&f, PKT_OPCODE));
	put(&(struct foreign_pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 3 });
	put(&(struct foreign_pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(foreign_dropped(&f, PKT_OPCODE));
	put(&(struct foreign_pkt){
		.op = BOP_WRITE, .flags = ONLY, .psn = 3, .len = 8, .dma_len = 7 });
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.rcq).status, 255);
	put(&(struct foreign_pkt){ .op = BOP_SEND, .flags = ONLY, .psn = 4, .len = 9 });
	CU_ASSERT_EQUAL(foreign_polled(&f, &f.live.rcq).byte_len, 9);
	CU_ASSERT(foreign_silent(&f));
	CU_ASSERT_EQUAL(emu_state(f.m, &f.live), QPS_RTS);
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
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("foreign", tests);
}
