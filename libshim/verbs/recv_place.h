/* SPDX-License-Identifier: MIT */
/**
 * DOC: copies what a completion entry carries, a small payload and a datagram's GRH, to the buffers
 * of its receive. Only poll.c includes this.
 */
#ifndef LIBSHIM_VERBS_RECV_PLACE_H
#define LIBSHIM_VERBS_RECV_PLACE_H

#include "emulator/ib.h"
#include "emulator/seg.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/queue.h"

/** sge_write_fn - write bytes at offset @at of a list's entry. */
typedef void (*sge_write_fn)(const struct wq_sge *sge, u32 at, const u8 *from, u32 n);

/** struct spot - the place of the next byte in a receive's scatter list. */
struct spot {
	const struct rq_wqe *w;
	sge_write_fn write;
	u32 max_sge;
	u32 i;
	u32 at;
};

/* The last byte last. */
static inline void sge_write(const struct wq_sge *sge, u32 at, const u8 *from, u32 n)
{
	u8 *to = shim_mr_shadow_find(sge->lkey, ~0u, ACC_LOCAL_WRITE, sge->addr + at, n);

	if (likely(to)) {
		memcpy(to, from, n - 1);
		store_release(&to[n - 1], from[n - 1]);
	}
}

static void recv_place_part(struct spot *p, const u8 *from, u32 left)
{
	const struct wq_sge *sge;
	u32 n;

	for (; left && p->i < p->w->num_sge && p->i < p->max_sge; p->i++, p->at = 0) {
		sge = &p->w->sge[p->i];
		n = min_u32(sge->len - p->at, left);
		if (!n)
			continue;
		p->write(sge, p->at, from, n);
		left -= n;
		from += n;
		p->at += n;
		if (p->at < sge->len)
			return;
	}
}

/* Copy an entry's data to the buffers of its receive: a datagram's GRH, and the payload. */
static void recv_place_parts(const struct rq_wqe *w, u32 max_sge, const struct cqe *e,
			     sge_write_fn write)
{
	struct spot p = { .w = w, .write = write, .max_sge = max_sge };
	u32 len = e->byte_len;

	if (e->flags & CQE_GRH) {
		recv_place_part(&p, e->grh, IB_GRH_LEN);
		len = len > IB_GRH_LEN ? len - IB_GRH_LEN : 0;
	}
	if (e->flags & CQE_HAS_DATA)
		recv_place_part(&p, e->data, min_u32(len, CQE_INLINE_MAX));
}

/*
 * A datagram that one buffer takes whole, as buffers usually do: one look for its memory. Return:
 * false: it is not so.
 */
static inline bool recv_place_datagram(const struct rq_wqe *w, u32 max_sge, const struct cqe *e)
{
	const u8 all = CQE_GRH | CQE_HAS_DATA;
	u32 n = min_u32(e->byte_len - IB_GRH_LEN, CQE_INLINE_MAX);
	u8 *to;

	if ((e->flags & all) != all || e->byte_len <= IB_GRH_LEN || !w->num_sge || !max_sge ||
	    w->sge->len < IB_GRH_LEN + n)
		return false;
	to = shim_mr_shadow_find(w->sge->lkey, ~0u, ACC_LOCAL_WRITE, w->sge->addr, IB_GRH_LEN + n);
	if (unlikely(!to))
		return false;
	memcpy(to, e->grh, IB_GRH_LEN);
	memcpy(to + IB_GRH_LEN, e->data, n - 1);
	store_release(&to[IB_GRH_LEN + n - 1], e->data[n - 1]);
	return true;
}

/* Out of line, so that a payload alone saves no registers for it. */
static __attribute__((noinline)) void recv_place_other(const struct rq_wqe *w, u32 max_sge,
						       const struct cqe *e)
{
	if (!recv_place_datagram(w, max_sge, e))
		recv_place_parts(w, max_sge, e, sge_write);
}

static void recv_place_data(const struct rq_wqe *w, u32 max_sge, const struct cqe *e)
{
	u32 len = min_u32(e->byte_len, CQE_INLINE_MAX);

	/* The common case: payload alone, which fits into the first entry. */
	if (likely(!(e->flags & CQE_GRH) && len && w->num_sge && max_sge && len <= w->sge->len))
		sge_write(w->sge, 0, e->data, len);
	else
		recv_place_other(w, max_sge, e);
}

#endif
