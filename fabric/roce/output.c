/* SPDX-License-Identifier: MIT */
/** DOC: bursts that leave by a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "fabric/core/memory.h"

#include <sys/epoll.h>

#define STAGE_NS NSEC_PER_SEC /* a copy that was not continued for so long was abandoned */

/*
 * Copy the payload. Return: as engine_ops.copy. @data: receives where it is
 * @rec: receives how far apart those of its packets are
 */
static int wire_gather(struct fabric *f, const struct burst *b, u32 len, struct cap_rec *rec,
		       u8 **data)
{
	struct hca_mem dst = { .client = HCA_PROC, .kind = MEM_VM, .n = 1 };
	u64 key = (u64)b->src_qpn << 32 | b->psn << 1 | (b->op == BOP_READ_RESP), now;
	struct roce_stage *st = &f->roce->stage;
	int ret;

	if (!len || !memory_needs_helper(f, b->mem, b->off, len))
		return egress_gather(&f->roce->egress, &f->engine, b, len, rec, data);
	egress_gathered(&f->roce->egress);
	rec->keep = b->mtu;
	*data = st->mem;
	dst.iov[0] = (struct hca_iov){ (u64)(uintptr_t)*data, len };
	now = real_ns();
	if (st->key && st->key != key && now - st->used_at < STAGE_NS)
		return -EAGAIN;
	st->key = key;
	st->used_at = now;
	ret = f->engine.ops->copy(f, &dst, 0, b->mem, b->off, len, key);
	if (ret != -EAGAIN)
		st->key = 0;
	return ret;
}

/*
 * Send the packets of a burst from number @from on. @by: receives the socket
 * Return: how many of it were sent at all.
 */
static u32 wire_send_packets(struct fabric *f, struct roce_wire *w, const struct cap_view *v,
			     u32 from, struct watch **by)
{
	struct egress *o = &f->roce->egress;
	struct egress_socket *out;
	struct roce_pkt p;
	u32 n = egress_begin(o, v, &p);

	*by = &w->box.w;
	if (!n)
		return 0;
	*by = roce_flow_socket(f, w, p.udp_src, &out);
	if (*by == &w->box.w)
		p.udp_src = ROCE_UDP_PORT;
	return egress_send(o, out, v, from, n, &p);
}

void roce_note_bursts(struct fabric *f)
{
	if (likely(f->roce->cuts == load_relaxed(&f->hca->wires.bursts)))
		return;
	f->roce->cuts = false;
	fabric_note(f, "roce: each packet is sent on its own from now on: UDP_SEGMENT: %s",
		    strerror((int)f->hca->wires.bursts_error));
}

/* Wait for room in a socket, if it is the one that is full, and for what it receives. */
static void wire_watch_full(struct fabric *f, struct roce_wire *w, struct watch *by)
{
	u32 events = EPOLLIN | (w->full == by ? (u32)EPOLLOUT : 0);

	loop_watch_events(f, by, by == &w->box.w ? roce_inbox_events(&w->box) : events);
}

/* How many packets of a burst left at an earlier attempt, by this process or the QP's program. */
static u32 wire_take_part(struct fabric *f, struct roce_wire *w, const struct burst *b)
{
	struct hca_qp *qp =
		egress_counts_speed(f->hca, b) ? hca_qp_by_num(f->hca, b->src_qpn) : NULL;
	u32 sent = w->part_qpn == b->src_qpn && w->part_psn == b->psn ? w->part_sent : 0;

	if (qp && qp->part_sent) {
		sent = qp->part_psn == b->psn ? qp->part_sent : sent;
		qp->part_sent = 0;
	}
	w->part_sent = 0;
	return sent < burst_packets(b) ? sent : 0;
}

/* Send a burst whose payload has been copied. Return: 0 or -EAGAIN. */
static int wire_send_burst(struct fabric *f, struct roce_wire *w, const struct cap_view *v)
{
	const struct burst *b = &v->rec->b;
	u32 n = burst_packets(b), sent;
	struct watch *by;

	f->roce->egress.refused = 0;
	sent = wire_send_packets(f, w, v, wire_take_part(f, w, b), &by);
	roce_note_bursts(f);
	if (f->roce->egress.refused)
		journal_drop(&f->engine, b, CAUSE_SOCKET, (u32)f->roce->egress.refused);
	if (sent >= n)
		return 0;
	w->part_qpn = b->src_qpn;
	w->part_psn = b->psn;
	w->part_sent = sent;
	w->n.full++;
	w->full = by;
	wire_watch_full(f, w, by);
	wait_add_current(f);
	return -EAGAIN;
}

void roce_writable(struct fabric *f, struct roce_wire *w)
{
	struct watch *was = w->full;

	w->full = NULL;
	wire_watch_full(f, w, was);
	wait_ring_all(f);
}

/*
 * Send a burst to the address that its sender has given. @fate: enum cap_fate
 * Return: as link_carrier.send.
 */
static int roce_send_burst(struct fabric *f, const struct burst *b, u8 fate)
{
	u32 len = b->op == BOP_READ_REQ ? 0 : (u32)min_u64(b->len, ROCE_DATA_MAX + 1);
	struct cap_rec rec = { .fate = fate };
	struct cap_view v = { .rec = &rec };
	struct roce_wire *w;
	u32 wire;
	u8 *data;
	int ret;

	if (len > ROCE_DATA_MAX || egress_describe(f->hca, b, &rec))
		return -EHOSTUNREACH;
	wire = egress_wire(f->hca, rec.sgid);
	if (wire >= f->roce->n)
		return -EHOSTUNREACH;
	w = &f->roce->wire[wire];
	if (egress_is_held_back(f->hca, b) || roce_rate_holds(f, w, b))
		return -EAGAIN;
	if (w->full) {
		wait_add_current(f);
		return -EAGAIN;
	}
	ret = wire_gather(f, b, len, &rec, &data);
	if (ret)
		return ret;
	v.payload = data;
	ret = wire_send_burst(f, w, &v);
	if (!ret)
		roce_rate_sent(f, b, len);
	return ret;
}

static int roce_send_fated(struct fabric *f, const struct burst *b, u8 fate)
{
	int ret = roce_send_burst(f, b, fate);

	/* If the sender's memory is gone, the packets are lost, and its timer tells. */
	if (ret && ret != -EAGAIN)
		journal_drop(&f->engine, b, ret == -EHOSTUNREACH ? CAUSE_NO_WAY : CAUSE_SENDER_GONE,
			     0);
	return ret == -EAGAIN ? ret : 0;
}

static int roce_send(struct fabric *f, u32 member, const struct burst *b)
{
	(void)member;
	return roce_send_fated(f, b, 0);
}

static int roce_send_damaged(struct fabric *f, u32 member, const struct burst *b)
{
	(void)member;
	return roce_send_fated(f, b, CAP_DAMAGED);
}

static bool roce_carries(const struct fabric *f, u32 member)
{
	(void)f;
	return member == HCA_MEMBER_WIRE;
}

static void roce_send_group(struct fabric *f, const struct burst *b)
{
	/* Datagrams: without room, or from a port without a wire, it stays within the fabric. */
	(void)roce_send_burst(f, b, 0);
}

const struct link_carrier roce_carrier = {
	.carries = roce_carries,
	.send = roce_send,
	.send_damaged = roce_send_damaged,
	.send_group = roce_send_group,
};
