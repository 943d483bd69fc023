/* SPDX-License-Identifier: MIT */
/* Which requests the straight line is for; all others it leaves alone, and nothing has changed. */
#include "emulator/ring.h"
#include "emulator/transport/straight.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"
#include "tests/unit/emulator/transport/typed_pair.h"

#define MTU 1024u

static struct emu *m;
static struct emu_qp q[2];

static void nothing(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	(void)w;
	(void)qp;
	(void)peer;
}

/* prepare() connects the QPs of two ports. */
static void between_ports(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
}

/* A message before was dropped half way. */
static void uc_skips(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->resp.flags |= RESP_SKIP;
}

/* Both completions go to one program, which sees their order. */
static void uc_to_itself(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->rcq = qp->scq;
}

static void ud_other_qkey(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->remote_qkey++;
}

/* The QP's own Q_Key, and not that of the work request. */
static void ud_own_qkey(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->remote_qkey = 0x80000001;
}

static void ud_no_ah(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->ah++;
}

static void ud_no_qp(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->remote_qpn += 1u << 16;
}

static void ud_to_mcast(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->ah[w->ah].av.dgid[0] = 0xff;
}

static void ud_other_port(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	m->hca->ah[w->ah].av.dst_port = 2;
}

static void ud_other_pkey(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->path.pkey ^= 1;
}

/* Its GRH does not fit. */
static void ud_short(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	rq_slot(m->c[1].seg, peer, 0)->sge[0].len = IB_GRH_LEN + 7;
}

static void xrc_no_srq(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->remote_qpn++;
}

static void xrc_other_domain(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->xrcd++;
}

/* prepare() makes the peer's receive one of an SRQ. */
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

static void misaligned(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	w->remote_addr += 4;
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

static void no_reads(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	qp->attr.max_rd_atomic = 0;
}

static void no_peer_reads(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer)
{
	nothing(w, qp, peer);
	peer->attr.max_dest_rd_atomic = 0;
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

/* Requests, and their surroundings. @applies: the straight line is for them; @type: of QPs */
static const struct {
	const char *name;
	void (*make)(struct sq_wqe *w, struct hca_qp *qp, struct hca_qp *peer);
	u32 op;
	u32 len;
	bool applies;
	u32 type;
} cases[] = {
	{ "a SEND of 2 bytes", nothing, WR_SEND, 2, true, QPT_RC },
	{ "a SEND of 0 bytes", nothing, WR_SEND, 0, true, QPT_RC },
	{ "a SEND of one packet", nothing, WR_SEND, MTU, true, QPT_RC },
	{ "a SEND of two packets", nothing, WR_SEND, MTU + 1, false, QPT_RC },
	{ "a SEND with immediate", nothing, WR_SEND_WITH_IMM, 8, true, QPT_RC },
	{ "a WRITE", nothing, WR_RDMA_WRITE, 8, true, QPT_RC },
	{ "a WRITE of two packets", nothing, WR_RDMA_WRITE, MTU + 1, false, QPT_RC },
	{ "a WRITE with immediate", nothing, WR_RDMA_WRITE_WITH_IMM, 8, true, QPT_RC },
	{ "a READ", nothing, WR_RDMA_READ, 8, true, QPT_RC },
	{ "a READ of one packet", nothing, WR_RDMA_READ, MTU, true, QPT_RC },
	{ "a READ of two packets", nothing, WR_RDMA_READ, MTU + 1, false, QPT_RC },
	{ "a READ of 0 bytes", nothing, WR_RDMA_READ, 0, false, QPT_RC },
	{ "a READ with a fence", fenced, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ with a bad lkey", bad_lkey, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ with a bad rkey", bad_rkey, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ without a right", no_right, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ that its QP has no place for", no_reads, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ that the peer has no place for", no_peer_reads, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ with a full send CQ", send_cq_full, WR_RDMA_READ, 8, false, QPT_RC },
	{ "a READ by XRC", nothing, WR_RDMA_READ, 8, false, QPT_XRC_SEND },
	{ "an addition", nothing, WR_ATOMIC_FETCH_AND_ADD, 8, true, QPT_RC },
	{ "a compare and swap", nothing, WR_ATOMIC_CMP_AND_SWP, 8, true, QPT_RC },
	{ "an atomic with much room", nothing, WR_ATOMIC_FETCH_AND_ADD, 64, true, QPT_RC },
	{ "an atomic with little room", nothing, WR_ATOMIC_FETCH_AND_ADD, 7, false, QPT_RC },
	{ "an atomic with a fence", fenced, WR_ATOMIC_FETCH_AND_ADD, 8, false, QPT_RC },
	{ "an atomic with a bad lkey", bad_lkey, WR_ATOMIC_FETCH_AND_ADD, 8, false, QPT_RC },
	{ "an atomic with a bad rkey", bad_rkey, WR_ATOMIC_FETCH_AND_ADD, 8, false, QPT_RC },
	{ "an atomic without a right", no_right, WR_ATOMIC_CMP_AND_SWP, 8, false, QPT_RC },
	{ "an atomic of half a word", misaligned, WR_ATOMIC_FETCH_AND_ADD, 8, false, QPT_RC },
	{ "an atomic that its QP has no place for", no_reads, WR_ATOMIC_FETCH_AND_ADD, 8, false,
	  QPT_RC },
	{ "an atomic that the peer has no place for", no_peer_reads, WR_ATOMIC_FETCH_AND_ADD, 8,
	  false, QPT_RC },
	{ "an atomic with a full send CQ", send_cq_full, WR_ATOMIC_FETCH_AND_ADD, 8, false,
	  QPT_RC },
	{ "an atomic by XRC", nothing, WR_ATOMIC_FETCH_AND_ADD, 8, false, QPT_XRC_SEND },
	{ "a fence", fenced, WR_SEND, 8, false, QPT_RC },
	{ "a bad lkey", bad_lkey, WR_SEND, 8, false, QPT_RC },
	{ "a bad rkey", bad_rkey, WR_RDMA_WRITE, 8, false, QPT_RC },
	{ "another PSN", other_psn, WR_SEND, 8, false, QPT_RC },
	{ "the middle of a message", in_message, WR_SEND, 8, false, QPT_RC },
	{ "an outstanding request", outstanding, WR_SEND, 8, false, QPT_RC },
	{ "a request that was begun", begun, WR_SEND, 8, false, QPT_RC },
	{ "an RNR wait", rnr_wait, WR_SEND, 8, false, QPT_RC },
	{ "a rendezvous", rendezvous, WR_SEND, 8, false, QPT_RC },
	{ "the first packet to a peer in RTR", peer_in_rtr, WR_SEND, 8, false, QPT_RC },
	{ "a later packet to a peer in RTR", peer_stays_in_rtr, WR_SEND, 8, true, QPT_RC },
	{ "a SEND by UC", nothing, WR_SEND, 8, true, QPT_UC },
	{ "a WRITE by UC", nothing, WR_RDMA_WRITE, 8, true, QPT_UC },
	{ "a WRITE with immediate by UC", nothing, WR_RDMA_WRITE_WITH_IMM, 8, true, QPT_UC },
	{ "a SEND of two packets by UC", nothing, WR_SEND, MTU + 1, false, QPT_UC },
	{ "a UC message after one that was dropped", uc_skips, WR_SEND, 8, false, QPT_UC },
	{ "two UC completions for one program", uc_to_itself, WR_SEND, 8, false, QPT_UC },
	{ "a datagram", nothing, WR_SEND, 8, true, QPT_UD },
	{ "a datagram of 0 bytes", nothing, WR_SEND, 0, true, QPT_UD },
	{ "a datagram with immediate", nothing, WR_SEND_WITH_IMM, MTU, true, QPT_UD },
	{ "a WRITE by UD", nothing, WR_RDMA_WRITE, 8, false, QPT_UD },
	{ "a datagram with another Q_Key", ud_other_qkey, WR_SEND, 8, false, QPT_UD },
	{ "a datagram with its QP's Q_Key", ud_own_qkey, WR_SEND, 8, true, QPT_UD },
	{ "a datagram without an address", ud_no_ah, WR_SEND, 8, false, QPT_UD },
	{ "a datagram to no QP", ud_no_qp, WR_SEND, 8, false, QPT_UD },
	{ "a datagram to a group", ud_to_mcast, WR_SEND, 8, false, QPT_UD },
	{ "a datagram to another port", ud_other_port, WR_SEND, 8, false, QPT_UD },
	{ "a datagram of another partition", ud_other_pkey, WR_SEND, 8, false, QPT_UD },
	{ "a datagram that is too long", ud_short, WR_SEND, 8, false, QPT_UD },
	{ "a SEND by XRC", nothing, WR_SEND, 8, true, QPT_XRC_SEND },
	{ "a WRITE by XRC", nothing, WR_RDMA_WRITE, 8, true, QPT_XRC_SEND },
	{ "a WRITE with immediate by XRC", nothing, WR_RDMA_WRITE_WITH_IMM, 8, true, QPT_XRC_SEND },
	{ "no SRQ of an XRC domain", xrc_no_srq, WR_RDMA_WRITE, 8, false, QPT_XRC_SEND },
	{ "an SRQ of another XRC domain", xrc_other_domain, WR_SEND, 8, false, QPT_XRC_SEND },
	{ "a SEND to an SRQ", to_srq, WR_SEND, 8, true, QPT_RC },
	{ "a SEND with immediate to an SRQ", to_srq, WR_SEND_WITH_IMM, 8, true, QPT_RC },
	{ "a WRITE with immediate to an SRQ", to_srq, WR_RDMA_WRITE_WITH_IMM, 8, true, QPT_RC },
	{ "a WRITE to a peer with an empty SRQ", to_srq_empty, WR_RDMA_WRITE, 8, true, QPT_RC },
	{ "an empty SRQ", to_srq_empty, WR_SEND, 8, false, QPT_RC },
	{ "the limit of an SRQ", to_srq_limit, WR_SEND, 8, false, QPT_RC },
	{ "an SRQ that matches tags", to_srq_of_tags, WR_SEND, 8, false, QPT_RC },
	{ "a SEND to another port", between_ports, WR_SEND, 8, true, QPT_RC },
	{ "a WRITE to another port", between_ports, WR_RDMA_WRITE, 8, true, QPT_RC },
	{ "a peer of another QP", peer_of_another, WR_SEND, 8, false, QPT_RC },
	{ "no right to write", no_right, WR_RDMA_WRITE, 8, false, QPT_RC },
	{ "a capture", watched, WR_SEND, 8, false, QPT_RC },
	{ "a CQ that was polled since", polled_cq, WR_SEND, 8, true, QPT_RC },
	{ "a CQ that was polled beyond its end", cq_beyond_end, WR_SEND, 8, false, QPT_RC },
	{ "a full send CQ", send_cq_full, WR_RDMA_WRITE, 8, false, QPT_RC },
	{ "a full receive CQ", recv_cq_full, WR_SEND, 8, false, QPT_RC },
	{ "no receive", no_receive, WR_SEND, 8, false, QPT_RC },
	{ "inline data after its slot", long_inline, WR_SEND, 8, false, QPT_RC },
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

/* The request of a case, posted; the receive for it, too. */
static struct sq_wqe *prepare(u32 i)
{
	struct emu_conn o = emu_conn_defaults;
	struct sq_wqe *w;
	u32 ah[2] = { 0, 0 };

	m = emu_new(1);
	emu_port_add(m);
	o.port_b = cases[i].make == between_ports ? 2 : 1;
	o.srq = cases[i].make == to_srq || cases[i].make == to_srq_limit ||
		cases[i].make == to_srq_empty || cases[i].make == to_srq_of_tags;
	o.type = cases[i].type;
	typed_connect(m, 0, 1, &o, q, ah);
	emu_fill(m->c[0].mem, 4 * MTU, 5);
	emu_recv(m, &q[1], 1, m->c[1].mem, 4 * MTU);
	w = emu_post(m, &q[0], cases[i].op, 1, m->c[0].mem, cases[i].len);
	emu_remote(m, w, 1, m->c[1].mem);
	typed_name(w, o.type, &q[1], ah[0]);
	return w;
}

static bool send_straight(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	if (straight_is_ready(e, qp))
		return straight_send(e, qp, seg);
	return straight_is_other_ready(e, qp) && straight_send_other(e, qp, seg);
}

/* Return: whether the straight line applied. *same: nothing has changed, if it did not. */
static bool apply(u32 i, bool *same)
{
	static struct state before, after;
	struct sq_wqe *w = prepare(i);
	struct hca_qp *qp = &m->hca->qp[q[0].slot];
	bool done;

	cases[i].make(w, qp, &m->hca->qp[q[1].slot]);
	emu_publish(m, &q[0]);
	CU_ASSERT_TRUE_FATAL(engine_try(&m->c[0].e));
	state_take(&before);
	done = send_straight(&m->c[0].e, qp, m->c[0].seg);
	state_take(&after);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is memory, too */
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
