/* SPDX-License-Identifier: MIT */
/* Work requests and completions of the walk. See tests/model/walk.h. */
#include "emulator/doorbell.h"
#include "tests/model/walk.h"

#define TCP_HDRS 54u /* Ethernet, IPv4, TCP */

static const u8 opcodes[] = {
	WR_SEND,
	WR_SEND,
	WR_SEND_WITH_IMM,
	WR_RDMA_WRITE,
	WR_RDMA_WRITE,
	WR_RDMA_WRITE,
	WR_RDMA_READ,
	WR_RDMA_WRITE_WITH_IMM,
	WR_ATOMIC_FETCH_AND_ADD,
	WR_ATOMIC_CMP_AND_SWP,
	WR_FLUSH,
	WR_ATOMIC_WRITE,
};

static void ring_bell(struct walk *w, struct obj *o)
{
	struct emu_client *c = &w->m->c[o->client];

	engine_doorbell(&c->e, c->seg, o->handle);
}

static void publish(struct walk *w, struct obj *o, u64 ring, u32 prod)
{
	struct wq_ctl *ctl = seg_at(w, o->client, ring);

	store_release(&ctl->prod, prod);
}

/* A region of the client's that serves the purpose. */
static struct obj *some_mr(struct walk *w, u32 client, const struct obj *pd, u32 need)
{
	/* One that shares the PD may have some in it. */
	struct obj *all = w->obj[chance(w, 10) ? pick(w, WALKERS) : client][K_MR];
	u32 from = pick(w, KIND_MAX);

	if (chance(w, 200))
		return any(w, client, K_MR);
	for (u32 i = 0; i < KIND_MAX; i++) {
		struct obj *mr = &all[(from + i) % KIND_MAX];

		if (mr->live && mr->uses[0] == pd && !(need & ~mr->mr.access))
			return mr;
	}
	return NULL;
}

struct wq_sge some_sge(struct walk *w, u32 client, const struct obj *pd, u32 max, u32 need)
{
	struct obj *mr = some_mr(w, client, pd, need);
	struct wq_sge s = { 0 };

	if (chance(w, 200)) {
		s.addr = emu_rnd(&w->rnd);
		s.lkey = (u32)emu_rnd(&w->rnd);
		s.len = pick(w, 100);
		return s;
	}
	if (!mr)
		return s;
	s.lkey = mr->mr.key;
	s.len = (u32)min_u64(mr->mr.len, max);
	s.addr = mr->mr.iova + pick(w, (u32)(mr->mr.len - s.len) + 1);
	if (chance(w, 200))
		s.len += 1 << 20;
	return s;
}

u32 some_length(struct walk *w)
{
	u32 r = pick(w, 100);

	return pick(w, r < 60 ? 200 : r < 98 ? 5000 : AREA_USED);
}

struct obj *peer_of(struct walk *w, const struct obj *o)
{
	u32 qpn = w->m->hca->qp[o->handle].attr.dest_qpn;

	for (u32 c = 0; c < WALKERS; c++)
		for (u32 i = 0; i < KIND_MAX; i++)
			if (w->obj[c][K_QP][i].live && w->obj[c][K_QP][i].qp.qpn == qpn)
				return &w->obj[c][K_QP][i];
	return NULL;
}

static const u32 remote_need[WR_COUNT] = {
	[WR_RDMA_WRITE] = ACC_REMOTE_WRITE,
	[WR_RDMA_WRITE_WITH_IMM] = ACC_REMOTE_WRITE,
	[WR_RDMA_READ] = ACC_REMOTE_READ,
	[WR_ATOMIC_CMP_AND_SWP] = ACC_REMOTE_ATOMIC,
	[WR_ATOMIC_FETCH_AND_ADD] = ACC_REMOTE_ATOMIC,
	[WR_FLUSH] = ACC_FLUSH,
	[WR_ATOMIC_WRITE] = ACC_REMOTE_WRITE,
};

/* At a multiple of 8, and of 8 bytes. */
static bool is_word(u32 opcode)
{
	return opcode == WR_ATOMIC_CMP_AND_SWP || opcode == WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == WR_ATOMIC_WRITE;
}

/* Where the request goes. Return: how many bytes there are. */
static u32 some_remote(struct walk *w, const struct obj *o, struct sq_wqe *q)
{
	const struct obj *peer = peer_of(w, o);
	bool word = is_word(q->opcode);
	struct wq_sge s = { 0 };

	if (peer && q->opcode < WR_COUNT)
		s = some_sge(w, peer->client, peer->uses[Q_PD], 16 + some_length(w),
			     remote_need[q->opcode]);
	if (s.len < 16 && word && !chance(w, 100))
		q->opcode = WR_SEND;
	q->remote_addr = s.addr;
	q->rkey = s.lkey;
	if (word && s.len >= 16 && !chance(w, 50))
		q->remote_addr = (s.addr + 7) & ~7ULL;
	q->imm = (u32)emu_rnd(&w->rnd);
	q->compare_add = pick(w, 3);
	q->swap = pick(w, 3);
	return s.len;
}

/* A window is bound, unbound or invalidated; the engine decides whether it may be. */
static bool bind_wqe(struct walk *w, struct obj *o, struct sq_wqe *q)
{
	struct obj *mw = any(w, o->client, K_MW), *mr;
	struct hca_mr *hw;

	if (!mw || o->qp.type == QPT_UD || o->qp.type == QPT_RAW_PACKET)
		return false;
	hw = &w->m->hca->mr[mw->handle];
	q->send_flags &= (u8)~SEND_SOLICITED;
	if (chance(w, 3)) {
		q->opcode = WR_LOCAL_INV;
		q->rkey = hw->key;
		return true;
	}
	mr = some_mr(w, o->client, o->uses[Q_PD], ACC_MW_BIND);
	if (!mr)
		return false;
	q->opcode = WR_BIND_MW;
	q->ah = mw->handle;
	q->rkey = chance(w, 20) ? (u32)emu_rnd(&w->rnd)
				: mw->handle << 8 | ((hw->last_key + 1) & 0xff);
	q->remote_qpn = mr->mr.key;
	q->remote_qkey = chance(w, 20) ? (u32)emu_rnd(&w->rnd) : ACC_REMOTE_WRITE | ACC_REMOTE_READ;
	q->swap = chance(w, 6) ? 0 : 1 + pick(w, (u32)mr->mr.len);
	q->remote_addr = mr->mr.iova + pick(w, (u32)(mr->mr.len - q->swap) + 1);
	return true;
}

static u32 xrc_number(struct walk *w)
{
	struct obj *srq = any(w, pick(w, WALKERS), K_SRQ);

	return srq && !chance(w, 100) ? srq->srq.srqn : (u32)emu_rnd(&w->rnd);
}

/* Whom a datagram goes to, and by which shared queue an XRC message is received. */
static void address(struct walk *w, struct obj *o, struct sq_wqe *q)
{
	struct obj *ah = any(w, o->client, K_AH), *to = any(w, pick(w, WALKERS), K_QP);

	if (o->qp.type == QPT_XRC_SEND)
		q->remote_qpn = xrc_number(w);
	if (o->qp.type != QPT_UD)
		return;
	q->ah = ah && !chance(w, 100) ? ah->handle : (u32)emu_rnd(&w->rnd);
	q->remote_qpn = to && !chance(w, 20) ? to->qp.qpn : 0xffffff;
	q->remote_qkey = chance(w, 20) ? (u32)emu_rnd(&w->rnd) : 0x11111111;
	if (!chance(w, 50))
		q->opcode = chance(w, 2) ? WR_SEND : WR_SEND_WITH_IMM;
}

static bool tagged_peer(struct walk *w, const struct obj *o)
{
	const struct obj *peer = o->qp.type == QPT_RC ? peer_of(w, o) : NULL;

	return peer && peer->uses[Q_SRQ] && peer->uses[Q_SRQ]->srq.type == SRQ_TM;
}

/* To be cut into frames; its header lies in the slot, before the list. */
static void large_send(struct walk *w, struct obj *o, struct sq_wqe *q)
{
	static const u8 tcp4[TCP_HDRS] = {
		[0] = 2,  [12] = 8,  [14] = 0x45, [17] = TCP_HDRS - 14, [22] = 64,
		[23] = 6, [26] = 10, [30] = 10,	  [46] = 5 << 4
	};
	u32 hdr = chance(w, 20) ? pick(w, o->qp.max_tso + 20) : TCP_HDRS;
	u8 *p = (u8 *)q->sge;
	struct wq_sge *list;

	q->opcode = WR_TSO;
	q->ah = hdr;
	q->remote_qkey = chance(w, 50) ? pick(w, 20000) : 100 + pick(w, 1200);
	hdr = min_u32(hdr, o->qp.max_tso);
	memset(p, 0, hdr);
	memcpy(p, tcp4, min_u32(hdr, TCP_HDRS));
	if (hdr > 5)
		p[5] = (u8)pick(w, 4);
	list = (void *)(p + ALIGN_UP(hdr, sizeof(*list)));
	q->num_sge = (u16)pick(w, o->qp.max_sge + 1);
	for (u32 i = 0; i < q->num_sge; i++) {
		list[i] = some_sge(w, o->client, o->uses[Q_PD], some_length(w), 0);
		q->total_len += list[i].len;
	}
}

/* It has no payload: a length, or the whole region; and what it is to flush. */
static void flush_wqe(struct walk *w, struct sq_wqe *q, u32 max)
{
	q->compare_add = chance(w, 100) ? emu_rnd(&w->rnd) : pick(w, max + 1);
	q->swap = chance(w, 50)	 ? pick(w, 64)
		  : chance(w, 3) ? FLUSH_MR | FLUSH_PERSISTENT
				 : FLUSH_GLOBAL;
}

static void fill_wqe(struct walk *w, struct obj *o, struct sq_wqe *q)
{
	u32 max, n = pick(w, o->qp.max_sge + 1);
	bool rd;

	memset(q, 0, sizeof(*q));
	q->wr_id = ++w->next_id;
	q->opcode = chance(w, 300) ? (u8)pick(w, 256) : opcodes[pick(w, ARRAY_SIZE(opcodes))];
	q->send_flags = (u8)(pick(w, 16) & ~(u32)SEND_INLINE);
	if (chance(w, 2))
		q->send_flags |= SEND_SIGNALED;
	address(w, o, q);
	max = some_remote(w, o, q);
	if (chance(w, 12) && bind_wqe(w, o, q))
		return;
	if (tagged_peer(w, o) && !chance(w, 20)) {
		tag_message(w, o, q);
		return;
	}
	if (o->qp.max_tso && chance(w, 2)) {
		large_send(w, o, q);
		return;
	}
	if (q->opcode == WR_FLUSH) {
		flush_wqe(w, q, max);
		return;
	}
	rd = q->opcode >= WR_RDMA_READ && q->opcode <= WR_ATOMIC_FETCH_AND_ADD;
	if (is_word(q->opcode) && !chance(w, 100) &&
	    (!n || !some_mr(w, o->client, o->uses[Q_PD], rd ? ACC_LOCAL_WRITE : 0)))
		q->opcode = WR_SEND, rd = false;
	if (q->opcode == WR_ATOMIC_WRITE)
		max = 8;
	if (q->opcode == WR_SEND || q->opcode == WR_SEND_WITH_IMM)
		max = pick(w, chance(w, 300) ? 6000 : 200);
	if (o->qp.max_inline && (rd ? chance(w, 300) : chance(w, 4))) {
		q->hw = SQ_HW_INLINE;
		q->total_len = min_u32(o->qp.max_inline, max);
		emu_fill(q->sge, q->total_len, q->wr_id);
		return;
	}
	if (is_word(q->opcode) && o->qp.max_sge)
		n = 1, max = 8;
	q->num_sge = (u16)n;
	for (u32 i = 0; i < n; i++) {
		q->sge[i] =
			some_sge(w, o->client, o->uses[Q_PD], max / n, rd ? ACC_LOCAL_WRITE : 0);
		q->total_len += q->sge[i].len;
	}
}

void post_send(struct walk *w, struct obj *o)
{
	struct walk_qp *q = &o->qp;
	u32 n = chance(w, 4) ? 1 + pick(w, 8) : 1;

	/* The API refuses it in these states. */
	if (q->state < QPS_RTS)
		return;
	for (; n && q->sq_prod - q->sq_seen < q->sq_depth; n--) {
		u32 i = q->sq_prod % q->sq_depth;
		struct sq_wqe *wqe =
			seg_at(w, o->client, q->sq + sizeof(struct wq_ctl) + i * q->sq_stride);

		fill_wqe(w, o, wqe);
		q->sent[i] = (struct post){ wqe->wr_id, wqe->send_flags & SEND_SIGNALED };
		q->sq_prod++;
		w->posted++;
	}
	publish(w, o, q->sq, q->sq_prod);
	if (chance(w, 5))
		engine_ring(&w->m->c[o->client].e, o->client, o->handle);
	else
		ring_bell(w, o);
}

void post_recv(struct walk *w, struct obj *o)
{
	struct walk_qp *q = &o->qp;
	u32 n = chance(w, 4) ? 1 + pick(w, 16) : 1;

	if (q->state == QPS_RESET)
		return;
	for (; n && q->rq_prod - q->rq_seen < q->rq_depth; n--) {
		u32 i = q->rq_prod % q->rq_depth, max = 200 + some_length(w);
		struct rq_wqe *wqe =
			seg_at(w, o->client, q->rq + sizeof(struct wq_ctl) + i * q->rq_stride);

		wqe->wr_id = ++w->next_id;
		wqe->num_sge = (u16)(chance(w, 100) ? pick(w, q->max_rsge + 1) : q->max_rsge);
		wqe->total_len = 0;
		for (u32 k = 0; k < wqe->num_sge; k++) {
			wqe->sge[k] = some_sge(w, o->client, o->uses[Q_PD], max, ACC_LOCAL_WRITE);
			wqe->total_len += wqe->sge[k].len;
		}
		q->recv[i] = (struct post){ wqe->wr_id, true };
		q->rq_prod++;
		w->posted++;
	}
	publish(w, o, q->rq, q->rq_prod);
	/* As the shim does it: publish first, then read the state. */
	if (w->m->hca->qp[o->handle].state == QPS_ERR)
		ring_bell(w, o);
}

/* --- completions */

static struct obj *qp_by_number(struct walk *w, u32 client, u32 qpn)
{
	for (u32 i = 0; i < KIND_MAX; i++)
		if (w->obj[client][K_QP][i].live && w->obj[client][K_QP][i].qp.qpn == qpn)
			return &w->obj[client][K_QP][i];
	return NULL;
}

static void check_send(struct walk *w, struct obj *o, const struct cqe *c)
{
	struct walk_qp *q = &o->qp;
	bool error = c->status != WCS_SUCCESS;

	if (c->slot - q->sq_seen >= q->sq_prod - q->sq_seen)
		fail(w, "QP %#x: completion of WQE %u, outstanding are [%u, %u)", q->qpn, c->slot,
		     q->sq_seen, q->sq_prod);
	for (; q->sq_seen != c->slot; q->sq_seen++)
		if (q->sent[q->sq_seen % q->sq_depth].signaled || q->failed)
			fail(w, "QP %#x: WQE %u did not complete, but %u", q->qpn, q->sq_seen,
			     c->slot);
	if (c->wr_id != q->sent[c->slot % q->sq_depth].wr_id)
		fail(w, "QP %#x: WQE %u completes as %llu", q->qpn, c->slot,
		     (unsigned long long)c->wr_id);
	if (q->failed && c->status != WCS_WR_FLUSH_ERR)
		fail(w, "QP %#x type %u state %u: WQE %u ends with %s after an error", q->qpn,
		     q->type, q->state, c->slot, ib_wc_status_name(c->status));
	if (!error && !q->sent[c->slot % q->sq_depth].signaled)
		fail(w, "QP %#x: WQE %u completes unasked", q->qpn, c->slot);
	w->segmented += !error && c->opcode == WCO_TSO;
	w->flushed += !error && c->opcode == WCO_FLUSH;
	w->words += !error && c->opcode == WCO_ATOMIC_WRITE;
	q->failed |= error;
	q->sq_seen++;
}

static void check_recv(struct walk *w, struct obj *o, const struct cqe *c)
{
	struct walk_qp *q = &o->qp;

	if (c->slot != q->rq_seen || q->rq_seen == q->rq_prod)
		fail(w, "QP %#x: completion of receive %u, expected %u of %u", q->qpn, c->slot,
		     q->rq_seen, q->rq_prod);
	if (c->wr_id != q->recv[c->slot % q->rq_depth].wr_id)
		fail(w, "QP %#x: receive %u completes as %llu", q->qpn, c->slot,
		     (unsigned long long)c->wr_id);
	if (q->rq_failed && c->status != WCS_WR_FLUSH_ERR)
		fail(w, "QP %#x: receive %u ends with %s after an error", q->qpn, c->slot,
		     ib_wc_status_name(c->status));
	q->rq_failed |= c->status != WCS_SUCCESS;
	q->rq_seen++;
}

/* Receives of a shared queue end in any order, each once. */
static void check_shared(struct walk *w, u32 client, const struct cqe *c)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		struct obj *o = &w->obj[client][K_SRQ][i];

		if (!o->live || o->srq.srqn != (c->owner & IB_QPN_MASK))
			continue;
		if (!(c->flags & CQE_RECV)) {
			tag_check(w, o, c);
			return;
		}
		if (c->slot >= SRQ_MAX || !c->wr_id || o->srq.posted[c->slot] != c->wr_id)
			fail(w, "SRQ %u: slot %u completes as %llu, posted was %llu", o->handle,
			     c->slot, (unsigned long long)c->wr_id,
			     c->slot < SRQ_MAX ? (unsigned long long)o->srq.posted[c->slot] : 0);
		o->srq.posted[c->slot] = 0;
		return;
	}
	fail(w, "completion of SRQ %u, which client %u has not", c->owner, client);
}

void cq_poll(struct walk *w, struct obj *o, u32 max)
{
	struct emu_cq cq = {
		.client = o->client, .ring = o->cq.ring, .depth = o->cq.depth, .cons = o->cq.cons
	};
	bool lost = w->m->hca->cq[o->handle].overrun || o->cq.dirty;
	struct obj *qp;
	struct cqe c;

	while (max-- && emu_poll(w->m, &cq, &c, NULL)) {
		w->polled++;
		w->errors += c.status != WCS_SUCCESS;
		if (!lost && (c.flags & CQE_SRQ)) {
			check_shared(w, o->client, &c);
			continue;
		}
		if (c.flags & CQE_WQ)
			continue;
		qp = qp_by_number(w, o->client, c.qpn);
		if (lost || !qp || qp->qp.dirty)
			continue;
		if (c.flags & CQE_RECV)
			check_recv(w, qp, &c);
		else
			check_send(w, qp, &c);
	}
	o->cq.cons = cq.cons;
}

/* --- the hostile client */

static void scribble_qp(struct walk *w, struct obj *o)
{
	struct walk_qp *q = &o->qp;
	struct wq_ctl *ctl;
	u64 *p;

	q->dirty = true;
	ctl = seg_at(w, o->client, chance(w, 2) ? q->sq : q->rq);
	if (chance(w, 4))
		ctl->prod = (u32)emu_rnd(&w->rnd);
	else
		ctl->prod += pick(w, 5);
	if (!q->sq_depth)
		return;
	p = seg_at(w, o->client, q->sq + sizeof(struct wq_ctl));
	for (u32 n = pick(w, 8); n; n--)
		p[pick(w, q->sq_depth * q->sq_stride / 8)] = emu_rnd(&w->rnd);
}

void scribble(struct walk *w, u32 client)
{
	struct seg_hdr *seg = w->m->c[client].seg;
	struct obj *qp = any(w, client, K_QP), *cq = any(w, client, K_CQ);
	struct cq_ctl *ctl;

	switch (pick(w, 5)) {
	case 0:
		if (qp)
			scribble_qp(w, qp);
		break;
	case 1:
		if (!cq)
			break;
		ctl = seg_at(w, client, cq->cq.ring);
		ctl->armed = (u32)emu_rnd(&w->rnd);
		ctl->cons = chance(w, 2) ? (u32)emu_rnd(&w->rnd) : ctl->cons + pick(w, 100);
		cq->cq.dirty = true;
		break;
	case 2:
		engine_ring(&w->m->c[client].e, client, pick(w, 4096));
		break;
	case 3:
		seg->db_any = emu_rnd(&w->rnd);
		seg->db_sum[0] = emu_rnd(&w->rnd);
		seg->db_bits[pick(w, 64)] = emu_rnd(&w->rnd);
		break;
	default:
		seg->chan[pick(w, 8)].cons = (u32)emu_rnd(&w->rnd);
		seg->chan[pick(w, 8)].prod = (u32)emu_rnd(&w->rnd);
	}
	if (qp)
		ring_bell(w, qp);
}
