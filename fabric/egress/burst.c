/* SPDX-License-Identifier: MIT */
/** DOC: from bursts to frames: see egress.h. */
#include "fabric/egress/egress.h"

#include "emulator/qp.h"

#include <sys/mman.h>

#define MTU_MIN 256u

/* A payload in packets of the smallest path MTU needs that, with headers, ICRCs and alignment. */
static u64 payload_room(u32 data_max)
{
	return ALIGN_UP((u64)data_max / MTU_MIN * (MTU_MIN + ROCE_HDR_MAX) + 2ull * EGRESS_ALIGN,
			(u64)EGRESS_ALIGN);
}

int egress_make(struct egress *o, struct hca *hca, u32 self, u32 data_max)
{
	u64 payload = payload_room(data_max);
	u64 pieces = ALIGN_UP((u64)EGRESS_BATCH * ROCE_DATAGRAM, (u64)EGRESS_ALIGN);
	u64 len = payload + pieces + EGRESS_BATCH * sizeof(*o->frames);
	u8 *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	*o = (struct egress){ .hca = hca,
			      .self = self,
			      .data_max = data_max,
			      .payload = at,
			      .pieces = at + payload,
			      .frames = (void *)(at + payload + pieces),
			      .map = at,
			      .map_len = len };
	return 0;
}

void egress_drop(struct egress *o)
{
	if (o->map)
		munmap(o->map, o->map_len);
	*o = (struct egress){ 0 };
}

u32 egress_wire(const struct hca *hca, const u8 sgid[16])
{
	u32 i, n = min_u32(hca->wires.n, HCA_WIRES);

	for (i = 0; i < n; i++)
		if (!memcmp(hca->wires.gid[i], sgid, 16))
			return i;
	return hca->wires.n;
}

/* The address vector of a burst of ours: of the datagram, or of its connection. NULL: none */
static const struct hca_av *burst_av(struct hca *hca, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);

	if (b->av)
		return b->av;
	return qp && qp->dev == b->src_dev ? &qp->attr.av : NULL;
}

int egress_describe(struct hca *hca, const struct burst *b, struct cap_rec *rec)
{
	const struct hca_av *av = burst_av(hca, b);

	if (!av || !av->is_global || !b->mtu)
		return -EHOSTUNREACH;
	rec->b = *b;
	rec->av = *av;
	memcpy(rec->sgid, hca->dev[b->src_dev].port[b->src_port].gid[av->sgid_index].raw, 16);
	memcpy(rec->dgid, av->dgid, 16);
	return gid_is_v4(rec->sgid) == gid_is_v4(rec->dgid) ? 0 : -EHOSTUNREACH;
}

/* Whether the QP's program is sending a packet of it. It rings the QP when it has. */
static bool qp_is_leaving(struct hca_qp *qp)
{
	u32 leaving = LEAVING;

	if (likely(!load_relaxed(&qp->leaving)))
		return false;
	return __atomic_compare_exchange_n(&qp->leaving, &leaving, LEAVING_MISSED, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       leaving == LEAVING_MISSED;
}

bool egress_is_held_back(struct hca *hca, const struct burst *b)
{
	struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);
	u32 una;

	if (!qp || hca->cur_qp != qp_slot(qp) + 1 || b->op == BOP_ACK || b->op == BOP_READ_RESP ||
	    b->op == BOP_ATOMIC_ACK)
		return false;
	if (qp_is_leaving(qp))
		return true;
	if (!qp_reliable(qp))
		return false;
	una = qp->req.una_psn;
	return b->psn != una &&
	       psn_diff(psn_add(b->psn, b->npkts), una) > (s32)hca_peer_window(qp->mtu);
}

/*
 * Where the payload goes: the first packet's headers fit before it. Not near the place of its
 * source in a page (EGRESS_ALIGN): the room between packets takes them further from it.
 */
static u8 *payload_place(const struct egress *o, const struct burst *b)
{
	u64 from = b->mem ? b->mem->iov[0].addr + b->off : 0;

	return o->payload + from % EGRESS_ALIGN + ROCE_HDR_MAX;
}

/* Whether the payload can stay where it is until its frames are made, with the token held. */
static bool payload_may_stay(struct egress *o, const struct burst *b, u32 len, u8 **data)
{
	struct iovec v;

	o->room = NULL;
	if (!o->lent || len <= b->mtu || o->lent(o->ctx, b->mem, b->off, len, &v, 1) != 1)
		return false;
	*data = v.iov_base;
	o->room = payload_place(o, b);
	o->step = b->mtu + packet_frame_gap(b);
	return true;
}

/*
 * The payload of each packet goes where headers and ICRC fit between them: frames that leave in one
 * piece lie there already.
 */
int egress_gather(struct egress *o, struct engine *e, const struct burst *b, u32 len,
		  struct cap_rec *rec, u8 **data)
{
	struct hca_mem dst = { .client = o->self, .kind = MEM_VM };
	u64 key = (u64)b->src_qpn << 32 | b->psn << 1 | (b->op == BOP_READ_RESP);
	u32 done, part, n;
	int ret = 0;
	u8 *at;

	rec->keep = b->mtu;
	if (payload_may_stay(o, b, len, data))
		return 0;
	rec->keep += packet_frame_gap(b);
	*data = at = payload_place(o, b);
	for (done = 0; done < len && !ret; done += part) {
		part = 0;
		for (dst.n = 0; dst.n < LIM_SGE && done + part < len; dst.n++, at += rec->keep) {
			n = min_u32(len - done - part, b->mtu);
			dst.iov[dst.n] = (struct hca_iov){ (u64)(uintptr_t)at, n };
			part += n;
		}
		ret = e->ops->copy(e->ctx, &dst, 0, b->mem, b->off + done, part, key);
	}
	return ret;
}

u32 egress_begin(const struct egress *o, const struct cap_view *v, struct roce_pkt *p)
{
	return packet_frame_begin(o->hca, v, p);
}

/*
 * Make the next frame of a batch, of packet @i of the burst. @before: as for roce_build_around().
 * Return: 0 or -errno
 */
static int batch_add(struct egress *o, struct roce_pkt *p, u32 i, const struct roce_frame *before,
		     const struct packet_run *run, struct egress_batch *batch)
{
	u8 *room = o->room ? o->room + (u64)i * o->step : NULL;

	p->udp_sum = false; /* the kernel computes it */
	batch->sums = run->sums;
	batch->run[batch->n] = run->n;
	return roce_build_around(p, before, room, &o->frames[batch->n++]);
}

int egress_build(struct egress *o, const struct cap_view *v, struct roce_pkt *p,
		 struct egress_batch *batch)
{
	struct packet_run run = { 0 };

	packet_frame_next(o->hca, v, 0, p, &run);
	batch->n = 0;
	return batch_add(o, p, 0, NULL, &run, batch);
}

u32 egress_send(struct egress *o, struct egress_socket *s, const struct cap_view *v, u32 from,
		u32 n, struct roce_pkt *p)
{
	struct egress_batch batch = { 0 };
	struct packet_run run = { 0 };
	struct roce_frame *before = NULL, *frame;
	u32 i, sent = from;
	bool same;

	for (i = 0; i < n; i++) {
		same = packet_frame_next(o->hca, v, i, p, &run);
		if (i < from)
			continue;
		if (i == run.first && batch.n + run.n > EGRESS_BATCH) {
			sent += egress_frames(o, s, v->rec, &batch);
			if (sent < i)
				return sent;
			batch.n = 0;
		}
		frame = &o->frames[batch.n];
		if (batch_add(o, p, i, same ? before : NULL, &run, &batch))
			return n;
		before = frame;
	}
	return sent + egress_frames(o, s, v->rec, &batch);
}
