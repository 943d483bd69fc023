/* SPDX-License-Identifier: MIT */
/**
 * DOC: finds where the trace lets data land in an MR: RDMA WRITEs and atomics of peers, receives,
 * READs.
 *
 * A program may restore the previous contents there before the recorder compares memory, so that
 * the record shows no change. Any other difference at the end of an MR has no explanation in the
 * trace.
 */
#include "traces/replay/memory.h"
#include "traces/replay/replay.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"

#include <stdlib.h>
#include <string.h>

/** struct landing - a byte per byte of an MR, 1: data lands there. @at: local address of the MR */
struct landing {
	const struct rp_prog *g;
	const uint8_t *at;
	uint64_t len;
	uint8_t *map;
};

static void target_mark(struct landing *l, uint32_t mr, uint64_t addr, uint64_t len)
{
	const struct rp_mr *m = mr < l->g->n_obj[VOBJ_MR] ? &l->g->mr[mr] : NULL;
	uint64_t from, to;

	if (!mr || !m || !m->host)
		return;
	/* Local addresses, because regions may overlap. */
	from = (uint64_t)(uintptr_t)m->host + (addr - m->base) - (uint64_t)(uintptr_t)l->at;
	to = from + len;
	if ((int64_t)to <= 0 || (int64_t)from >= (int64_t)l->len)
		return;
	from = (int64_t)from < 0 ? 0 : from;
	to = to > l->len ? l->len : to;
	memset(l->map + from, 1, to - from);
}

static void target_mark_remote(struct landing *l, const struct vt_rec *rec, const struct vt_wr *wr)
{
	const struct rp_world *w = l->g->w;
	const struct rp_num *n = rp_num_find(w->key, w->n_key, wr->rkey, ~0u, rec->begin);
	uint64_t len = wr->payload;

	/* Consumers choose the low byte of some keys. */
	if (!n)
		n = rp_num_find(w->key, w->n_key, wr->rkey, ~0xffu, rec->begin);
	if (!n || n->prog != l->g->nth || wr->opcode == IBV_WR_RDMA_READ ||
	    wr->opcode == VT_IBV_WR_FLUSH)
		return;
	if (wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
		len = 8;
	if (n->kind == RP_MR)
		target_mark(l, n->ord, wr->remote_addr, len);
	else
		/* The replay does not track where a window is bound. */
		memset(l->map, 1, l->len);
}

static int target_mark_wr(void *arg, uint32_t prog, const struct vt_rec *rec,
			  const struct vt_wr *wr)
{
	struct landing *l = arg;
	bool send = vt_is_send(rec->kind);
	const struct vt_sge *sge = vt_wr_sge(wr);
	uint32_t i;

	if (send && wr->rkey)
		target_mark_remote(l, rec, wr);
	if (prog == l->g->nth &&
	    (!send || wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	     wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD))
		for (i = 0; i < wr->n_sge; i++)
			target_mark(l, sge[i].mr, sge[i].addr, sge[i].len);
	return 0;
}

bool rp_mr_differs_in_targets(const struct rp_prog *g, uint32_t mr)
{
	struct landing l = { .g = g, .at = g->mr[mr].host, .len = g->mr[mr].len };
	const uint8_t *was = g->mr[mr].shadow, *first = rp_mr_first_bytes(&g->mr[mr]);
	bool only = true;
	uint64_t i;

	l.map = calloc(1, l.len);
	if (!l.map)
		return false;
	rp_for_each_wr(g->w, target_mark_wr, &l);
	for (i = 0; i < l.len && only; i++)
		only = l.at[i] == was[i] || (l.map[i] && was[i] == first[i]);
	free(l.map);
	return only;
}
