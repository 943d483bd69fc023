/* SPDX-License-Identifier: MIT */
/**
 * DOC: shared receive queues: creation, limits, resizing.
 *
 * An SRQ's number is its index with the low byte of the slot's generation above it, as a QP's.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

enum srq_mask {
	SRQ_MAX_WR = 1 << 0,
	SRQ_LIMIT = 1 << 1,
};

struct hca_srq *own_srq(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_SRQ, client, handle);
}

static int srq_check_ring(struct engine *e, u32 client, const struct cmd_srq *c, u32 max_sge)
{
	u64 size;

	if (!c->depth || (c->depth & (c->depth - 1)) || c->depth > 2 * LIM_QP_WR)
		return -EINVAL;
	size = srq_slots_off(c->depth) + (u64)c->depth * rq_stride(max_sge);
	return seg_ring_check(e, client, c->ring, size);
}

static int srq_create_check(struct engine *e, u32 client, const struct cmd_srq *c)
{
	struct hca *hca = e->hca;
	const struct hca_limits *lim;

	if (!own_dev(hca, client, c->dev) || c->async_chan >= SEG_MAX_CHANS || c->type > SRQ_TM)
		return -EINVAL;
	lim = lim_of(hca, c->dev);
	if (!lim->max_srq || (c->type == SRQ_XRC && !(lim->caps & CAP_XRC)) ||
	    (c->type == SRQ_TM && !lim->max_tags))
		return -EOPNOTSUPP;
	if (!own_pd(hca, client, c->pd) || c->max_sge > lim->max_srq_sge || !c->max_wr ||
	    c->max_wr > lim->max_srq_wr || c->limit > c->max_wr || c->max_tags > lim->max_tags)
		return -EINVAL;
	if (c->type == SRQ_XRC && !ref_target(hca, client, c->xrcd - 1, REF_XRCD))
		return -EINVAL;
	if (c->type != SRQ_BASIC && !own_cq(hca, client, c->cq - 1))
		return -EINVAL;
	return srq_check_ring(e, client, c, c->max_sge);
}

int cmd_create_srq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_srq *c = &cmd->srq;
	struct hca_srq *srq;
	int i, ret = srq_create_check(e, client, c);
	u32 gen;

	if (ret)
		return ret;
	i = tab_find(hca, TAB_SRQ, c->dev, lim_of(hca, c->dev)->max_srq);
	if (i < 0)
		return i;
	srq = &hca->srq[i];
	gen = srq->gen + 1;
	memset(srq, 0, sizeof(*srq));
	srq->gen = gen;
	srq->srqn = (u32)i | (gen & 0xff) << 16;
	srq->pd = c->pd;
	srq->type = c->type;
	srq->ring = c->ring;
	srq->depth = c->depth;
	srq->stride = rq_stride(c->max_sge);
	srq->max_sge = c->max_sge;
	srq->max_wr = c->max_wr;
	srq->limit = c->limit;
	srq->async_chan = c->async_chan;
	srq->max_tags = c->max_tags;
	hca->pd[c->pd].refs++;
	if (c->type != SRQ_BASIC) {
		srq->cq = c->cq;
		hca->cq[c->cq - 1].refs++;
	}
	if (c->type == SRQ_XRC) {
		srq->xrcd = ref_target(hca, client, c->xrcd - 1, REF_XRCD);
		srq->xref = c->xrcd;
		hca->xrcd[srq->xrcd - 1].refs++;
		ref_use(hca, srq->xref, 1);
	}
	tab_own(hca, TAB_SRQ, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	c->srqn = srq->srqn;
	c->gen = gen;
	return 0;
}

/*
 * Posted receives move to the new ring: the client has copied the slots, the order array is built
 * here.
 */
static int srq_resize_ring(struct engine *e, struct hca_srq *srq, const struct cmd_srq *c)
{
	struct seg_hdr *seg;
	const u32 *from;
	u32 *to, i, n;
	int ret;

	if (c->max_wr > lim_of(e->hca, srq->dev)->max_srq_wr || !c->max_wr || c->depth < srq->depth)
		return -EINVAL;
	ret = srq_check_ring(e, srq->client - 1, c, srq->max_sge);
	if (ret)
		return ret;
	seg = seg_of(e, srq->client); /* after the check: it may have been mapped anew */
	if (!seg)
		return -EINVAL;
	from = seg_ptr(seg, srq->ring + sizeof(struct wq_ctl));
	to = seg_ptr(seg, c->ring + sizeof(struct wq_ctl));
	n = srq_posted(seg, srq) - srq->cons;
	for (i = 0; i < n; i++)
		to[(srq->cons + i) & (c->depth - 1)] = from[(srq->cons + i) & (srq->depth - 1)];
	srq->ring = c->ring;
	srq->depth = c->depth;
	srq->max_wr = c->max_wr;
	return 0;
}

int cmd_modify_srq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_srq *srq = own_srq(e->hca, client, cmd->handle);
	const struct cmd_srq *c = &cmd->srq;
	u32 max_wr;
	int ret = 0;

	if (!srq || (c->mask & ~(u32)(SRQ_MAX_WR | SRQ_LIMIT)))
		return -EINVAL;
	max_wr = c->mask & SRQ_MAX_WR ? c->max_wr : srq->max_wr;
	if ((c->mask & SRQ_LIMIT) && c->limit > max_wr)
		return -EINVAL;
	if (c->mask & SRQ_MAX_WR)
		ret = srq_resize_ring(e, srq, c);
	if (!ret && (c->mask & SRQ_LIMIT))
		srq->limit = c->limit;
	return ret;
}

int cmd_query_srq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_srq *srq = own_srq(e->hca, client, cmd->handle);

	if (!srq)
		return -EINVAL;
	cmd->srq.limit = srq->limit;
	cmd->srq.max_wr = srq->max_wr;
	cmd->srq.max_sge = srq->max_sge;
	return 0;
}

static void srq_free_tags(struct hca *hca, struct hca_srq *srq)
{
	u32 i = srq->tags, n;

	for (n = srq->n_tags; n && i && i <= HCA_MAX_TAG; n--) {
		u32 next = hca->tag[i - 1].next;

		tab_free(hca, TAB_TAG, i - 1);
		i = next;
	}
}

int cmd_destroy_srq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_srq *srq = own_srq(hca, client, cmd->handle);

	if (!srq)
		return -EINVAL;
	if (srq->refs)
		return -EBUSY;
	srq_free_tags(hca, srq);
	hca->pd[srq->pd].refs--;
	if (srq->cq)
		hca->cq[srq->cq - 1].refs--;
	if (srq->xrcd)
		hca->xrcd[srq->xrcd - 1].refs--;
	ref_use(hca, srq->xref, -1);
	tab_free(hca, TAB_SRQ, cmd->handle);
	return 0;
}
