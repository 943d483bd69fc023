/* SPDX-License-Identifier: MIT */
/*
 * Death of a token holder that carries UC messages or datagrams of others, every few instructions:
 * a message may be lost, but arrives at most once, and its sender has one completion. See
 * tests/unit/emulator/engine/test_recover.c.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/engine/deaths.h"
#include "tests/unit/emulator/transport/typed_pair.h"

#define SEC 1000000000ULL
#define N   4
#define LEN 600 /* three packets */
#define ONE 40 /* one packet: emulator/transport/straight.c */

static struct emu *m;
/* 0 dies with nothing of its own to do but the doorbell that 2 left, whose messages go to 3. */
static struct emu_qp q0, q1, q2, q3;
static u32 msg_len;
static u32 recv_at; /* the payload follows a datagram's header */

static void prepare(u32 type, u32 opcode)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp pair[2];
	u32 ah[2] = { 0, 0 };
	struct sq_wqe *w;

	o.depth = 8;
	o.mtu = 1;
	m = emu_new(3);
	emu_connect(m, 0, 1, &o, &q0, &q1);
	o.type = type;
	typed_connect(m, 2, 3, &o, pair, ah);
	q2 = pair[0];
	q3 = pair[1];
	recv_at = type == QPT_UD ? IB_GRH_LEN : 0;
	for (u32 i = 0; i < N; i++) {
		emu_fill(m->c[2].mem + i * 4096, msg_len, i + 1);
		w = emu_post(m, &q2, opcode, i, m->c[2].mem + i * 4096, msg_len);
		w->imm = i;
		typed_name(w, type, &q3, ah[0]);
		if (opcode == WR_RDMA_WRITE_WITH_IMM)
			emu_remote(m, w, 3, m->c[3].mem + i * 4096);
	}
	for (u32 i = 0; i < 2 * N; i++)
		emu_recv(m, &q3, i, m->c[3].mem + i * 4096, 4096);
	emu_publish(m, &q2);
}

/* Return: how many messages have arrived. */
static u32 check_messages(void)
{
	struct cqe c = { 0 };
	u32 seen = 0, arrived = 0;
	char why[200];

	for (u32 i = 0; i < N; i++)
		CU_ASSERT_TRUE(emu_poll(m, &q2.scq, &c, NULL) && c.status == WCS_SUCCESS &&
			       c.wr_id == i);
	CU_ASSERT_FALSE(emu_poll(m, &q2.scq, &c, NULL));
	for (; emu_poll(m, &q3.rcq, &c, NULL); arrived++) {
		CU_ASSERT_TRUE(c.status == WCS_SUCCESS && c.imm < N &&
			       c.byte_len == recv_at + msg_len && !(seen >> c.imm));
		seen |= 1u << (c.imm % 32);
	}
	CU_ASSERT_FALSE(hca_audit(m->hca, why, sizeof(why)));
	return arrived;
}

static int after_death(struct emu *unused, void *arg, bool died)
{
	u32 arrived;

	(void)unused;
	(void)arg;
	(void)died;
	emu_reap(m);
	emu_run(m, m->clock + 10 * SEC);
	arrived = check_messages();
	CU_ASSERT_TRUE(arrived == N || arrived == N - 1);
	return arrived == N;
}

static void deaths(u32 type, u32 opcode, u32 len, long step)
{
	struct emu_deaths d;

	msg_len = len;
	prepare(type, opcode);
	d = deaths_ring(m, &q0, step, after_death);
	printf("# %u deaths, after which %u times all messages arrived\n", d.died, d.seen[1]);
	CU_ASSERT_TRUE(d.seen[1] > 1);
	emu_free(m);
}

static void test_send(void)
{
	deaths(QPT_UC, WR_SEND_WITH_IMM, LEN, 211);
}

static void test_write(void)
{
	deaths(QPT_UC, WR_RDMA_WRITE_WITH_IMM, LEN, 211);
}

static void test_send_of_one(void)
{
	deaths(QPT_UC, WR_SEND_WITH_IMM, ONE, 23);
}

static void test_write_of_one(void)
{
	deaths(QPT_UC, WR_RDMA_WRITE_WITH_IMM, ONE, 23);
}

static void test_datagram(void)
{
	deaths(QPT_UD, WR_SEND_WITH_IMM, ONE, 23);
}

static const struct cu_test tests[] = {
	{ "a UC SEND comes at most once when its carrier dies", test_send },
	{ "a UC WRITE comes at most once when its carrier dies", test_write },
	{ "a UC SEND of one packet comes at most once when its carrier dies", test_send_of_one },
	{ "a UC WRITE of one packet comes at most once when its carrier dies", test_write_of_one },
	{ "a datagram comes at most once when its carrier dies", test_datagram },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("recovery of UC", tests);
}
