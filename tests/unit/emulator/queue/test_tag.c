/* SPDX-License-Identifier: MIT */
/* Tag matching on the engine alone: the list of tags, eager and unexpected messages. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_tm.h"

static void test_eager(void)
{
	static const u32 sizes[] = { 0, 1, 40, 56, 1008, 1009, 5000 };

	up();
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		CU_ASSERT_EQUAL(add(100 + i, i, SLOT), 0);
	for (u32 i = ARRAY_SIZE(sizes); i-- > 0;) {
		say(&a, EAGER, 100 + i, i, sizes[i]);
		emu_ring(m, &a);
		CU_ASSERT_TRUE(sent(&a, i, WCS_SUCCESS));
		CU_ASSERT_TRUE(eager_came(i, 100 + i, sizes[i], i));
	}
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	CU_ASSERT_EQUAL(m->hca->srq[b.srq_index].n_tags, 0);
	CU_ASSERT_TRUE(nothing());
	emu_free(m);
}

/* The oldest that matches, by its own mask. */
static void test_order(void)
{
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS };

	up();
	cmd.handle = b.srq_index;
	cmd.tm.opcode = ADD;
	cmd.tm.tag = 0x500;
	cmd.tm.mask = 0xf00;
	cmd.tm.recv_wr_id = 1;
	cmd.tm.num_sge = 1;
	cmd.tm.sge = (struct wq_sge){ (uintptr_t)buf_at(1, 1), SLOT, m->c[1].key };
	CU_ASSERT_EQUAL(add(0x533, 0, SLOT), 0);
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), 0);
	CU_ASSERT_EQUAL(add(0x533, 2, SLOT), 0);
	cmd.tm.tag = 0x533; /* no message can: the mask leaves nothing of the 33 */
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), 0);
	for (u32 i = 0; i < 3; i++)
		say(&a, EAGER, 0x533, i, 100);
	recvs(1);
	say(&a, EAGER, 0x533, 3, 100);
	emu_ring(m, &a);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_TRUE(eager_came(i, 0x533, 100, i));
	CU_ASSERT_TRUE(whole_came(RECVS, WCO_TM_RECV, 100, 3));
	emu_free(m);
}

/* Tags posted while a message has not been counted wait until it is. */
static void test_unexpected(void)
{
	u32 handle = 0;
	struct cqe c;

	up();
	CU_ASSERT_EQUAL(op(ADD, SIGNALED, 7, 0, SLOT, 0, &handle), 0);
	CU_ASSERT_TRUE(is(1000, WCO_TM_ADD, 0, 0, &c));
	say(&a, EAGER, 8, 1, 3000);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(nothing()); /* nothing to put it into: it comes again */
	recvs(4);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_TRUE(whole_came(RECVS, WCO_TM_RECV, 3000, 1));
	CU_ASSERT_EQUAL(op(ADD, SIGNALED, 8, 2, SLOT, 0, &handle), 0);
	CU_ASSERT_TRUE(is(1002, WCO_TM_ADD, WCF_TM_SYNC_REQ, 0, &c));
	say(&a, EAGER, 8, 3, 30);
	say(&a, EAGER, 7, 4, 30);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(whole_came(RECVS + 1, WCO_TM_RECV, 30, 3));
	CU_ASSERT_TRUE(eager_came(0, 7, 30, 4));
	CU_ASSERT_EQUAL(op(SYNC, SIGNALED | COUNTED, 0, 0, 0, 1, NULL), 0);
	CU_ASSERT_TRUE(is(1000, WCO_TM_SYNC, WCF_TM_SYNC_REQ, 0, &c));
	CU_ASSERT_EQUAL(op(ADD, SIGNALED | COUNTED, 9, 5, SLOT, 2, &handle), 0);
	CU_ASSERT_TRUE(is(1005, WCO_TM_ADD, 0, 0, &c));
	say(&a, EAGER, 8, 6, 30);
	say(&a, EAGER, 9, 7, 30);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(eager_came(2, 8, 30, 6));
	CU_ASSERT_TRUE(eager_came(5, 9, 30, 7));
	emu_free(m);
}

/* A message that is never counted matches nothing, and makes nothing wait. */
static void test_no_tag(void)
{
	up();
	recvs(3);
	CU_ASSERT_EQUAL(add(7, 0, SLOT), 0);
	say(&a, NO_TAG, 7, 1, 2000);
	say(&a, FIN, 7, 2, 0);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(whole_came(RECVS, WCO_TM_NO_TAG, 2000, 1));
	CU_ASSERT_TRUE(whole_came(RECVS + 1, WCO_TM_NO_TAG, 0, 2));
	CU_ASSERT_EQUAL(add(8, 3, SLOT), 0);
	say(&a, EAGER, 8, 4, 10);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(eager_came(3, 8, 10, 4));
	emu_free(m);
}

static bool op_ends(u64 wr_id, u32 opcode, u32 status)
{
	struct cqe c;

	return emu_poll(m, &b.rcq, &c, NULL) && c.wr_id == wr_id && c.opcode == opcode &&
	       c.status == status;
}

static void test_delete(void)
{
	u32 h[3] = { 0 }, old;

	up();
	recvs(1);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(op(ADD, 0, i, i, SLOT, 0, &h[i]), 0);
	CU_ASSERT_EQUAL(op(DEL, SIGNALED, 0, 1, 0, 0, &h[1]), 0);
	CU_ASSERT_TRUE(op_ends(1001, WCO_TM_DEL, WCS_SUCCESS));
	CU_ASSERT_EQUAL(op(DEL, SIGNALED, 0, 1, 0, 0, &h[1]), 0);
	CU_ASSERT_TRUE(op_ends(1001, WCO_TM_DEL, WCS_TM_ERR));
	say(&a, EAGER, 2, 5, 10);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(eager_came(2, 2, 10, 5));
	CU_ASSERT_EQUAL(op(DEL, SIGNALED, 0, 2, 0, 0, &h[2]), 0);
	CU_ASSERT_TRUE(op_ends(1002, WCO_TM_DEL, WCS_TM_ERR));
	/* In the place of one that has gone: the old handle means the old one. */
	old = h[1];
	m->hca->tab[TAB_TAG].cursor = old & 0xffff;
	CU_ASSERT_EQUAL(op(ADD, 0, 9, 4, SLOT, 0, &h[1]), 0);
	CU_ASSERT_EQUAL(old & 0xffff, h[1] & 0xffff);
	CU_ASSERT_EQUAL(op(DEL, SIGNALED, 0, 4, 0, 0, &old), 0);
	CU_ASSERT_TRUE(op_ends(1004, WCO_TM_DEL, WCS_TM_ERR));
	old = 0xffffffff;
	CU_ASSERT_EQUAL(op(DEL, 0, 0, 4, 0, 0, &old), 0);
	CU_ASSERT_TRUE(nothing());
	say(&a, EAGER, 9, 6, 10);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(eager_came(4, 9, 10, 6));
	CU_ASSERT_EQUAL(m->hca->srq[b.srq_index].n_tags, 1);
	emu_free(m);
}

static void test_refused(void)
{
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS };
	struct emu_qp other;

	up();
	for (u32 i = 0; i < TAGS; i++)
		CU_ASSERT_EQUAL(add(i, i, SLOT), 0);
	CU_ASSERT_EQUAL(add(0, 0, SLOT), -ENOMEM);
	CU_ASSERT_EQUAL(op(3, 0, 0, 0, 0, 0, NULL), -EINVAL);
	cmd.handle = b.srq_index;
	cmd.tm.num_sge = 2;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), -EINVAL);
	cmd.tm.num_sge = 0;
	CU_ASSERT_EQUAL(emu_cmd(m, 0, &cmd), -EINVAL); /* it is client 1's */
	plain.srq = true;
	other = emu_qp_new(m, 1, &plain, 4);
	cmd.handle = other.srq_index;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), -EINVAL); /* has no tags */
	emu_destroy(m, &b);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	emu_free(m);
}

/* An eager message is under way, and its tag held. */
static void half_way(void)
{
	const u32 len = 3u << 19;

	up();
	CU_ASSERT_EQUAL(add(1, 0, len), 0);
	say(&a, EAGER, 1, 0, len);
	m->copy_skip = 2; /* the header and the first burst */
	m->copy_error = -EAGAIN;
	emu_ring(m, &a);
	CU_ASSERT_TRUE(m->hca->qp[b.slot].resp.flags & RESP_IN_MSG);
	CU_ASSERT_EQUAL(m->hca->tag[m->hca->srq[b.srq_index].tags - 1].state, TAG_HELD);
}

/* A QP that is reset, or goes, in the middle of a message takes the tag along. */
static void test_dropped(void)
{
	struct hca_qp_attr attr = { .state = QPS_RESET };

	for (u32 i = 0; i < 2; i++) {
		half_way();
		if (i)
			emu_destroy(m, &b);
		CU_ASSERT_TRUE(i || !emu_modify(m, &b, &attr, QPA_STATE));
		CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
		CU_ASSERT_TRUE(nothing());
		emu_free(m);
	}
}

/* To ERR in the middle of a message. */
static void test_flushed(void)
{
	struct hca_qp_attr attr = { .state = QPS_ERR };

	half_way();
	CU_ASSERT_EQUAL(emu_modify(m, &b, &attr, QPA_STATE), 0);
	CU_ASSERT_TRUE(fails(0, WCS_WR_FLUSH_ERR));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	emu_free(m);
}

/* Receive 1 fails on purpose: it is a tag's. */
static u32 second_fails(struct emu *e, struct hca_work *w)
{
	(void)e;
	return w->recv && w->wr_id == 1 && w->len == SLOT ? WCS_LOC_PROT_ERR : 0;
}

static void test_fault(void)
{
	static const u32 sizes[] = { 40, 5000 };

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		up();
		emu_fault(m, second_fails);
		for (u32 n = 0; n < 3; n++)
			CU_ASSERT_EQUAL(add(100 + n, n, SLOT), 0);
		say(&a, EAGER, 100, 0, sizes[i]);
		say(&a, EAGER, 101, 1, sizes[i]);
		emu_ring(m, &a);
		CU_ASSERT_TRUE(eager_came(0, 100, sizes[i], 0));
		CU_ASSERT_TRUE(fails(1, WCS_LOC_PROT_ERR));
		CU_ASSERT_TRUE(sent(&a, 0, WCS_SUCCESS));
		CU_ASSERT_TRUE(sent(&a, 1, WCS_REM_OP_ERR));
		CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 1);
		emu_free(m);
	}
}

static const struct cu_test tests[] = {
	{ "eager messages into tags", test_eager },
	{ "the oldest tag that matches", test_order },
	{ "unexpected messages are counted, and tags wait for that", test_unexpected },
	{ "messages without a tag", test_no_tag },
	{ "tags deleted", test_delete },
	{ "operations refused", test_refused },
	{ "a QP reset or destroyed with a tag", test_dropped },
	{ "a QP flushed with a tag", test_flushed },
	{ "a tag's receive that fails on purpose", test_fault },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("tag", tests);
}
