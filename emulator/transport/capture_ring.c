/* SPDX-License-Identifier: MIT */
/** DOC: capture records of what is sent: see capture_ring.h. */
#include "emulator/engine.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/transport/capture_ring.h"
#include "emulator/transport/datagram.h"
#include "emulator/frame/frame.h"
#include "emulator/transport/relay.h"

#define REC_MAX	  (CAP_RING / 4) /* a record that would be larger keeps less payload */
#define ANSWERS	  (CAP_RING / 8) /* reserved for answers to a request, besides READ data */
#define FULL	  (CAP_RING / 2) /* above this fill level the fabric process is kicked */
#define ROOM_WAIT 200000u /* ns of real time */
#define SPAN	  (64u << 10) /* read at once from another process's memory */
#define SPAN_MTU  2048u /* up to this MTU whole packets are cheaper to read than pieces */

static u32 cap_note_len(const struct cap_note *note)
{
	return note && note->text && note->text[0] ? min_u32((u32)strlen(note->text) + 1, CAP_TEXT)
						   : 0;
}

/* Raw Ethernet over links: fabric/link/link.c carries it as a packet. */
static bool burst_is_frame(const struct burst *b)
{
	return b->dst_type == QPT_RAW_PACKET;
}

/* Payload bytes that the record keeps of each packet. */
static u32 cap_keep_bytes(const struct hca_capture *c, const struct burst *b)
{
	u32 n = burst_packets(b), keep = min_u32(load_relaxed(&c->keep), b->mtu);

	if (!b->mem || !b->len)
		return 0;
	if (burst_is_frame(b))
		return (u32)min_u64(load_relaxed(&c->snap), b->len);
	return n > 1 ? min_u32(keep, REC_MAX / n) : (u32)min_u64(keep, b->len);
}

static u32 cap_rec_size(u32 text, u64 payload)
{
	return (u32)ALIGN_UP(sizeof(struct cap_rec) + cap_text_bytes(text) + payload,
			     (u64)CAP_ALIGN);
}

/*
 * Bytes up to the ring's end that a record of @size bytes leaves unused, so that it is contiguous
 * and @behind bytes after it are free. An empty ring is restarted from its beginning, to stay
 * within cached memory.
 */
static u32 cap_ring_skip(const struct hca_capture *c, u32 size, u64 behind)
{
	u32 at = (u32)(c->write % CAP_RING);

	if (CAP_RING - at < size || (c->write == load_acquire(&c->tail) && at >= size + behind))
		return CAP_RING - at;
	return 0;
}

static bool cap_ring_has_room(const struct hca_capture *c, u32 size, u64 behind)
{
	u64 used = c->write - load_acquire(&c->tail);

	return used <= CAP_RING &&
	       (u64)cap_ring_skip(c, size, behind) + size + behind <= CAP_RING - used;
}

/* Upper bound of what the answers to a burst take, and may leave unused at the ring's end. */
static u64 cap_answer_bytes(const struct hca_capture *c, const struct burst *b)
{
	struct burst rsp = { .mtu = b->mtu, .len = b->len, .mem = (void *)&rsp };

	if (b->op == BOP_ACK || b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK)
		return 0;
	if (b->op != BOP_READ_REQ || !b->mtu)
		return ANSWERS;
	rsp.npkts = packets_of(b->len, b->mtu);
	rsp.op = BOP_READ_RESP;
	return ANSWERS + 2ull * cap_rec_size(0, cap_kept_bytes(&rsp, cap_keep_bytes(c, &rsp)));
}

bool cap_has_room(struct engine *e, const struct burst *b, u32 records)
{
	const struct hca_capture *c = &e->hca->capture;
	u64 size =
		(u64)records * cap_rec_size(CAP_TEXT, 0) + cap_kept_bytes(b, cap_keep_bytes(c, b));

	return size < CAP_RING / 2 && cap_ring_has_room(c, (u32)size, cap_answer_bytes(c, b));
}

/* Place a record of @size bytes; cap_ring_has_room() has found room for it. */
static struct cap_rec *cap_ring_place(struct hca_capture *c, u32 size, u64 behind)
{
	u32 at = (u32)(c->write % CAP_RING), skip = cap_ring_skip(c, size, behind);
	struct cap_rec *r = (struct cap_rec *)(void *)(c->ring + at);

	if (!skip)
		return r;
	r->kind = CAP_SKIP;
	r->size = skip;
	store_release(&c->write, c->write + skip);
	return (struct cap_rec *)(void *)c->ring;
}

/* Contiguous free bytes from @at on, while a record is being written. */
static u32 cap_ring_room_after(const struct hca_capture *c, const u8 *at)
{
	u32 off = (u32)(at - c->ring), from = (u32)(c->write % CAP_RING);
	u64 used = c->write - load_acquire(&c->tail), ahead = off - from;

	return used + ahead >= CAP_RING || off >= CAP_RING
		       ? 0
		       : (u32)min_u64(CAP_RING - used - ahead, CAP_RING - off);
}

/* The ring fills up: wake the reader, once. */
static void cap_wake_reader(struct engine *e)
{
	struct hca_capture *c = &e->hca->capture;

	if (c->write - load_relaxed(&c->tail) > FULL && !exchange(&c->rung, 1))
		e->kick = true;
}

static u32 cap_takers(struct engine *e, const struct burst *b)
{
	struct hca *hca = e->hca;
	struct hca_port *src = port_of(hca, b->src_dev, b->src_port), *dst;
	u32 t = src ? load_relaxed(&src->capture) : 0, i = 0, dev;
	u8 port;

	if (burst_is_rest(b))
		return 0;
	if (t == hca->capture.on)
		return t;
	if (burst_is_mcast(b)) {
		while (mcast_next_port(hca, b, &i, &dev, &port))
			t |= load_relaxed(&hca->dev[dev].port[port].capture);
		return t;
	}
	dst = port_of(hca, b->dst_dev, b->dst_port);
	return t | (dst ? load_relaxed(&dst->capture) : 0);
}

bool cap_is_watched(const struct hca *hca, const struct burst *b)
{
	return unlikely(hca->capture.on) &&
	       ((b->src_dev < hca->n_devs && hca->dev[b->src_dev].port[b->src_port].capture) ||
		burst_is_mcast(b) ||
		(b->dst_dev < hca->n_devs && hca->dev[b->dst_dev].port[b->dst_port].capture));
}

/* --- addresses -------------------------------------------------------------------------------- */

static const u8 *cap_gid(const struct hca *hca, u32 dev, u32 port, u32 index)
{
	static const u8 none[16];

	return dev < hca->n_devs && port <= HCA_MAX_PORTS
		       ? hca->dev[dev].port[port].gid[index % HCA_GIDS].raw
		       : none;
}

/* The sender's address: that of the datagram, or of the connection. */
static void cap_rec_set_addrs(struct hca *hca, const struct burst *b, struct cap_rec *r)
{
	const struct hca_qp *src = hca_qp_by_num(hca, b->src_qpn);
	const struct hca_qp *dst = hca_qp_by_num(hca, b->dst_qpn);

	if (!b->av && src && src->dev == b->src_dev && !hca->dev[b->src_dev].member)
		r->av = src->attr.av;
	if (b->av)
		r->av = *b->av;
	/* Without a GRH the port's first GID stands for it, as in ud.c. */
	memcpy(r->dgid, r->av.is_global ? r->av.dgid : cap_gid(hca, b->dst_dev, b->dst_port, 0),
	       sizeof(r->dgid));
	memcpy(r->sgid, cap_gid(hca, b->src_dev, b->src_port, r->av.sgid_index), sizeof(r->sgid));
	/* The sender is on another fabric: reverse the receiver's address. */
	if (b->av || r->av.port_num || !dst || dst->dev != b->dst_dev)
		return;
	r->av = dst->attr.av;
	memcpy(r->sgid, r->av.is_global ? r->av.dgid : cap_gid(hca, b->src_dev, b->src_port, 0),
	       sizeof(r->sgid));
	memcpy(r->dgid, cap_gid(hca, b->dst_dev, b->dst_port, r->av.sgid_index), sizeof(r->dgid));
	r->av.dlid = (u16)hca->dev[b->dst_dev].port[b->dst_port].lid;
}

/* --- payload ---------------------------------------------------------------------------------- */

/**
 * struct gather - pieces of a memory list on their way to the ring, as many as one copy can take.
 */
struct scoop {
	struct engine *e;
	const struct burst *b;
	struct hca_mem src, dst;
	u64 bytes;
};

static int gather_flush(struct scoop *s)
{
	u64 key = (u64)s->b->src_qpn << 32 | (u64)s->b->psn << 1;
	int ret = 0;

	if (s->src.n)
		ret = s->e->ops->copy(s->e->ctx, &s->dst, 0, &s->src, 0, s->bytes, key);
	s->dst.iov[0].addr += s->bytes;
	s->dst.iov[0].len -= s->bytes;
	s->bytes = 0;
	s->src.n = 0;
	return ret;
}

/* Add bytes [@off, @off + @len) of the burst's memory. Return: as engine_ops.copy. */
static int gather_add(struct scoop *s, u64 off, u64 len)
{
	const struct hca_mem *mem = s->b->mem;
	u64 have;
	int ret;
	u32 i;

	for (i = 0; i < mem->n && i < LIM_SGE && len; i++) {
		if (off >= mem->iov[i].len) {
			off -= mem->iov[i].len;
			continue;
		}
		have = min_u64(mem->iov[i].len - off, len);
		if (s->src.n == LIM_SGE) {
			ret = gather_flush(s);
			if (ret)
				return ret;
		}
		s->src.iov[s->src.n].addr = iov_at(&mem->iov[i], off);
		s->src.iov[s->src.n++].len = have;
		s->bytes += have;
		len -= have;
		off = 0;
	}
	return len ? -EFAULT_SRC : 0;
}

/*
 * Fetch the kept bytes of each packet from another process's memory: there a piece of a page costs
 * as much as the page. So whole packets are read to @behind, @room free bytes of the ring, and the
 * kept bytes are copied from there.
 */
static int cap_fetch_spans(struct scoop *s, u32 keep, u8 *to, u8 *behind, u32 room)
{
	const struct burst *b = s->b;
	u32 n = burst_packets(b), at_once = min_u32(room, SPAN) / b->mtu, i, j, count;
	u64 off, last;
	int ret = 0;

	for (i = 0; i < n && !ret; i += count) {
		count = min_u32(at_once, n - i);
		off = (u64)i * b->mtu;
		last = min_u64(keep, b->len - off - (u64)(count - 1) * b->mtu);
		s->dst.iov[0].addr = (u64)(behind - (u8 *)s->e->hca);
		s->dst.iov[0].len = room;
		ret = gather_add(s, b->off + off, (u64)(count - 1) * b->mtu + last);
		if (!ret)
			ret = gather_flush(s);
		for (j = 0; j < count && !ret; j++)
			memcpy(to + (u64)(i + j) * keep, behind + (u64)j * b->mtu,
			       j < count - 1 ? keep : last);
	}
	return ret;
}

/* Fetch the kept payload to @to in the ring, which no reader sees yet. */
static int cap_fetch_payload(struct engine *e, const struct burst *b, u32 keep, u8 *to, u64 len)
{
	struct scoop s = {
		.e = e,
		.b = b,
		.src = { .client = b->mem->client, .kind = b->mem->kind },
		.dst = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 },
	};
	u32 n = burst_packets(b), i, room;
	u64 at;
	int ret = 0;

	s.dst.iov[0].addr = (u64)(to - (u8 *)e->hca);
	s.dst.iov[0].len = len;
	if (n == 1 || keep == b->mtu) {
		ret = gather_add(&s, b->off, len);
		return ret ? ret : gather_flush(&s);
	}
	if (b->mem->client != e->self && b->mtu <= SPAN_MTU) {
		room = cap_ring_room_after(&e->hca->capture, to + len);
		if (room >= 2 * b->mtu)
			return cap_fetch_spans(&s, keep, to, to + len, room);
	}
	for (i = 0; i < n && !ret; i++) {
		at = (u64)i * b->mtu;
		ret = gather_add(&s, b->off + at, min_u64(keep, b->len - min_u64(at, b->len)));
	}
	return ret ? ret : gather_flush(&s);
}

/* --- records ---------------------------------------------------------------------------------- */

static void cap_count_lost(struct hca_capture *c, u32 who, u32 packets)
{
	u32 i;

	for_each_bit64(i, who)
		store_relaxed(&c->lost[i % CAPTURES], c->lost[i % CAPTURES] + packets);
}

/*
 * There is no room. Return: -EAGAIN: the sender waits; 0: it does not, the packets count as lost.
 */
static int cap_no_room(struct engine *e, u32 who, u32 packets)
{
	struct hca_capture *c = &e->hca->capture;
	if (who & c->lossless) {
		e->kick = true;
		if (e->self == ENGINE_FABRIC)
			relay_hold(e,
				   e->ops->now(e->ctx) + hca_clock_span(&e->hca->clock, ROOM_WAIT));
		return -EAGAIN;
	}
	cap_count_lost(c, who, packets);
	return 0;
}

/* Fill in everything but the payload. */
static void cap_rec_fill(struct engine *e, struct cap_rec *r, const struct burst *b,
			 const struct cap_note *note)
{
	struct hca_port *dst = port_of(e->hca, b->dst_dev, b->dst_port);
	u32 text = cap_note_len(note);

	memset(r, 0, sizeof(*r));
	r->kind = CAP_BURST;
	r->ns = e->ops->now(e->ctx);
	r->nth = e->hca->capture.nth;
	cap_rec_set_addrs(e->hca, b, r);
	r->b = *b;
	r->b.av = NULL;
	r->b.mem = NULL;
	if (burst_is_frame(b)) {
		r->kind = CAP_FRAME;
		r->frame_len = (u32)b->len - FRAME_FCS;
	}
	if (note) {
		r->fate = note->fate;
		r->cause = note->cause;
		r->info = note->info;
	}
	if (text) {
		r->text = (u16)text;
		memcpy(r + 1, note->text, text - 1);
		((char *)(r + 1))[text - 1] = '\0';
	} else if (!r->fate && dst && dst->state != PORT_ACTIVE) {
		r->fate = CAP_DROPPED;
		r->cause = CAUSE_PORT_DOWN;
		r->info = b->dst_dev << 8 | b->dst_port;
	}
}

int cap_burst_begin_on(struct engine *e, const struct burst *b, const struct cap_note *note,
		       struct cap_mark *m)
{
	struct hca_capture *c = &e->hca->capture;
	u32 who = cap_takers(e, b), text = cap_note_len(note), keep, size;
	struct cap_rec *r;
	u64 behind;
	int ret;

	*m = (struct cap_mark){
		.write = c->write, .nth = c->nth, .on = true, .outermost = c->write == c->head
	};
	if (!who)
		return 0;
	keep = cap_keep_bytes(c, b);
	size = cap_rec_size(text, cap_kept_bytes(b, keep));
	behind = cap_answer_bytes(c, b);
	if (!cap_ring_has_room(c, size, behind))
		return cap_no_room(e, who, burst_packets(b));
	r = cap_ring_place(c, size, behind);
	cap_rec_fill(e, r, b, note);
	r->size = size;
	r->takers = who;
	r->keep = keep;
	ret = keep ? cap_fetch_payload(e, b, keep, (u8 *)(r + 1) + cap_text_bytes(text),
				       cap_kept_bytes(b, keep))
		   : 0;
	if (ret == -EAGAIN || ret == -ESRCH) {
		c->write = m->write;
		return ret == -EAGAIN ? ret : 0;
	}
	/* The memory is not mapped: the program gets an error, and no payload is on the wire. */
	if (ret)
		r->keep = 0;
	c->nth += burst_packets(b);
	store_release(&c->write, c->write + size);
	cap_wake_reader(e);
	return 0;
}

void cap_burst_end_on(struct engine *e, const struct cap_mark *m, int ret)
{
	struct hca_capture *c = &e->hca->capture;

	if (ret == -EAGAIN) {
		store_release(&c->write, m->write);
		c->nth = m->nth;
	}
	if (m->outermost && c->head != c->write)
		store_release(&c->head, c->write);
}

int cap_burst_put(struct engine *e, const struct burst *b, const struct cap_note *note)
{
	struct cap_mark m;
	int ret = cap_burst_begin(e, b, note, &m);

	if (!ret)
		cap_burst_end(e, &m, 0);
	return ret;
}

void cap_burst_missed(struct engine *e, const struct burst *b)
{
	cap_count_lost(&e->hca->capture, cap_takers(e, b), burst_packets(b));
}

/* Return: whether there was room. */
static bool cap_frame_record(struct engine *e, u32 who, const struct hca_qp *qp, const u8 *frame,
			     u32 len)
{
	struct hca_capture *c = &e->hca->capture;
	u32 keep = min_u32(len, load_relaxed(&c->snap)), size = cap_rec_size(0, keep);
	struct cap_rec *r;

	if (!cap_ring_has_room(c, size, ANSWERS))
		return false;
	r = cap_ring_place(c, size, ANSWERS);
	memset(r, 0, sizeof(*r));
	*r = (struct cap_rec){
		.size = size,
		.kind = CAP_FRAME,
		.ns = e->ops->now(e->ctx),
		.nth = c->nth++,
		.takers = who,
		.keep = keep,
		.frame_len = len,
		.b = { .src_dev = qp->dev, .src_port = (u8)qp->attr.port_num, .src_qpn = qp->qpn },
	};
	if (port_is_down(e->hca, qp->dev, qp->attr.port_num)) {
		r->fate = CAP_DROPPED;
		r->cause = CAUSE_PORT_DOWN;
		r->info = qp->dev << 8 | qp->attr.port_num;
	}
	memcpy(r + 1, frame, keep);
	store_release(&c->write, c->write + size);
	store_release(&c->head, c->write);
	cap_wake_reader(e);
	return true;
}

int cap_frame_put(struct engine *e, const struct hca_qp *qp, const u8 *frame, u32 len)
{
	/* The switch offers the frame to all ports. */
	u32 who = e->hca->capture.on;

	return cap_frame_record(e, who, qp, frame, len) ? 0 : cap_no_room(e, who, 1);
}

void cap_frame_passed(struct engine *e, const struct hca_qp *qp, const u8 *frame, u32 len)
{
	const struct hca_port *port = port_of(e->hca, qp->dev, qp->attr.port_num);
	u32 who = port ? load_relaxed(&port->capture) : 0;

	if (who && !cap_frame_record(e, who, qp, frame, len))
		cap_count_lost(&e->hca->capture, who, 1);
}

void cap_ring_recover(struct hca *hca)
{
	store_release(&hca->capture.head, hca->capture.write);
}
