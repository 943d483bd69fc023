/* SPDX-License-Identifier: MIT */
/*
 * Death of a holder of the token among tags, at every instruction.
 *
 * As in test_recover.c: client 0 has work of its own, and serves what 2 has for 3, whose receive
 * side is an SRQ with tags. Whatever happened to 0, each message of 2 has matched its tag once,
 * with its data, and 2 has a FIN for each rendezvous.
 */
#include "tests/lib/engine/deaths.h"
#include "tests/lib/engine/emu_tm.h"

#include <stdlib.h>

#define LEN  1200 /* single steps count every word of a copy */
#define MSGS 3

static struct emu_qp q0, q1, q2, q3;

static void tag_of(const struct emu_qp *q, u32 i)
{
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS, .handle = q->srq_index };

	cmd.tm = (struct cmd_srq_op){
		.tag = i,
		.mask = ~0ULL,
		.recv_wr_id = i,
		.sge = { (uintptr_t)buf_at(q->client, i), SLOT, m->c[q->client].key },
		.num_sge = 1,
		.opcode = ADD,
	};
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, q->client, &cmd), 0);
}

/* The last message has no tag. */
static void prepare(u32 kind)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp *from[] = { &q0, &q2 }, *to[] = { &q1, &q3 };

	o.timeout = 10;
	o.depth = 8;
	o.mtu = 1; /* messages of several packets */
	m = emu_new(7);
	for (u32 i = 0; i < 2; i++) {
		o.tags = 0;
		*from[i] = emu_qp_new(m, 2 * i, &o, 4);
		o.tags = TAGS;
		*to[i] = emu_qp_new(m, 2 * i + 1, &o, 4);
		emu_pair(m, from[i], to[i], &o);
		for (u32 k = 0; k < MSGS; k++) {
			if (k < MSGS - 1)
				tag_of(to[i], k);
			emu_recv(m, to[i], RECVS + k, buf_at(to[i]->client, RECVS + k), SLOT);
			emu_recv(m, from[i], k, buf_at(from[i]->client, 900 + k), 64);
			say(from[i], kind, k, k, LEN);
		}
	}
	emu_publish(m, &q2);
}

/* All that 3 has of its messages: a bit for each entry that there must be, 0 when one was wrong. */
static u32 received(u32 kind)
{
	u8 *last = buf_at(3, RECVS);
	u32 seen = 0, bit;
	struct cqe c;

	while (emu_poll(m, &q3.rcq, &c, last)) {
		bool data = c.wc_flags & WCF_TM_DATA_VALID;

		bit = c.wr_id < MSGS ? (u32)c.wr_id * 2 + data : 30;
		if (c.status || c.opcode != WCO_TM_RECV || (seen & 1u << bit) ||
		    (bit == 30 && (c.wr_id != RECVS || c.wc_flags || !(c.flags & CQE_RECV))) ||
		    (data && !emu_filled(buf_at(3, (u32)c.wr_id), LEN, (u32)c.wr_id)))
			return 0;
		seen |= 1u << bit;
	}
	if (kind == EAGER && !emu_filled(last + 16, LEN, MSGS - 1))
		return 0;
	return seen;
}

static bool check_bystanders(u32 kind)
{
	u32 fins = kind == RNDV ? MSGS - 1 : 0;
	struct cqe c;

	for (u32 i = 0; i < MSGS; i++)
		if (!sent(&q2, i, WCS_SUCCESS))
			return false;
	for (u32 i = 0; i < fins; i++)
		if (!emu_poll(m, &q2.rcq, &c, NULL) || c.status || c.wr_id != i || c.byte_len != 16)
			return false;
	if (received(kind) != (1u << 30 | (kind == RNDV ? 0xfu : 0xau)))
		return false;
	return !emu_poll(m, &q2.scq, &c, NULL) && !emu_poll(m, &q2.rcq, &c, NULL);
}

static bool check_list(const struct emu_qp *q, u32 n_tags, u32 unexpected)
{
	const struct hca_srq *srq = &m->hca->srq[q->srq_index];
	u32 n = 0, i;

	for (i = srq->tags; i; i = m->hca->tag[i - 1].next)
		n++;
	return n == n_tags && srq->n_tags == n_tags && srq->unexpected == unexpected;
}

/* The dead client's peer has no message twice, and no tag disappeared without a completion. */
static bool check_peer(void)
{
	const struct hca_srq *srq = &m->hca->srq[q1.srq_index];
	u32 ended = 0, unexpected = 0, held = 0;
	struct cqe c;

	while (emu_poll(m, &q1.rcq, &c, NULL)) {
		if (c.flags & CQE_RECV)
			unexpected++;
		else if (c.wc_flags != WCF_TM_MATCH || c.status)
			ended++;
	}
	for (u32 i = srq->tags; i; i = m->hca->tag[i - 1].next)
		held++;
	/* A message that was cut off has its receive, or its tag, until the QP is ended. */
	return ended + held == MSGS - 1 && unexpected <= srq->unexpected &&
	       srq->unexpected <= unexpected + 1 && srq->unexpected <= 1;
}

static bool check_leaks(void)
{
	const struct hca *h = m->hca;

	return h->tab[TAB_QP].n == 3 && h->client[0].state == CLIENT_FREE &&
	       h->token == TOKEN_FREE && h->tab[TAB_TAG].n == h->srq[q1.srq_index].n_tags &&
	       !h->commit.tag;
}

static u32 killed_in;

static int after_death(struct emu *unused, void *arg, bool died)
{
	(void)unused;
	(void)arg;
	(void)died;
	emu_reap(m);
	emu_run(m, m->clock + 10 * SEC);
	CU_ASSERT_TRUE(check_bystanders(killed_in));
	CU_ASSERT_TRUE(check_list(&q3, 0, 1));
	CU_ASSERT_TRUE(check_peer());
	CU_ASSERT_TRUE(check_leaks());
	return 0;
}

static void deaths(u32 kind)
{
	struct emu_deaths d;

	prepare(kind);
	killed_in = kind;
	d = deaths_ring(m, &q0, 607, after_death);
	printf("# %u deaths within %ld instructions\n", d.died, d.n);
	emu_free(m);
}

static void test_eager(void)
{
	deaths(EAGER);
}

static void test_rndv(void)
{
	deaths(RNDV);
}

static const struct cu_test tests[] = {
	{ "death while eager messages are matched", test_eager },
	{ "death while rendezvous are read", test_rndv },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("recover_tm", tests);
}
