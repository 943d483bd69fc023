/* SPDX-License-Identifier: MIT */
/*
 * Packets that anybody may have made: what requester and responder make of malformed ones, of wrong order, of
 * answers to nothing. One side is real; what it sends to the other is kept, and goes no further.
 */
#include "emulator/audit.h"
#include "emulator/foreign.h"
#include "tests/cu.h"
#include "tests/emu.h"

#include <stdlib.h>

#define SEC  1000000000ULL
#define MTU  1024u
#define SEEN 64u

/* A packet that the live side is to get from its peer. */
struct pkt {
	u8 op;
	u8 flags;
	u32 psn; /* behind the connection's first */
	u32 len;
	u8 aeth;
	u32 off; /* in the live side's memory */
	u32 dma_len;
	u32 rkey; /* 0: the right one */
};

static struct emu *m;
static struct emu_qp ghost, live;
static struct burst seen[SEEN];
static u32 n_seen;
static u64 n_errors;

static int keep(void *ctx, const struct burst *b)
{
	(void)ctx;
	if (n_seen < SEEN)
		seen[n_seen++] = *b;
	return 0;
}

static void up_as(u32 type)
{
	struct emu_conn o = emu_conn_defaults;

	o.type = type;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &ghost, &live);
	m->host.wire = keep;
	n_seen = 0;
	n_errors = m->hca->error_seq;
}

static void up(void)
{
	up_as(QPT_RC);
}

static void down(void)
{
	char why[256] = "";

	CU_ASSERT_EQUAL(hca_audit(m->hca, why, sizeof(why)), 0);
	if (*why)
		printf("# audit: %s\n", why);
	emu_free(m);
}

static const struct hca_qp *live_qp(void)
{
	return &m->hca->qp[live.slot];
}

static u32 first_psn(u8 op)
{
	bool answer = op == BOP_ACK || op == BOP_READ_RESP || op == BOP_ATOMIC_ACK;

	return answer ? emu_conn_defaults.psn_b : emu_conn_defaults.psn_a;
}

static void put(const struct pkt *p)
{
	struct hca_mem mem = { .client = 0, .kind = MEM_VM, .n = 1 };
	struct burst b = {
		.op = p->op,
		.flags = p->flags | BF_FOREIGN,
		.aeth = p->aeth,
		.psn = psn_add(first_psn(p->op), p->psn),
		.path = m->hca->qp[ghost.slot].path,
		.npkts = 1,
		.mtu = 4096,
		.va = (uintptr_t)m->c[1].mem + p->off,
		.rkey = p->rkey ? p->rkey : m->c[1].key,
		.dma_len = p->dma_len,
		.len = p->len,
		.atomic_op = WR_ATOMIC_FETCH_AND_ADD,
		.compare_add = 1,
		.mem = &mem,
	};

	mem.iov[0] = (struct hca_iov){ (uintptr_t)m->c[0].mem, p->len };
	if (!p->len || p->op == BOP_READ_REQ)
		b.mem = NULL;
	if (p->op == BOP_READ_REQ)
		b.len = p->dma_len;
	CU_ASSERT_EQUAL(engine_enter(&m->fabric), 0);
	CU_ASSERT_EQUAL(hca_input(&m->fabric, &b), 0);
	engine_leave(&m->fabric);
}

/* What came back last: opcode, syndrome, PSN behind the first; and nothing else since. */
static bool got(u8 op, u8 aeth, u32 psn)
{
	const struct burst *b = &seen[0];
	bool ok = n_seen == 1 && b->op == op && b->aeth == aeth &&
		  b->psn == psn_add(emu_conn_defaults.psn_a, psn);

	if (!ok && n_seen)
		printf("# %u came: op %u aeth 0x%02x psn +%u\n", n_seen, b->op, b->aeth,
		       (b->psn - emu_conn_defaults.psn_a) & IB_PSN_MASK);
	n_seen = 0;
	return ok;
}

static bool nothing(void)
{
	bool ok = !n_seen;

	n_seen = 0;
	return ok;
}

/* The last notice is that of a packet which was dropped for that. */
static bool dropped(u32 fault)
{
	const struct journal_entry *j = &m->hca->notice[(m->hca->notice_seq - 1) % JOURNAL_NOTICES];

	return m->hca->notice_seq && j->kind == JRN_DROP && j->cause == CAUSE_PACKET &&
	       j->info == fault;
}

static struct cqe polled(struct emu_cq *cq)
{
	struct cqe c = { .status = 255 };

	emu_poll(m, cq, &c, NULL);
	return c;
}

#define FIRST BF_FIRST
#define LAST  BF_LAST
#define ONLY  (BF_FIRST | BF_LAST)
#define ASK   BF_ACK_REQ

/* --- requests ------------------------------------------------------------------------------------- */

static void test_good(void)
{
	struct cqe c;

	up();
	emu_recv(m, &live, 7, m->c[1].mem, 4 * MTU);
	put(&(struct pkt){ .op = BOP_SEND, .flags = FIRST, .len = MTU });
	put(&(struct pkt){ .op = BOP_SEND, .psn = 1, .len = MTU });
	put(&(struct pkt){ .op = BOP_SEND, .flags = LAST | ASK, .psn = 2, .len = 1 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(live_qp()->resp.msn, 1);
	c = polled(&live.rcq);
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(c.byte_len, 2 * MTU + 1);
	put(&(struct pkt){ .op = BOP_WRITE, .flags = ONLY | ASK, .psn = 3 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 3));
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 4, .dma_len = 3000 });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 4));
	put(&(struct pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 7 });
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 7));
	CU_ASSERT_EQUAL(live_qp()->resp.epsn, psn_add(emu_conn_defaults.psn_a, 8));
	down();
}

/* Each is the only request of its connection, which a NAK ends. */
static const struct {
	struct pkt pkt[3];
	u32 n;
	u8 nak;
} refused[] = {
	/* IBTA 9.7.4.1.2: order of opcodes */
	{ { { .op = BOP_SEND, .len = MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = LAST, .len = 1 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .len = MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_SEND, .flags = FIRST, .psn = 1, .len = MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_SEND, .flags = ONLY, .psn = 1, .len = 5 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_WRITE, .psn = 1, .len = MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_READ_REQ, .flags = ONLY, .psn = 1, .dma_len = 8 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = MTU, .dma_len = 3 * MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1, .len = MTU } },
	  2,
	  AETH_NAK_INV_REQ },
	/* 9.7.4.1.6: lengths */
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU - 4 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = 2 * MTU } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = ONLY, .len = MTU + 1 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_SEND, .psn = 1, .len = MTU - 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_SEND, .flags = FIRST, .len = MTU },
	    { .op = BOP_SEND, .flags = LAST, .psn = 1, .len = MTU + 4 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = 9 } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = MTU, .dma_len = MTU - 1 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = MTU, .dma_len = 2 * MTU },
	    { .op = BOP_WRITE, .flags = LAST, .psn = 1, .len = MTU - 1 } },
	  2,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = ONLY, .len = 8, .dma_len = ~0u } }, 1, AETH_NAK_INV_REQ },
	{ { { .op = BOP_WRITE, .flags = FIRST, .len = MTU, .dma_len = ~0u } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_WRITE, .flags = ONLY, .len = 4, .dma_len = 4 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_WRITE, .flags = ONLY, .len = 8, .dma_len = 8, .off = 4 } },
	  1,
	  AETH_NAK_INV_REQ },
	{ { { .op = BOP_ATOMIC_REQ, .flags = ONLY, .off = 4 } }, 1, AETH_NAK_INV_REQ },
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
		emu_recv(m, &live, 7, m->c[1].mem, 8 * MTU);
		for (u32 k = 0; k < n; k++)
			put(&refused[i].pkt[k]);
		ok = got(BOP_ACK, refused[i].nak, n - 1);
		state = emu_state(m, &live);
		if (!ok || state != QPS_ERR)
			printf("# case %u, state %u\n", i, state);
		CU_ASSERT(ok);
		CU_ASSERT_EQUAL(state, QPS_ERR);
		CU_ASSERT(m->hca->error_seq > n_errors);
		/* It is dead now. */
		put(&refused[i].pkt[0]);
		CU_ASSERT(nothing());
		down();
	}
}

static void test_sequence(void)
{
	up();
	emu_recv(m, &live, 7, m->c[1].mem, 4 * MTU);
	/* A gap: one NAK, of what is missing. */
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 3, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_PSN_SEQ, 0));
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 4, .len = 5 });
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 9, .dma_len = 8 });
	CU_ASSERT(nothing());
	/* Malformed ahead of what is expected is ahead, above all. */
	put(&(struct pkt){ .op = BOP_SEND, .flags = FIRST, .psn = 5, .len = 1 });
	put(&(struct pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 5 });
	CU_ASSERT(nothing());
	/* Half the circle ahead is behind. */
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 0x800000, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, IB_PSN_MASK));
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 0));
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .psn = 2, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_PSN_SEQ, 1));
	CU_ASSERT_EQUAL(live_qp()->resp.rq_cons, 1);
	CU_ASSERT_EQUAL(emu_state(m, &live), QPS_RTS);
	down();
}

static void test_duplicates(void)
{
	u64 *word;

	up();
	word = (u64 *)(uintptr_t)m->c[1].mem;
	*word = 5;
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 2 * MTU });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 0));
	put(&(struct pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 2 });
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	/* Once more: the result of the first time, and memory is left alone. */
	put(&(struct pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 2 });
	CU_ASSERT_EQUAL(seen[0].orig, 5);
	CU_ASSERT(got(BOP_ATOMIC_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	/* The rest of the READ, and more than it had been. */
	put(&(struct pkt){
		.op = BOP_READ_REQ, .flags = ONLY, .psn = 1, .dma_len = MTU, .off = MTU });
	CU_ASSERT(got(BOP_READ_RESP, AETH_ACK, 1));
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 1, .dma_len = 3 * MTU });
	CU_ASSERT(nothing() && dropped(PKT_RANGE));
	/* What cannot be answered again is not: a key that is none, an atomic that never was. */
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .dma_len = 8, .rkey = 1 });
	put(&(struct pkt){ .op = BOP_ATOMIC_REQ, .flags = ONLY, .psn = 0 });
	CU_ASSERT(nothing());
	put(&(struct pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 1 });
	CU_ASSERT(nothing() && dropped(PKT_OPCODE));
	/* A WRITE that came before changes nothing. */
	emu_fill(m->c[0].mem, 8, 3);
	put(&(struct pkt){
		.op = BOP_WRITE, .flags = ONLY | ASK, .psn = 1, .len = 8, .dma_len = 8 });
	CU_ASSERT(got(BOP_ACK, AETH_ACK, 2));
	CU_ASSERT_EQUAL(*word, 6);
	CU_ASSERT_EQUAL(emu_state(m, &live), QPS_RTS);
	down();
}

static void test_rnr(void)
{
	up();
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_RNR_NAK | emu_conn_defaults.min_rnr, 0));
	emu_recv(m, &live, 7, m->c[1].mem, 4);
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY | ASK, .len = 5 });
	CU_ASSERT(got(BOP_ACK, AETH_NAK_INV_REQ, 0));
	CU_ASSERT_EQUAL(polled(&live.rcq).status, WCS_LOC_LEN_ERR);
	down();
}

/* Nobody hears of it: the message is dropped, and the next one is not. */
static void test_uc(void)
{
	up_as(QPT_UC);
	emu_recv(m, &live, 7, m->c[1].mem, 4 * MTU);
	put(&(struct pkt){ .op = BOP_SEND, .flags = FIRST, .len = MTU - 1 });
	put(&(struct pkt){ .op = BOP_SEND, .flags = LAST, .psn = 1, .len = 1 });
	put(&(struct pkt){ .op = BOP_SEND, .flags = LAST, .psn = 2, .len = 1 });
	put(&(struct pkt){ .op = BOP_READ_REQ, .flags = ONLY, .psn = 3, .dma_len = 8 });
	CU_ASSERT(dropped(PKT_OPCODE));
	put(&(struct pkt){ .op = BOP_NONE, .flags = ONLY, .psn = 3 });
	put(&(struct pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_OPCODE));
	put(&(struct pkt){ .op = BOP_WRITE, .flags = ONLY, .psn = 3, .len = 8, .dma_len = 7 });
	CU_ASSERT_EQUAL(polled(&live.rcq).status, 255);
	put(&(struct pkt){ .op = BOP_SEND, .flags = ONLY, .psn = 4, .len = 9 });
	CU_ASSERT_EQUAL(polled(&live.rcq).byte_len, 9);
	CU_ASSERT(nothing());
	CU_ASSERT_EQUAL(emu_state(m, &live), QPS_RTS);
	down();
}

/* --- answers -------------------------------------------------------------------------------------- */

/* The live side asks: three SENDs of one packet, or a READ of @len bytes. */
static void ask(u32 opcode, u32 n, u32 len)
{
	for (u32 i = 0; i < n; i++) {
		struct sq_wqe *w = emu_post(m, &live, opcode, i, m->c[1].mem + i * 8192, len);

		if (opcode != WR_SEND)
			emu_remote(m, w, 0, m->c[0].mem);
	}
	emu_ring(m, &live);
	n_seen = 0;
}

static void test_ghost_acks(void)
{
	up();
	put(&(struct pkt){ .op = BOP_ACK, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	ask(WR_SEND, 3, 100);
	put(&(struct pkt){ .op = BOP_ACK, .psn = 3, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct pkt){ .op = BOP_ACK, .psn = IB_PSN_MASK, .aeth = AETH_NAK_INV_REQ });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct pkt){ .op = BOP_READ_RESP, .flags = ONLY, .psn = 3, .len = 8 });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	CU_ASSERT_EQUAL(polled(&live.scq).status, 255);
	/* Reserved syndromes say nothing. */
	for (u32 s = 0x40; s < 0x100; s++) {
		if (s >= AETH_NAK_PSN_SEQ && s <= AETH_NAK_REM_OP)
			continue;
		put(&(struct pkt){ .op = BOP_ACK, .aeth = (u8)s });
		CU_ASSERT(dropped(PKT_SYNDROME));
	}
	CU_ASSERT_EQUAL(live_qp()->req.una, 0);
	/* Any number of credits is an acknowledge; one that comes again is none. */
	put(&(struct pkt){ .op = BOP_ACK, .psn = 1, .aeth = 3 });
	CU_ASSERT_EQUAL(polled(&live.scq).wr_id, 0);
	CU_ASSERT_EQUAL(polled(&live.scq).wr_id, 1);
	put(&(struct pkt){ .op = BOP_ACK, .psn = 1, .aeth = AETH_ACK });
	CU_ASSERT(dropped(PKT_NOT_WAITED));
	put(&(struct pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_NAK_REM_OP });
	CU_ASSERT_EQUAL(polled(&live.scq).status, WCS_REM_OP_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &live), QPS_ERR);
	down();
}

/* What a READ of 2500 bytes, or an atomic, ends with. */
static const struct {
	u32 opcode;
	struct pkt pkt[3];
	u32 n;
	u32 status;
} responses[] = {
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 452 } },
	  3,
	  WCS_SUCCESS },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = ONLY, .len = MTU } },
	  1,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_READ_RESP, .len = MTU } }, 1, WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU - 4 } },
	  1,
	  WCS_LOC_LEN_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 1, .len = MTU } },
	  2,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = MTU },
	    { .op = BOP_READ_RESP, .psn = 2, .len = MTU } },
	  3,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU },
	    { .op = BOP_READ_RESP, .psn = 1, .len = MTU },
	    { .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 453 } },
	  3,
	  WCS_LOC_LEN_ERR },
	{ WR_RDMA_READ,
	  { { .op = BOP_READ_RESP, .flags = FIRST, .len = MTU, .aeth = AETH_RNR_NAK } },
	  1,
	  WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_ATOMIC_ACK } }, 1, WCS_BAD_RESP_ERR },
	{ WR_RDMA_READ, { { .op = BOP_ACK, .aeth = AETH_NAK_REM_ACCESS } }, 1, WCS_REM_ACCESS_ERR },
	{ WR_ATOMIC_FETCH_AND_ADD, { { .op = BOP_ATOMIC_ACK } }, 1, WCS_SUCCESS },
	{ WR_ATOMIC_FETCH_AND_ADD,
	  { { .op = BOP_READ_RESP, .flags = ONLY, .len = 8 } },
	  1,
	  WCS_BAD_RESP_ERR },
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
		c = polled(&live.scq);
		if (c.status != responses[i].status)
			printf("# case %u: status %u\n", i, c.status);
		CU_ASSERT_EQUAL(c.status, responses[i].status);
		CU_ASSERT_EQUAL(emu_state(m, &live), c.status ? QPS_ERR : QPS_RTS);
		down();
	}
}

/* A response is skipped, or only acknowledged: it is asked for again, as far as retries go. */
static void test_implied_nak(void)
{
	up();
	ask(WR_RDMA_READ, 1, 2500);
	put(&(struct pkt){ .op = BOP_READ_RESP, .psn = 1, .len = MTU });
	CU_ASSERT_EQUAL(n_seen, 1);
	CU_ASSERT_EQUAL(seen[0].op, BOP_READ_REQ);
	CU_ASSERT_EQUAL(seen[0].psn, emu_conn_defaults.psn_b);
	n_seen = 0;
	put(&(struct pkt){ .op = BOP_ACK, .psn = 2, .aeth = AETH_ACK });
	CU_ASSERT(nothing());
	CU_ASSERT_EQUAL(polled(&live.scq).status, 255);
	/* Then its rest alone. */
	put(&(struct pkt){ .op = BOP_READ_RESP, .flags = FIRST, .len = MTU });
	put(&(struct pkt){ .op = BOP_READ_RESP, .flags = ONLY, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(n_seen, 1);
	CU_ASSERT_EQUAL(seen[0].psn, psn_add(emu_conn_defaults.psn_b, 1));
	put(&(struct pkt){ .op = BOP_READ_RESP, .flags = FIRST, .psn = 1, .len = MTU });
	put(&(struct pkt){ .op = BOP_READ_RESP, .flags = LAST, .psn = 2, .len = 452 });
	CU_ASSERT_EQUAL(polled(&live.scq).status, WCS_SUCCESS);
	down();
}

/* --- at random ------------------------------------------------------------------------------------ */

static u8 random_op(u64 *s)
{
	static const u8 ops[] = { BOP_SEND,	  BOP_WRITE,	  BOP_READ_REQ,
				  BOP_READ_RESP,  BOP_ATOMIC_REQ, BOP_ATOMIC_WRITE,
				  BOP_ATOMIC_ACK, BOP_ACK,	  BOP_NONE };

	return ops[emu_rnd(s) % ARRAY_SIZE(ops)];
}

static u32 pick(u64 *s, const u32 *of, u32 n)
{
	return of[emu_rnd(s) % n];
}

static void random_pkt(u64 *s, struct pkt *p)
{
	static const u32 lens[] = { 0, 1, 8, 16, 100, MTU - 1, MTU, MTU + 1, 4096 };
	static const u32 dmas[] = { 0, 1, 8, MTU, 2 * MTU, 5000, 1u << 30, ~0u };
	u32 at;

	*p = (struct pkt){ .op = random_op(s),
			   .flags = (u8)(emu_rnd(s) % BF_FOREIGN),
			   .len = pick(s, lens, ARRAY_SIZE(lens)),
			   .dma_len = pick(s, dmas, ARRAY_SIZE(dmas)),
			   .aeth = (u8)emu_rnd(s),
			   .off = emu_rnd(s) % 4 ? (u32)(emu_rnd(s) % 4096 & ~7u) : EMU_AREA - 4,
			   .rkey = emu_rnd(s) % 8 ? 0 : (u32)emu_rnd(s) };
	if (emu_rnd(s) % 4)
		p->aeth &= 0x3f;
	/* Near what is expected: requests at @epsn, answers at what is outstanding. */
	at = first_psn(p->op) == emu_conn_defaults.psn_a ? live_qp()->resp.epsn
							 : live_qp()->req.una_psn;
	p->psn = (at - first_psn(p->op) + (u32)(emu_rnd(s) % 8 ? 0 : emu_rnd(s) % 9 - 4)) &
		 IB_PSN_MASK;
	if (p->op == BOP_READ_REQ || p->op == BOP_ATOMIC_REQ || p->op == BOP_ACK)
		p->len = 0;
	if (p->op == BOP_READ_REQ && p->dma_len > 5000)
		p->dma_len = 5000;
	if (p->op == BOP_WRITE && emu_rnd(s) % 2)
		p->dma_len = p->len;
}

/* The live side goes on working meanwhile; when it has failed another one takes its place. */
static void live_turn(u64 *s)
{
	static const u32 ops[] = { WR_SEND, WR_RDMA_READ, WR_RDMA_WRITE, WR_ATOMIC_FETCH_AND_ADD };
	struct cqe c;
	u32 op;

	n_seen = 0;
	while (emu_poll(m, &live.scq, &c, NULL) || emu_poll(m, &live.rcq, &c, m->c[1].mem))
		;
	if (live.rq_prod - live_qp()->resp.rq_cons < 8)
		emu_recv(m, &live, 1, m->c[1].mem, 8 * MTU);
	if (live.sq_prod - live_qp()->req.una > 8)
		return;
	op = pick(s, ops, ARRAY_SIZE(ops));
	emu_remote(m,
		   emu_post(m, &live, op, 2, m->c[1].mem, op == WR_ATOMIC_FETCH_AND_ADD ? 8 : 3000),
		   0, m->c[0].mem);
	emu_ring(m, &live);
}

/* A new pair in the old one's place. */
static void again(void)
{
	emu_destroy(m, &live);
	emu_destroy(m, &ghost);
	m->host.wire = NULL;
	for (u32 i = 0; i < 2; i++) {
		memset((char *)m->c[i].seg + SEG_HEAP_OFF, 0, m->c[i].heap - SEG_HEAP_OFF);
		m->c[i].heap = SEG_HEAP_OFF;
	}
	emu_connect(m, 0, 1, &emu_conn_defaults, &ghost, &live);
	m->host.wire = keep;
}

static void test_random(void)
{
	const char *more = getenv("FOREIGN_PACKETS");
	u64 n = more ? strtoull(more, NULL, 0) : 200000, s = 12345, deaths = 0;
	char why[256] = "";
	struct pkt p;

	up();
	while (n--) {
		random_pkt(&s, &p);
		put(&p);
		if (!(emu_rnd(&s) % 4))
			live_turn(&s);
		if (emu_state(m, &live) != QPS_ERR)
			continue;
		if (!(deaths++ % 64) && hca_audit(m->hca, why, sizeof(why)))
			break;
		again();
	}
	if (*why)
		printf("# audit: %s\n", why);
	CU_ASSERT_EQUAL(*why, 0);
	CU_ASSERT(deaths > 0);
	printf("# %llu queue pairs have failed\n", (unsigned long long)deaths);
	down();
}

static const struct cu_test tests[] = {
	{ "what is right is served", test_good },
	{ "what is refused, with which NAK", test_refused },
	{ "sequence numbers", test_sequence },
	{ "duplicates", test_duplicates },
	{ "no receive, one that is too small", test_rnr },
	{ "UC drops without a word", test_uc },
	{ "ghost ACKs and reserved syndromes", test_ghost_acks },
	{ "responses: order and lengths", test_responses },
	{ "responses that are skipped", test_implied_nak },
	{ "packets at random", test_random },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("foreign", tests);
}
