/* SPDX-License-Identifier: MIT */
/*
 * Work requests of the walk through the verbs, good ones and bad ones. See
 * tests/model/walk_verbs.h.
 */
#include "tests/model/walk_verbs.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool is_rd(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_READ || is_atomic(op);
}

bool takes_rd(enum ibv_wr_opcode op)
{
	return is_rd(op) || op == IBV_WR_ATOMIC_WRITE || op == VB_WR_FLUSH;
}

bool is_word(enum ibv_wr_opcode op)
{
	return is_atomic(op) || op == IBV_WR_ATOMIC_WRITE;
}

bool is_send(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV;
}

/* A region of @actor's in a PD that allows it, over that part of its area. */
static struct vobj *some_mr(int actor, const struct vobj *pd, unsigned int need, uint64_t from,
			    uint64_t to)
{
	uint64_t base = (uintptr_t)wd->area[actor];
	uint32_t start = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++) {
		struct vobj *mr = &wd->obj[actor][V_MR][(start + i) % VMAX];

		if (mr->live && mr->uses[U_PD] == pd && !(need & ~mr->mr.access) &&
		    mr->mr.addr <= base + from && mr->mr.addr + mr->mr.len >= base + to)
			return mr;
	}
	return NULL;
}

/* The same, of windows that @qp has bound, or of type 1. */
static struct vobj *some_window(int actor, const struct vobj *pd, unsigned int need, uint64_t from,
				uint64_t to, uint32_t qpn)
{
	uint64_t base = (uintptr_t)wd->area[actor];
	uint32_t start = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++) {
		struct vobj *o = &wd->obj[actor][V_MW][(start + i) % VMAX];
		const struct vmw *mw = &o->mw;

		if (o->live && mw->key && o->uses[U_PD] == pd && !(need & ~mw->access) &&
		    mw->addr <= base + from && mw->addr + mw->len >= base + to &&
		    (mw->type == IBV_MW_TYPE_1 || mw->qpn == qpn || vchance(50)))
			return o;
	}
	return NULL;
}

/*
 * Whether entries may reach the region's end from @room bytes before it: a message that ends there
 * writes these bytes, and others count upon the sources and the words.
 */
static bool ends_in_dst(int actor, const struct vobj *mr, uint64_t room)
{
	uint64_t end = mr->mr.addr + mr->mr.len - (uintptr_t)wd->area[actor];

	return end <= AREA_WORD && end >= AREA_SRC + room;
}

/* Makes an entry of a receive longer than its region: what messages take of it is what counts. */
void stretch_sge(int actor, struct ibv_sge *s)
{
	const struct vobj *mr = mr_by_key(actor, s->lkey);
	struct vregion r;

	if (!mr || !vregion_of(actor, s->lkey, &r) || !vregion_has(&r, s->addr, s->length) ||
	    !ends_in_dst(actor, mr, r.iova + r.len - s->addr))
		return;
	s->length = (uint32_t)(r.iova + r.len - s->addr) + 1 + vpick(20000);
}

/* Breaks a valid SGE, so that the post must be refused, or the bytes at its end. */
static void spoil_sge(int actor, const struct vobj *mr, struct ibv_sge *s)
{
	const struct vobj *other;

	switch (vpick(3)) {
	case 0:
		s->lkey ^= vpick(1 << 28);
		break;
	case 1:
		if (ends_in_dst(actor, mr, s->length))
			s->addr = mr->mr.iova + mr->mr.len - (s->length ? s->length - 1 : 0);
		break;
	default:
		other = vany(actor, V_MR);
		/* Where it is another address of memory, it is one that others count upon. */
		if (s->addr < other->mr.iova || s->addr - other->mr.iova >= other->mr.len ||
		    other->mr.iova - other->mr.addr == mr->mr.iova - mr->mr.addr)
			s->lkey = other->mr.key;
	}
}

static struct ibv_sge sge_at(int actor, const struct vobj *pd, unsigned int need, uint64_t off,
			     uint32_t len)
{
	struct vobj *mr = some_mr(actor, pd, need, off, off + len);
	struct ibv_sge s = { 0 };

	if (!mr)
		return s;
	s.lkey = mr->mr.key;
	s.addr = (uintptr_t)wd->area[actor] + off - mr->mr.addr + mr->mr.iova;
	s.length = len;
	if (vchance(250))
		spoil_sge(actor, mr, &s);
	return s;
}

/* @len bytes in a part of the area, under a key; sometimes what must be refused. */
struct ibv_sge some_sge(const struct vobj *qp, unsigned int need, bool dst, uint32_t len)
{
	uint64_t part = dst ? AREA_SRC : 0, size = dst ? AREA_DST : AREA_SRC;
	uint64_t off = part + vpick((uint32_t)(size - len + 1));

	return sge_at(qp->actor, qp->uses[U_PD], need, off, len);
}

uint32_t some_length(void)
{
	return vpick(vchance(2) ? 80 : vchance(4) ? 20000 : 2000);
}

/* --- where it goes */

unsigned int remote_need(const struct vwr *w)
{
	if (w->op == VB_WR_FLUSH)
		return (w->swap & FLUSH_GLOBAL ? VB_ACCESS_GLOBAL : 0) |
		       (w->swap & FLUSH_PERSISTENT ? VB_ACCESS_PERSISTENT : 0);
	if (is_atomic(w->op))
		return IBV_ACCESS_REMOTE_ATOMIC;
	return w->op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

/** struct side - the memory at the other end: of the QP, or of an SRQ that an XRC request names. */
struct side {
	int actor;
	const struct vobj *pd;
	uint32_t qpn;
};

/* The part of the area at @off, through a region or a window. Return: whether there is one. */
static bool aim(const struct side *to, struct vwr *w, uint64_t off, uint32_t len)
{
	const unsigned int need = remote_need(w);
	struct vobj *mw = some_window(to->actor, to->pd, need, off, off + len, to->qpn);
	uint64_t at = (uintptr_t)wd->area[to->actor] + off;
	struct ibv_sge s;

	if (mw && vchance(2)) {
		w->rkey = mw->mw.key;
		w->addr = at - mw->mw.addr + mw->mw.iova;
		return true;
	}
	s = sge_at(to->actor, to->pd, need, off, len);
	w->rkey = s.lkey;
	w->addr = s.addr;
	return w->rkey;
}

static void drop_payload(struct vwr *w)
{
	w->n = 0;
	w->len = 0;
}

/* Any range: a FLUSH changes nothing. */
static void flush_target(const struct side *to, struct vwr *w)
{
	uint32_t len = vchance(6) ? 0 : some_length();

	w->compare_add = len;
	w->swap = vchance(3) ? FLUSH_GLOBAL : vpick(4);
	if (vchance(4)) {
		w->swap |= FLUSH_MR;
		w->compare_add = (uint64_t)vpick(1u << 30) << 20;
	}
	if (!aim(to, w, vpick(AREA - len + 1), len) && !vchance(40)) {
		w->op = IBV_WR_SEND;
		w->compare_add = w->swap = 0;
	} else if (vchance(60)) {
		w->addr += vpick(AREA);
	}
}

static void some_target(const struct side *to, struct vwr *w)
{
	bool dst = w->op != IBV_WR_RDMA_READ;
	uint64_t part = dst ? AREA_SRC : 0, size = dst ? AREA_DST : AREA_SRC;

	if (w->op == VB_WR_FLUSH) {
		flush_target(to, w);
		return;
	}
	if (!is_word(w->op)) {
		if (!aim(to, w, part + vpick((uint32_t)(size - w->len + 1)), w->len) &&
		    !vchance(40))
			drop_payload(w);
		return;
	}
	if (!aim(to, w, AREA_WORD + 8 * vpick(N_WORDS), 8) && !vchance(40)) {
		w->op = IBV_WR_SEND;
		drop_payload(w);
	} else if (vchance(150)) {
		w->addr += 1 + vpick(7);
	}
}

/* An SRQ in the domain of an XRC target, of anybody's. */
static struct vobj *some_xrc_srq(const struct vobj *target)
{
	for (int n = 0; n < 16; n++) {
		struct vobj *s = vany(wd->first + (int)vpick((uint32_t)wd->actors), V_SRQ);

		if (s && s->srq.xrc && same_domain(s->uses[U_XRCD], target->uses[U_XRCD]))
			return s;
	}
	return NULL;
}

static struct side other_side(const struct vobj *o, struct vwr *w)
{
	const struct vobj *peer = o->qp.peer && o->qp.peer->live ? o->qp.peer : o;
	struct side to = { peer->actor, peer->uses[U_PD], peer->qp.qpn };
	const struct vobj *srq;

	if (peer->qp.type != IBV_QPT_XRC_RECV)
		return to;
	w->to = (uint32_t)rnd(&wd->rnd) & 0xffffff;
	srq = some_xrc_srq(peer);
	if (!srq || vchance(100))
		return to;
	w->to = srq->srq.srqn;
	to.actor = srq->actor;
	to.pd = srq->uses[U_PD];
	return to;
}

/* A window's key that SEND_WITH_INV or LOCAL_INV may name: bound by @qp, with luck. */
static uint32_t some_inv_key(int actor, const struct vobj *qp)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *mw = &wd->obj[actor][V_MW][i];

		if (mw->live && mw->mw.key && mw->mw.type == IBV_MW_TYPE_2 &&
		    mw->mw.qpn == qp->qp.qpn && mw->uses[U_PD] == qp->uses[U_PD])
			return mw->mw.key;
	}
	return 0;
}

/* --- windows */

bool make_bind(struct vobj *o, struct vwr *w, enum ibv_mw_type type)
{
	struct vobj *mw = vany(o->actor, V_MW), *mr = NULL;

	for (int n = 0; n < 8 && (!mr || !(mr->mr.access & IBV_ACCESS_MW_BIND) ||
				  mr->uses[U_PD] != o->uses[U_PD]);
	     n++)
		mr = vany(o->actor, V_MR);
	for (int n = 0; n < 8 && mw && (mw->mw.type != type || mw->uses[U_PD] != o->uses[U_PD]);
	     n++)
		mw = vany(o->actor, V_MW);
	if (!mw || !mr || mw->mw.type != type)
		return false;
	memset(w, 0, sizeof(*w));
	w->id = ++wd->next_id;
	w->op = IBV_WR_BIND_MW;
	w->flags = vchance(3) ? 0 : IBV_SEND_SIGNALED;
	w->mw = mw;
	w->mr = mr;
	w->rkey = ibv_inc_rkey(mw->mw.rkey);
	w->bind_access = IBV_ACCESS_REMOTE_READ;
	if ((mr->mr.access & IBV_ACCESS_LOCAL_WRITE) || vchance(20))
		w->bind_access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	w->bind_access |= vchance(2) ? VB_ACCESS_GLOBAL | VB_ACCESS_PERSISTENT : 0;
	w->bind_access |= vchance(3) ? IBV_ACCESS_ZERO_BASED : 0;
	w->addr = mr->mr.iova;
	w->bind_len = mr->mr.len;
	if (vchance(2)) {
		w->addr += vpick((uint32_t)mr->mr.len);
		w->bind_len = 1 + vpick((uint32_t)(mr->mr.len - (w->addr - mr->mr.iova)));
	}
	/* Words lie at multiples of 8 in a window that counts from 0 as well. */
	if (w->bind_len > 8) {
		uint64_t skip = -(w->addr - mr->mr.iova + mr->mr.addr) & 7;

		w->addr += skip;
		w->bind_len -= skip;
	}
	if (vchance(30))
		w->bind_len = vchance(2) ? 0 : mr->mr.len + 1;
	return true;
}

/* A request that is done within the HCA. Return: whether @w is one now. */
static bool make_local(struct vobj *o, struct vwr *w)
{
	uint32_t key = some_inv_key(o->actor, o);

	if (vchance(2))
		return make_bind(o, w, IBV_MW_TYPE_2);
	if (!key && !vchance(50))
		return false;
	w->id = ++wd->next_id;
	w->op = IBV_WR_LOCAL_INV;
	w->flags = vchance(3) ? 0 : IBV_SEND_SIGNALED;
	w->rkey = key;
	return true;
}

/* --- by type */

static enum ibv_wr_opcode some_op(const struct vobj *o, bool build)
{
	static const enum ibv_wr_opcode conn[] = {
		IBV_WR_SEND,
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_SEND_WITH_INV,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_WRITE,
		/* From here on by a builder only. */
		VB_WR_FLUSH,
		VB_WR_FLUSH,
		VB_WR_FLUSH,
	};

	switch (o->qp.type) {
	case IBV_QPT_RAW_PACKET:
		return IBV_WR_SEND;
	case IBV_QPT_UD:
		return vchance(2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	case IBV_QPT_UC:
		return conn[vpick(7)];
	default:
		return conn[vpick(COUNT(conn) - (build ? 0 : 3))];
	}
}

static uint32_t length_for(const struct vobj *o)
{
	return o->qp.type == IBV_QPT_UD && !vchance(100) ? vpick(wd->mtu + 1) : some_length();
}

static void make_payload(struct vobj *o, struct vwr *w)
{
	bool rd = is_rd(w->op);
	unsigned int need = rd ? IBV_ACCESS_LOCAL_WRITE : 0;

	if (w->op == VB_WR_FLUSH)
		return;
	if (is_word(w->op)) {
		w->n = 1;
		w->sge[0] = some_sge(o, need, rd, vchance(150) ? 7 : 8);
		if (!w->sge[0].lkey && !vchance(40)) {
			w->op = IBV_WR_SEND;
			w->n = 0;
		}
	} else {
		w->n = (int)vpick(o->qp.sq.max_sge + 1);
		for (int i = 0; i < w->n; i++)
			w->sge[i] = some_sge(o, need, rd, length_for(o) / (uint32_t)w->n);
	}
	for (int i = 0; i < w->n; i++)
		w->len += w->sge[i].length;
}

/* A frame: its head, and more of it if there may be two pieces. */
static void make_frame(struct vobj *o, struct vwr *w)
{
	uint32_t len = vchance(40) ? vpick(14) : 14 + vpick(MAC_ROOM - 13);
	struct ibv_sge real;

	w->mac = vpick(VMACS);
	w->sge[0] = sge_at(o->actor, o->uses[U_PD], 0, (uint64_t)w->mac * MAC_ROOM, len);
	w->n = 1;
	w->len = w->sge[0].length;
	vreal_list(o->actor, w->sge, 1, &real);
	/* What lies elsewhere has some other address. */
	if (real.addr != (uintptr_t)wd->area[o->actor] + w->mac * MAC_ROOM) {
		drop_payload(w);
		return;
	}
	if (o->qp.sq.max_sge < 2 || len < 14 || vchance(3))
		return;
	w->sge[1] = some_sge(o, 0, false, vchance(40) ? 9100 : vpick(1400));
	w->n = 2;
	w->len += w->sge[1].length;
}

static void make_datagram(struct vobj *o, struct vwr *w)
{
	struct vobj *to = NULL;

	for (int n = 0; n < 8 && (!to || to->qp.type != IBV_QPT_UD); n++)
		to = vany(wd->first + (int)vpick((uint32_t)wd->actors), V_QP);
	for (int n = 0; n < 8 && (!w->ah || w->ah->uses[U_PD] != o->uses[U_PD]); n++)
		w->ah = vany(o->actor, V_AH);
	w->to = to && !vchance(50) ? to->qp.qpn : 0xffffff;
	w->qkey = to && !vchance(20) ? to->qp.qkey : 0x33333333;
	if (vchance(20))
		w->qkey |= 0x80000000;
	make_payload(o, w);
}

void make_send(struct vobj *o, struct vwr *w, bool build)
{
	bool conn = o->qp.type != IBV_QPT_UD && o->qp.type != IBV_QPT_RAW_PACKET;
	struct side to;

	memset(w, 0, sizeof(*w));
	if (conn && vchance(10) && make_local(o, w))
		return;
	w->id = ++wd->next_id;
	w->op = some_op(o, build);
	w->flags = vchance(3) ? 0 : IBV_SEND_SIGNALED;
	w->flags |= vchance(4) ? IBV_SEND_FENCE : 0;
	w->flags |= vchance(4) ? IBV_SEND_SOLICITED : 0;
	w->imm = (uint32_t)rnd(&wd->rnd);
	w->compare_add = vpick(3);
	w->swap = vpick(3);
	if (!conn) {
		if (o->qp.type == IBV_QPT_UD)
			make_datagram(o, w);
		else
			make_frame(o, w);
		return;
	}
	to = other_side(o, w);
	make_payload(o, w);
	if (w->op == IBV_WR_SEND_WITH_INV) {
		w->rkey = o->qp.peer && o->qp.peer->live ? some_inv_key(to.actor, o->qp.peer) : 0;
		if (!w->rkey && !vchance(30))
			w->op = IBV_WR_SEND;
	}
	if (!is_send(w->op))
		some_target(&to, w);
}
