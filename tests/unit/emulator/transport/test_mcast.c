/* SPDX-License-Identifier: MIT */
/* Multicast: the source of a datagram, the members that get it, and the number of groups. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC  1000000000ULL
#define QKEY 0x1234

static struct emu *m;
static const u8 group[16] = { 0xff, 0x12, [15] = 1 };

static struct emu_qp ud(u32 client, u32 source_qpn)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp q;

	o.type = QPT_UD;
	o.source_qpn = source_qpn;
	q = emu_qp_new(m, client, &o, 1);
	emu_start_datagrams(m, &q, 1, QKEY);
	return q;
}

static int join(const struct emu_qp *q, u32 op, u8 number)
{
	struct hca_cmd cmd = { .op = op, .handle = q->slot };

	memcpy(cmd.mcast.gid, group, 16);
	cmd.mcast.gid[15] = number;
	return emu_cmd(m, q->client, &cmd);
}

static void send_to_group(struct emu_qp *q, u32 imm)
{
	u32 ah = emu_address(m, q->client, 1, group);
	struct sq_wqe *w = emu_post(m, q, WR_SEND_WITH_IMM, imm, m->c[q->client].mem, 8);

	w->imm = imm;
	w->ah = ah;
	w->remote_qpn = 0xffffff;
	w->remote_qkey = QKEY;
	emu_ring(m, q);
}

/* Which datagrams have come, a bit each; none twice. */
static u32 came(struct emu_qp *q)
{
	struct cqe c;
	u32 seen = 0;

	while (emu_poll(m, &q->rcq, &c, NULL)) {
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_FALSE(seen & 1u << c.imm);
		seen |= 1u << c.imm;
	}
	return seen;
}

/* One sends under another's number, and one of the members is out of reach at first. */
static void test_false_name(void)
{
	struct emu_qp named, liar, near, far;

	m = emu_new(1);
	named = ud(1, 0);
	liar = ud(0, named.qpn);
	near = ud(2, 0);
	far = ud(3, 0);
	CU_ASSERT_EQUAL(join(&near, CMD_ATTACH_MCAST, 1), 0);
	CU_ASSERT_EQUAL(join(&far, CMD_ATTACH_MCAST, 1), 0);
	for (u32 i = 0; i < 4; i++) {
		emu_recv(m, &near, i, m->c[2].mem + 4096 * i, 100);
		emu_recv(m, &far, i, m->c[3].mem + 4096 * i, 100);
	}
	m->hidden = 3 + 1;
	send_to_group(&liar, 1);
	CU_ASSERT_EQUAL(m->hca->qp[named.slot].mcast_next, 0);
	m->hidden = 0;
	send_to_group(&named, 2);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(came(&near), 1u << 1 | 1u << 2);
	CU_ASSERT_EQUAL(came(&far), 1u << 1 | 1u << 2);
	emu_free(m);
}

static void test_group_limit(void)
{
	struct emu_qp q, r;

	m = emu_new(1);
	m->hca->dev[0].lim.max_mcast_grp = 50;
	q = ud(0, 0);
	r = ud(1, 0);
	for (u8 i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(join(&q, CMD_ATTACH_MCAST, i), 0);
		CU_ASSERT_EQUAL(join(&r, CMD_ATTACH_MCAST, i), 0);
	}
	CU_ASSERT_EQUAL(join(&q, CMD_ATTACH_MCAST, 50), -ENOMEM);
	CU_ASSERT_EQUAL(join(&q, CMD_DETACH_MCAST, 7), 0);
	/* The other is still in it. */
	CU_ASSERT_EQUAL(join(&q, CMD_ATTACH_MCAST, 50), -ENOMEM);
	CU_ASSERT_EQUAL(join(&q, CMD_ATTACH_MCAST, 7), 0);
	CU_ASSERT_EQUAL(join(&q, CMD_DETACH_MCAST, 7), 0);
	CU_ASSERT_EQUAL(join(&r, CMD_DETACH_MCAST, 7), 0);
	CU_ASSERT_EQUAL(join(&r, CMD_ATTACH_MCAST, 50), 0);
	CU_ASSERT_EQUAL(join(&r, CMD_ATTACH_MCAST, 7), -ENOMEM);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a datagram under another's number is not that one's", test_false_name },
	{ "groups are counted, not memberships", test_group_limit },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("multicast", tests);
}
