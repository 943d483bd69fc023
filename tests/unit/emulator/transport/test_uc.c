/* SPDX-License-Identifier: MIT */
/*
 * UC over a wire that loses, duplicates and reorders: messages arrive whole and in order, or not at
 * all; the sender never learns, and both go on. A duplicate that starts a message is a new message
 * to the responder (IBTA 9.8.2.2.4).
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <stdio.h>

#define SEC  1000000000ULL
#define N    200
#define ROOM 8192

static struct emu *m;
static struct emu_qp a, b;

static void up(u64 seed)
{
	struct emu_conn o = emu_conn_defaults;

	o.type = QPT_UC;
	o.mtu = 1;
	o.depth = 16;
	o.psn_a = 0xffffc0;
	m = emu_new(seed);
	emu_connect(m, 0, 1, &o, &a, &b);
}

static u32 len_of(u32 i)
{
	return 1 + i * 37 % 2000;
}

/* One message after the other, each with its ordinal as immediate. Return: how many arrived. */
static u32 send_all(u32 opcode)
{
	u32 got = 0, last = 0;
	struct cqe c;

	for (u32 i = 0; i < 8; i++)
		emu_recv(m, &b, i, m->c[1].mem + i * ROOM, ROOM);
	for (u32 i = 0; i < N; i++) {
		struct sq_wqe *w;

		emu_fill(m->c[0].mem, len_of(i), i);
		w = emu_post(m, &a, opcode, i, m->c[0].mem, len_of(i));
		w->imm = i;
		if (opcode == WR_RDMA_WRITE_WITH_IMM)
			emu_remote(m, w, 1, m->c[1].mem + 8 * ROOM);
		emu_ring(m, &a);
		emu_run(m, m->clock + SEC);
		if (!emu_poll(m, &a.scq, &c, NULL) || c.status || c.wr_id != i)
			return ~0u;
		while (emu_poll(m, &b.rcq, &c, NULL)) {
			u8 *at = m->c[1].mem +
				 (opcode == WR_RDMA_WRITE_WITH_IMM ? 8 : c.wr_id) * ROOM;

			if (c.status || c.imm + 1 < last || c.imm > i ||
			    c.byte_len != len_of(c.imm) ||
			    (c.imm == i && !emu_filled(at, c.byte_len, i)))
				return ~0u;
			last = c.imm + 1;
			got++;
			emu_recv(m, &b, c.wr_id, m->c[1].mem + c.wr_id * ROOM, ROOM);
		}
	}
	return got;
}

static void try_wire(const struct emu_faults *f, u32 least, u32 most)
{
	static const u32 opcodes[] = { WR_SEND_WITH_IMM, WR_RDMA_WRITE_WITH_IMM };

	for (u32 op = 0; op < ARRAY_SIZE(opcodes); op++)
		for (u64 seed = 1; seed < 20; seed++) {
			u32 got;

			up(seed);
			emu_wire(m, f);
			got = send_all(opcodes[op]);
			if (got < least || got > most)
				printf("# seed %lu: %u arrived\n", (unsigned long)seed, got);
			CU_ASSERT_TRUE(got >= least && got <= most);
			CU_ASSERT_EQUAL(emu_state(m, &a), QPS_RTS);
			CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
			emu_free(m);
		}
}

static void test_good(void)
{
	try_wire(&(struct emu_faults){ .delay = 1000, .split = 1000 }, N, N);
}

static void test_loss(void)
{
	try_wire(&(struct emu_faults){ .loss = 50, .delay = 1000, .split = 800 }, N / 3, N - 1);
}

static void test_dup(void)
{
	try_wire(&(struct emu_faults){ .dup = 100, .delay = 1000, .split = 500 }, N / 3, 2 * N);
}

static void test_late(void)
{
	try_wire(&(struct emu_faults){ .late = 50, .delay = 1000, .jitter = 9000, .split = 800 },
		 N / 3, N);
}

/* A send error leaves the receiving half alone, and the queue can be started again. */
/* Both sides set the MTU. Where they disagree, only single packets that fit both pass. */
static void test_mtus(void)
{
	static const struct {
		u32 mtu, len;
		bool passes;
	} cases[] = {
		{ 1024, 200, true }, /* of 256 bytes, the sender's */
		{ 1024, 600, false }, /* several packets, shorter than the receiver wants */
		{ 128, 100, true },
		{ 128, 200, false },
	};
	struct cqe c;

	up(1);
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		m->hca->qp[b.slot].mtu = cases[i].mtu;
		emu_recv(m, &b, i, m->c[1].mem, ROOM);
		emu_post(m, &a, WR_SEND, i, m->c[0].mem, cases[i].len);
		emu_ring(m, &a);
		CU_ASSERT(emu_poll(m, &a.scq, &c, NULL) && !c.status);
		CU_ASSERT_EQUAL(emu_poll(m, &b.rcq, &c, NULL), cases[i].passes);
		CU_ASSERT_EQUAL(m->hca->qp[b.slot].state, QPS_RTS);
	}
	emu_free(m);
}

static void test_sqe(void)
{
	struct hca_qp_attr attr = { .state = QPS_RTS };
	struct sq_wqe *w;
	struct cqe c;

	up(1);
	emu_post(m, &a, WR_SEND, 1, m->c[0].mem, 10)->sge[0].lkey = 1;
	emu_post(m, &a, WR_SEND, 2, m->c[0].mem, 10);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_LOC_PROT_ERR);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_SQE);
	emu_recv(m, &a, 7, m->c[0].mem, 100);
	w = emu_post(m, &b, WR_SEND, 3, m->c[1].mem, 10);
	w->imm = 0;
	emu_ring(m, &b);
	CU_ASSERT_TRUE(emu_poll(m, &a.rcq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_STATE), 0);
	emu_recv(m, &b, 8, m->c[1].mem, 100);
	emu_post(m, &a, WR_SEND, 4, m->c[0].mem, 10);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_EQUAL(c.wr_id, 8);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "UC in pieces", test_good },
	{ "UC with loss", test_loss },
	{ "UC with duplicates", test_dup },
	{ "UC with reordering", test_late },
	{ "UC with MTUs that differ", test_mtus },
	{ "UC in SQE", test_sqe },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("uc", tests);
}
