/* SPDX-License-Identifier: MIT */
/** DOC: bursts that leave by a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/av.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "fabric/core/memory.h"

#include <sys/epoll.h>

#define STAGE_NS NSEC_PER_SEC /* a copy that was not continued for so long was abandoned */

/*
 * The window of the queue pair that runs is full, and an ACK will ring it. A burst of a link's
 * queue does not wait: what follows it may be the packet for whose ACK it would wait.
 */
static bool wire_window_is_full(struct hca *hca, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);
	u32 una;

	if (!qp || hca->cur_qp != qp_slot(qp) + 1 || !qp_reliable(qp) || b->op == BOP_ACK ||
	    b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK)
		return false;
	una = qp->req.una_psn;
	return b->psn != una &&
	       psn_diff(psn_add(b->psn, b->npkts), una) > (s32)hca_peer_window(qp->mtu);
}

/*
 * Where the payload goes: the first packet's headers fit before it. Not near the place of its
 * source in a page (ROCE_ALIGN): the room between packets takes them further from it.
 */
static u8 *wire_payload_place(const struct roce *r, const struct burst *b)
{
	u64 from = b->mem ? b->mem->iov[0].addr + b->off : 0;

	return r->payload + from % ROCE_ALIGN + ROCE_HDR_MAX;
}

/*
 * Copy the payload of each packet to @at, @step bytes apart: headers and ICRC fit between them, and
 * frames that leave in one piece lie there already. Return: as engine_ops.copy.
 */
static int wire_gather_apart(struct fabric *f, const struct burst *b, u32 len, u64 key, u32 step,
			     u8 *at)
{
	struct hca_mem dst = { .client = HCA_PROC, .kind = MEM_VM };
	u32 done, part, n;
	int ret = 0;

	for (done = 0; done < len && !ret; done += part) {
		part = 0;
		for (dst.n = 0; dst.n < LIM_SGE && done + part < len; dst.n++, at += step) {
			n = min_u32(len - done - part, b->mtu);
			dst.iov[dst.n] = (struct hca_iov){ (u64)(uintptr_t)at, n };
			part += n;
		}
		ret = f->engine.ops->copy(f, &dst, 0, b->mem, b->off + done, part, key);
	}
	return ret;
}

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

	if (!len || !memory_needs_helper(f, b->mem, b->off, len)) {
		rec->keep = b->mtu + packet_frame_gap(b);
		*data = wire_payload_place(f->roce, b);
		return wire_gather_apart(f, b, len, key, rec->keep, *data);
	}
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

/* The address vector of a burst of ours: of the datagram, or of its connection. NULL: none */
static const struct hca_av *wire_av(struct hca *hca, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);

	if (b->av)
		return b->av;
	return qp && qp->dev == b->src_dev ? &qp->attr.av : NULL;
}

static struct roce_wire *wire_of_source(struct roce *r, const u8 sgid[16])
{
	u32 i;

	for (i = 0; i < r->n; i++)
		if (!memcmp(r->wire[i].box.gid, sgid, 16))
			return &r->wire[i];
	return NULL;
}

/*
 * Send the packets of a burst from number @from on. @by: receives the socket
 * Return: how many of it were sent at all.
 */
static u32 wire_send_packets(struct fabric *f, struct roce_wire *w, const struct cap_view *v,
			     u32 from, struct watch **by)
{
	struct roce_batch batch = { 0 };
	struct packet_run run = { 0 };
	struct roce_frame *before = NULL, *frame;
	u32 n, i, sent = from;
	struct roce_pkt p;
	bool same;

	*by = &w->box.w;
	n = packet_frame_begin(f->hca, v, &p);
	if (!n)
		return 0;
	*by = roce_flow_socket(f, w, p.udp_src);
	if (*by == &w->box.w)
		p.udp_src = ROCE_UDP_PORT;
	for (i = 0; i < n; i++) {
		same = packet_frame_next(f->hca, v, i, &p, &run);
		if (i < from)
			continue;
		if (i == run.first && batch.n + run.n > ROCE_BATCH) {
			sent += roce_send_frames(f, w, *by, v->rec, &batch);
			if (sent < i)
				return sent;
			batch.n = 0;
		}
		p.udp_sum = false; /* the kernel computes it */
		frame = &f->roce->frames[batch.n];
		batch.sums = run.sums;
		batch.run[batch.n++] = run.n;
		if (roce_build_around(&p, same ? before : NULL, frame))
			return n;
		before = frame;
	}
	return sent + roce_send_frames(f, w, *by, v->rec, &batch);
}

/* Wait for room in a socket, if it is the one that is full, and for what it receives. */
static void wire_watch_full(struct fabric *f, struct roce_wire *w, struct watch *by)
{
	u32 events = EPOLLIN | (w->full == by ? (u32)EPOLLOUT : 0);

	loop_watch_events(f, by, by == &w->box.w ? roce_inbox_events(&w->box) : events);
}

/* Send a burst whose payload has been copied. Return: 0 or -EAGAIN. */
static int wire_send_burst(struct fabric *f, struct roce_wire *w, const struct cap_view *v)
{
	const struct burst *b = &v->rec->b;
	bool part = w->part_sent && w->part_qpn == b->src_qpn && w->part_psn == b->psn;
	u32 n = burst_packets(b), sent;
	struct watch *by;

	w->refused = 0;
	sent = wire_send_packets(f, w, v, part && w->part_sent < n ? w->part_sent : 0, &by);
	w->part_sent = 0;
	if (w->refused)
		journal_drop(&f->engine, b, CAUSE_SOCKET, (u32)w->refused);
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
	const struct hca_av *av = wire_av(f->hca, b);
	u32 len = b->op == BOP_READ_REQ ? 0 : (u32)min_u64(b->len, ROCE_DATA_MAX + 1);
	struct cap_rec rec = { .fate = fate, .b = *b };
	struct cap_view v = { .rec = &rec };
	struct roce_wire *w;
	u8 *data;
	int ret;

	if (!av || !av->is_global || !b->mtu || len > ROCE_DATA_MAX)
		return -EHOSTUNREACH;
	memcpy(rec.sgid, f->hca->dev[b->src_dev].port[b->src_port].gid[av->sgid_index].raw, 16);
	memcpy(rec.dgid, av->dgid, 16);
	rec.av = *av;
	w = wire_of_source(f->roce, rec.sgid);
	if (!w || gid_is_v4(rec.sgid) != gid_is_v4(rec.dgid))
		return -EHOSTUNREACH;
	if (wire_window_is_full(f->hca, b) || roce_rate_holds(f, w, b))
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
