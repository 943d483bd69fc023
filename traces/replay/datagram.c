/* SPDX-License-Identifier: MIT */
/*
 * GRHs of datagrams. They stand before the payload and contain the addresses of a run. If these
 * differ from the record, memory that a GRH may have been written to is not compared at its end.
 * The payload is compared when its completion is polled.
 */
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"

void rp_grh_mark_mrs(struct rp_prog *g, const struct vt_wr *wr)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	uint32_t i, before;

	for (i = 0, before = 0; g->map && i < wr->n_sge && before < VT_GRH; i++) {
		if (sge[i].mr && sge[i].mr < g->n_obj[VOBJ_MR])
			g->mr[sge[i].mr].grh = true;
		before += sge[i].len < VT_GRH ? sge[i].len : VT_GRH;
	}
}

bool rp_mr_has_grh(const struct rp_prog *g, uint32_t mr)
{
	const struct rp_mr *m = &g->mr[mr], *other;
	uint32_t i;

	for (i = 1; i < g->n_obj[VOBJ_MR]; i++) {
		other = &g->mr[i];
		if (other->grh && other->host && m->host < other->host + other->len &&
		    other->host < m->host + m->len)
			return true;
	}
	return m->grh;
}
