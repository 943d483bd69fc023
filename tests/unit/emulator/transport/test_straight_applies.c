/* SPDX-License-Identifier: MIT */
/* Which requests the straight line is for; all others it leaves alone, and nothing has changed. */
#include "emulator/transport/straight.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define MTU 1024u

static struct emu *m;
static struct emu_qp q[2];

static void nothing(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	(void)w;
	(void)qp;
	(void)peer;
}

/* apply() connects the QPs of two ports. */
static void between_ports(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
}

/* apply() makes both QPs UC. */
static void of_uc(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
}

/* apply() makes the peer's receive one of an SRQ. */
static void to_srq(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
}

static void to_srq_limit(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->srq[peer->srq - 1].limit = 1;
}

static void to_srq_empty(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->srq[peer->srq - 1].cons++;
}

static void to_srq_of_tags(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->srq[peer->srq - 1].type = SRQ_TM;
}

static void fenced(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->send_flags |= SEND_FENCE;
}

static void bad_lkey(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->sge[0].lkey ^= 0x100;
}

static void bad_rkey(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->rkey ^= 0x100;
}

static void other_psn(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->resp.epsn = psn_add(peer->resp.epsn, 1);
}

static void in_message(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->resp.flags |= RESP_IN_MSG;
}

static void outstanding(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	qp->req.una--;
}

/* It was sent before, and goes on after a retransmission. */
static void begun(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	qp->req.sent++;
}

static void rnr_wait(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	qp->req.flags |= REQ_RNR_WAIT;
}

static void rendezvous(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	qp->rndv++;
}

static void peer_in_rtr(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->state = QPS_RTR;
}

/* It is never moved to RTS, as by a program that only receives. */
static void peer_stays_in_rtr(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	peer_in_rtr(w, qp, peer);
	peer->resp.flags |= RESP_COMM_EST;
}

static void peer_of_another(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->path.dst_qpn++;
	peer->back.src_qpn++;
}

static void no_right(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->attr.access = 0;
}

static void watched(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->watched = 1;
}

static void cq_fill(const struct emu_cq *q)
{
	struct cq_ctl *ctl = (void *)((u8 *)m->c[q->client].seg + q->ring);
	struct hca_cq *cq = &m->hca->cq[q->index];

	cq->cons = ctl->cons = cq->prod - cq->depth;
}

static void send_cq_full(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	cq_fill(&q[0].scq);
}

static void recv_cq_full(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	cq_fill(&q[1].rcq);
}

/* The engine has not looked since then. */
static void polled_cq(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	recv_cq_full(w, qp, peer);
	((struct cq_ctl *)(void *)((u8 *)m->c[1].seg + q[1].rcq.ring))->cons++;
}

/* The program says that it has read an entry that there never was. */
static void cq_beyond_end(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	recv_cq_full(w, qp, peer);
	((struct cq_ctl *)(void *)((u8 *)m->c[1].seg + q[1].rcq.ring))->cons =
		m->hca->cq[q[1].rcq.index].prod + 1;
}

static void no_receive(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->resp.rq_cons++;
}

static void long_inline(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->hw = SQ_HW_INLINE;
	w->total_len = qp->sq_stride - SQ_HDR + 1;
}

/* Requests, and their surroundings. @applies: the straight line is for them */
static const struct {
	const char *name;
	void (*make)(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer);
	u32 op;
	u32 len;
	bool applies;
} cases[] = {
	{ "a SEND of 2 bytes", nothing, WR_SEND, 2, true },
	{ "a SEND of 0 bytes", nothing, WR_SEND, 0, true },
	{ "a SEND of one packet", nothing, WR_SEND, MTU, true },
	{ "a SEND of two packets", nothing, WR_SEND, MTU + 1, false },
	{ "a SEND with immediate", nothing, WR_SEND_WITH_IMM, 8, true },
	{ "a WRITE", nothing, WR_RDMA_WRITE, 8, true },
	{ "a WRITE of two packets", nothing, WR_RDMA_WRITE, MTU + 1, false },
	{ "a WRITE with immediate", nothing, WR_RDMA_WRITE_WITH_IMM, 8, true },
	{ "a READ", nothing, WR_RDMA_READ, 8, false },
	{ "an atomic", nothing, WR_ATOMIC_FETCH_AND_ADD, 8, false },
	{ "a fence", fenced, WR_SEND, 8, false },
	{ "a bad lkey", bad_lkey, WR_SEND, 8, false },
	{ "a bad rkey", bad_rkey, WR_RDMA_WRITE, 8, false },
	{ "another PSN", other_psn, WR_SEND, 8, false },
	{ "the middle of a message", in_message, WR_SEND, 8, false },
	{ "an outstanding request", outstanding, WR_SEND, 8, false },
	{ "a request that was begun", begun, WR_SEND, 8, false },
	{ "an RNR wait", rnr_wait, WR_SEND, 8, false },
	{ "a rendezvous", rendezvous, WR_SEND, 8, false },
	{ "the first packet to a peer in RTR", peer_in_rtr, WR_SEND, 8, false },
	{ "a later packet to a peer in RTR", peer_stays_in_rtr, WR_SEND, 8, true },
	{ "a SEND by UC", of_uc, WR_SEND, 8, false },
	{ "a WRITE by UC", of_uc, WR_RDMA_WRITE, 8, false },
	{ "a SEND to an SRQ", to_srq, WR_SEND, 8, true },
	{ "a SEND with immediate to an SRQ", to_srq, WR_SEND_WITH_IMM, 8, true },
	{ "a WRITE with immediate to an SRQ", to_srq, WR_RDMA_WRITE_WITH_IMM, 8, true },
	{ "a WRITE to a peer with an empty SRQ", to_srq_empty, WR_RDMA_WRITE, 8, true },
	{ "an empty SRQ", to_srq_empty, WR_SEND, 8, false },
	{ "the limit of an SRQ", to_srq_limit, WR_SEND, 8, false },
	{ "an SRQ that matches tags", to_srq_of_tags, WR_SEND, 8, false },
	{ "a SEND to another port", between_ports, WR_SEND, 8, true },
	{ "a WRITE to another port", between_ports, WR_RDMA_WRITE, 8, true },
	{ "a peer of another QP", peer_of_another, WR_SEND, 8, false },
	{ "no right to write", no_right, WR_RDMA_WRITE, 8, false },
	{ "a capture", watched, WR_SEND, 8, false },
	{ "a CQ that was polled since", polled_cq, WR_SEND, 8, true },
	{ "a CQ that was polled beyond its end", cq_beyond_end, WR_SEND, 8, false },
	{ "a full send CQ", send_cq_full, WR_RDMA_WRITE, 8, false },
	{ "a full receive CQ", recv_cq_full, WR_SEND, 8, false },
	{ "no receive", no_receive, WR_SEND, 8, false },
	{ "inline data after its slot", long_inline, WR_SEND, 8, false },
};

/* The parts of memory that a request changes. */
struct state {
	struct hca_qp qp[2];
	struct hca_cq cq[4];
	struct hca_srq srq;
	struct cqe entry[2];
	u8 mem[4 * MTU];
};

static void state_take(struct state *s)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		s->qp[i] = m->hca->qp[q[i].slot];
		/* The engine may remember the producer index that it has read. */
		s->qp[i].rq_seen = 0;
		s->cq[2 * i] = m->hca->cq[q[i].scq.index];
		s->cq[2 * i + 1] = m->hca->cq[q[i].rcq.index];
	}
	s->srq = m->hca->srq[q[1].srq_index];
	memcpy(&s->entry[0], (u8 *)m->c[0].seg + q[0].scq.ring + CQ_HDR, sizeof(struct cqe));
	memcpy(&s->entry[1], (u8 *)m->c[1].seg + q[1].rcq.ring + CQ_HDR, sizeof(struct cqe));
	memcpy(s->mem, m->c[1].mem, sizeof(s->mem));
}

/* Return: whether the straight line applied. *same: nothing has changed, if it did not. */
static bool apply(u32 i, bool *same)
{
	static struct state before, after;
	struct emu_conn o = emu_conn_defaults;
	struct hca_qp *qp, *peer;
	struct sq_wqe *w;
	bool done;

	m = emu_new(1);
	emu_port_add(m);
	o.port_b = cases[i].make == between_ports ? 2 : 1;
	o.srq = cases[i].make == to_srq || cases[i].make == to_srq_limit ||
		cases[i].make == to_srq_empty || cases[i].make == to_srq_of_tags;
	if (cases[i].make == of_uc)
		o.type = QPT_UC;
	emu_connect(m, 0, 1, &o, &q[0], &q[1]);
	qp = &m->hca->qp[q[0].slot];
	peer = &m->hca->qp[q[1].slot];
	emu_fill(m->c[0].mem, 4 * MTU, 5);
	emu_recv(m, &q[1], 1, m->c[1].mem, 4 * MTU);
	w = emu_post(m, &q[0], cases[i].op, 1, m->c[0].mem, cases[i].len);
	emu_remote(m, w, 1, m->c[1].mem);
	cases[i].make(w, qp, peer);
	emu_publish(m, &q[0]);
	CU_ASSERT_TRUE_FATAL(engine_try(&m->c[0].e));
	state_take(&before);
	done = straight_is_ready(&m->c[0].e, qp) && straight_send(&m->c[0].e, qp, m->c[0].seg);
	state_take(&after);
	*same = done || !memcmp(&before, &after, sizeof(before));
	emu_free(m);
	return done;
}

static void test_applies(void)
{
	bool same;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (apply(i, &same) == cases[i].applies && same)
			continue;
		printf("# %s\n", cases[i].name);
		CU_FAIL("the straight line applies where it should not, or the other way round");
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "it is for what is common, and changes nothing else", test_applies },
		{ NULL, NULL },
	};

	return cu_run("straight line", tests);
}
