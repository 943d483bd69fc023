/* SPDX-License-Identifier: MIT */
/**
 * DOC: bursts from and to other members: translation of devices, credit, and lanes.
 */
#include "emulator/engine.h"
#include "emulator/av.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/transport/write_batch.h"
#include "fabric/core/memory.h"
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <stdlib.h>

/* From here on queued bytes are written at once: the peer handles them while more is gathered. */
#define FLUSH_AT (256u << 10)
/* From here on a call to the socket costs less than a copy. */
#define BORROW_MIN (16u << 10)

void join_credit_send(struct fabric *f, struct member *m)
{
	u64 limit[LANES];
	u8 body[JOIN_CREDIT];
	bool due = false;
	u32 i;

	for (i = 0; i < LANES; i++) {
		limit[i] = m->lane[i].taken + JOIN_WINDOW;
		due |= limit[i] - m->lane[i].granted >= JOIN_WINDOW / 4;
		join_u64_put(body + (1 + i) * sizeof(u64), limit[i]);
	}
	join_u64_put(body, m->heard);
	if (!due || !m->via)
		return;
	if (jconn_send(f, m->via, JT_CREDIT, f->join->id, m->id, body, sizeof(body)))
		return;
	for (i = 0; i < LANES; i++)
		m->lane[i].granted = limit[i];
}

/* --- out --- */

/**
 * struct stage - where the payload of a burst is gathered that is copied in rounds, through a
 * helper: the connection's buffer would be at another place in each round.
 */
struct stage {
	u64 key;
	u64 used_at;
	u8 mem[JOIN_MAX_DATA];
};

#define STAGES	 8u
#define STAGE_NS NSEC_PER_SEC /* a burst that was not continued for so long was abandoned */

static struct stage *burst_stage_get(u64 key)
{
	static struct stage *all[STAGES];
	struct stage **free = NULL;
	u64 now = real_ns();
	u32 i;

	for (i = 0; i < STAGES; i++) {
		if (all[i] && all[i]->key == key) {
			all[i]->used_at = now;
			return all[i];
		}
		if (!free && (!all[i] || !all[i]->key || now - all[i]->used_at > STAGE_NS))
			free = &all[i];
	}
	if (!free || (!*free && !(*free = malloc(sizeof(**free)))))
		return NULL;
	(*free)->key = key;
	(*free)->used_at = now;
	return *free;
}

/* Copy a small payload that lies in the sender's segment. Return: false: it does not. */
static bool burst_gather_segment(struct fabric *f, const struct burst *b, u8 *to, u32 len)
{
	const struct hca_mem *mem = b->mem;
	const u8 *base;

	if (mem->kind != MEM_SEG || mem->n != 1 || b->off > mem->iov[0].len ||
	    len > mem->iov[0].len - b->off || mem->iov[0].addr > SEG_SIZE - mem->iov[0].len)
		return false;
	base = f->engine.ops->seg(f, mem->client);
	if (!base)
		return false;
	memcpy(to, base + mem->iov[0].addr + b->off, len);
	return true;
}

/* Copy the payload from the program's memory into the buffer. Return: as engine_ops.copy. */
static int burst_gather(struct fabric *f, const struct burst *b, u8 *to, u32 len)
{
	struct hca_mem dst = {
		.client = HCA_PROC, .kind = MEM_VM, .n = 1, .iov = { { (u64)(uintptr_t)to, len } }
	};

	u64 key = (u64)b->src_qpn << 32 | b->psn << 1 | (join_lane_of(b->op) == LANE_REQUEST);
	struct stage *st;
	int ret;

	if (!len || (len <= WRITE_BATCH_PIECE && burst_gather_segment(f, b, to, len)))
		return 0;
	if (likely(!memory_needs_helper(f, b->mem, b->off, len)))
		return f->engine.ops->copy(f, &dst, 0, b->mem, b->off, len, key);
	st = burst_stage_get(key);
	if (!st)
		return -EAGAIN;
	dst.iov[0].addr = (u64)(uintptr_t)st->mem;
	ret = f->engine.ops->copy(f, &dst, 0, b->mem, b->off, len, key);
	if (ret == -EAGAIN)
		return ret;
	st->key = 0;
	memcpy(to, st->mem, len);
	return ret;
}

/*
 * A large payload that lies in lent memory is written from there. If the socket is full, most of it
 * would have to be copied: *wait: the burst waits once until the socket takes more.
 */
static bool burst_borrow(struct fabric *f, const struct jconn *c, const struct burst *b, u32 len,
			 struct jloan *l, bool *wait)
{
	*wait = false;
	l->n = len >= BORROW_MIN ? memory_lent_span(f, b->mem, b->off, len, l->v, JOIN_LOAN_PIECES)
				 : 0;
	if (!l->n)
		return false;
	l->len = len;
	*wait = c->full;
	return !c->stuck;
}

/* Return: 0 or -EAGAIN. */
static int burst_send_member(struct fabric *f, struct member *m, const struct burst *b, u32 dst_dev)
{
	struct jlane *lane = &m->lane[join_lane_of(b->op)];
	struct join_hdr h = {
		.type = JT_BURST, .lane = (u8)join_lane_of(b->op), .src = f->join->id, .dst = m->id
	};
	u32 head = JOIN_HDR + join_burst_size(b), data = join_data_len(b);
	struct jconn *c = m->via;
	bool borrowed, wait;
	struct jloan loan;
	int ret = 0;
	u8 *p;

	if (data > JOIN_MAX_DATA) {
		m->dropped++;
		return 0;
	}
	h.len = head + data;
	if (lane->sent >= lane->limit && join_burst_needs_credit(h.lane, h.len)) {
		if (!lane->dry_at)
			lane->dry_at = real_ns();
		return -EAGAIN;
	}
	borrowed = burst_borrow(f, c, b, data, &loan, &wait);
	p = wait ? NULL : jconn_reserve(c, h.len);
	if (!p) {
		f->join->full = true;
		return -EAGAIN;
	}
	if (!borrowed)
		ret = burst_gather(f, b, p + head, data);
	if (ret == -EAGAIN)
		return ret;
	if (ret == -ESRCH) {
		m->dropped++;
		journal_drop(&f->engine, b, CAUSE_SENDER_GONE, 0);
		return 0;
	}
	/*
	 * The receiver finds no payload and handles it as an unreadable source, as where it copies
	 * itself.
	 */
	if (ret)
		h.len = head;
	join_hdr_put(p, &h);
	join_burst_put(p + JOIN_HDR, b, b->src_dev, dst_dev);
	if (ret)
		join_burst_void(p + JOIN_HDR);
	jconn_commit(c, h.len);
	lane->sent += h.len;
	m->tx_bursts++;
	m->tx_bytes += h.len;
	if (borrowed)
		jconn_flush_loan(f, c, &loan);
	else if (!c->want_write && jconn_pending(c) >= FLUSH_AT)
		jconn_flush(f, c);
	return 0;
}

static bool burst_member_reachable(struct fabric *f, struct member *m, const struct burst *b)
{
	if (m->via && m->ready)
		return true;
	m->dropped++;
	journal_drop(&f->engine, b, CAUSE_NO_WAY, 0);
	return false;
}

static void burst_send_group(struct fabric *f, const struct burst *b)
{
	struct join *j = f->join;
	u32 i;

	/* Datagrams: a member without room for one does not get it. */
	for (i = 0; j && i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && burst_member_reachable(f, j->member[i], b))
			(void)burst_send_member(f, j->member[i], b, JOIN_MCAST);
}

static int join_send(struct fabric *f, u32 member, const struct burst *b)
{
	struct join *j = f->join;
	struct member *m = j && member && member <= JOIN_MAX_MEMBERS ? j->member[member - 1] : NULL;
	int ret;

	if (!m || j->far_index[b->dst_dev] == JOIN_NOWHERE) {
		journal_drop(&f->engine, b, CAUSE_NO_WAY, 0);
		return 0;
	}
	if (!burst_member_reachable(f, m, b))
		return 0;
	ret = burst_send_member(f, m, b, j->far_index[b->dst_dev]);
	if (ret == -EAGAIN)
		wait_add_current(f);
	return ret;
}

static bool join_carries(const struct fabric *f, u32 member)
{
	(void)f;
	return member && member <= JOIN_FORGOTTEN;
}

const struct link_carrier join_carrier = {
	.carries = join_carries,
	.send = join_send,
	.under_way = join_under_way,
	.send_group = burst_send_group,
};

/* --- in --- */

bool join_burst_translate(const struct fabric *f, const struct member *m, struct burst *b)
{
	const struct hca *hca = f->hca;
	u16 slot = b->src_dev < HCA_MAX_DEVS ? m->dev_slot[b->src_dev] : 0;
	bool group = b->av && av_is_mcast(b->av);

	/* While the member was away, another may have taken the device. */
	if (!slot || hca->dev[slot - 1].member != m->number ||
	    b->src_port > hca->dev[slot - 1].n_ports)
		return false;
	b->src_dev = slot - 1u;
	if (group || b->dst_dev == JOIN_MCAST)
		return group && b->dst_dev == JOIN_MCAST;
	return b->dst_dev < hca->n_devs && !hca->dev[b->dst_dev].member && b->dst_port &&
	       b->dst_port <= hca->dev[b->dst_dev].n_ports;
}

const u8 *join_burst_next(const u8 *at, u32 have)
{
	struct join_hdr h, next;

	if (join_hdr_get(at, JOIN_MAX_FRAME, &h) || have < h.len || have - h.len < JOIN_HDR ||
	    join_hdr_get(at + h.len, JOIN_MAX_FRAME, &next) || have - h.len < next.len)
		return NULL;
	return join_burst_same_flow(at, at + h.len) ? at + h.len : NULL;
}

/* Append a burst to the batch, if it can be part of it. Return: whether it was. */
static bool burst_batch_add(struct burst_batch *t, const struct burst *b, const u8 *data)
{
	const u8 whole = BF_FIRST | BF_LAST;

	if (b->op != BOP_WRITE || (b->flags & ~BF_ACK_REQ) != whole || !data || !b->len ||
	    b->len > WRITE_BATCH_PIECE || b->dma_len != b->len || b->dst_type != QPT_RC || b->aeth)
		return false;
	if (t->n && (b->psn != psn_add(t->first.psn, t->n) || b->mtu != t->first.mtu))
		return false;
	if (!t->n)
		t->first = *b;
	/* One ACK covers them all. */
	t->first.flags |= b->flags;
	t->piece[t->n] =
		(struct write_batch_piece){ .va = b->va, .rkey = b->rkey, .len = (u32)b->len };
	t->src.iov[t->n].addr = (u64)(uintptr_t)data;
	t->src.iov[t->n].len = b->len;
	t->n++;
	return true;
}

u32 join_burst_train(struct fabric *f, struct member *m, const u8 *at, u32 have)
{
	struct jlane *lane = &m->lane[LANE_REQUEST];
	const u8 *frame = at;
	struct join_hdr h;
	struct hca_av av;
	struct burst_batch t;
	struct burst b;
	const u8 *data;
	u32 done = 0;

	if (!m->ready || lane->head != lane->tail || at[JOIN_HDR] != BOP_WRITE)
		return 0;
	t.n = 0;
	t.src.client = HCA_PROC;
	t.src.kind = MEM_VM;
	while (frame && t.n < WRITE_BATCH_MAX && !join_hdr_get(frame, JOIN_MAX_FRAME, &h) &&
	       !join_burst_get(frame + JOIN_HDR, h.len - JOIN_HDR, h.lane, &b, &av, &data) &&
	       burst_batch_add(&t, &b, data)) {
		frame = join_burst_next(at + done, have - done);
		done += h.len;
	}
	t.src.n = (u16)t.n;
	if (t.n < 2 || !join_burst_translate(f, m, &t.first) || !link_is_direct(f, &t.first) ||
	    !write_batch_input(&f->engine, &t))
		return 0;
	poller_wake_add(f, hca_qp_by_num(f->hca, t.first.dst_qpn));
	lane->taken += done;
	return done;
}

int join_burst_take(struct fabric *f, struct member *m, const struct join_hdr *h, const u8 *body,
		    const u8 *next)
{
	struct hca_mem mem = { .client = HCA_JOIN, .kind = MEM_SEG, .n = 1 };
	struct hca_av av;
	struct burst b;
	const u8 *data;
	int ret;

	if (join_burst_get(body, h->len - JOIN_HDR, h->lane, &b, &av, &data) ||
	    !join_burst_translate(f, m, &b))
		return -EPROTO;
	if (b.av) {
		av.dst_dev = b.dst_dev;
		av.dst_port = b.dst_port;
		av.port_num = b.src_port;
	}
	if (next && join_burst_shares_ack(&b, next))
		b.flags &= (u8)~BF_ACK_REQ;
	if (!data)
		mem.kind = MEM_NONE;
	f->join->data = data;
	mem.iov[0].len = join_data_len(&b);
	b.mem = mem.iov[0].len ? &mem : NULL;
	ret = link_input(f, &b);
	if (ret == -EAGAIN)
		return ret;
	m->lane[h->lane].taken += h->len;
	m->rx_bursts++;
	m->rx_bytes += h->len;
	return 0;
}
