/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive work queues and indirection tables, ibv_create_wq(3), ibv_create_rwq_ind_table(3).
 *
 * A WQ's number is its index with the low byte of the slot's generation above it, marked so that it
 * differs from all QP numbers.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/rxq.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

enum wq_mask {
	WQ_STATE = 1 << 0,
	WQ_CUR_STATE = 1 << 1,
	WQ_FLAGS = 1 << 2,
};

static struct hca_wq *own_wq(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_WQ, client, handle);
}

static int wq_create_check(struct engine *e, u32 client, const struct cmd_wq *c)
{
	struct hca *hca = e->hca;
	u32 flags = WQF_CVLAN_STRIPPING | WQF_SCATTER_FCS | WQF_PCI_WRITE_END_PADDING;
	const struct hca_limits *lim;
	u64 size;

	if (!own_dev(hca, client, c->dev) || c->async_chan >= SEG_MAX_CHANS ||
	    !own_pd(hca, client, c->pd) || !own_cq(hca, client, c->cq))
		return -EINVAL;
	if (c->flags & ~flags)
		return -EOPNOTSUPP;
	lim = lim_of(hca, c->dev);
	if (!c->depth || (c->depth & (c->depth - 1)) || c->depth / 2 >= lim->max_qp_wr ||
	    c->max_sge > lim->max_sge)
		return -EINVAL;
	size = sizeof(struct wq_ctl) + (u64)c->depth * rq_stride(c->max_sge);
	return seg_ring_check(e, client, c->ring, size);
}

int cmd_create_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_wq *c = &cmd->wq;
	int i, ret = wq_create_check(e, client, c);
	struct hca_wq *wq;
	u32 gen;

	if (ret)
		return ret;
	i = tab_find(hca, TAB_WQ, c->dev, lim_of(hca, c->dev)->max_wq);
	if (i < 0)
		return i;
	wq = &hca->wq[i];
	gen = wq->gen + 1;
	memset(wq, 0, sizeof(*wq));
	wq->gen = gen;
	wq->wqn = WQN_MARK | (u32)i | (gen & 0xff) << 16;
	wq->pd = c->pd;
	wq->cq = c->cq;
	wq->ring = c->ring;
	wq->depth = c->depth;
	wq->stride = rq_stride(c->max_sge);
	wq->max_sge = c->max_sge;
	wq->flags = c->flags;
	wq->async_chan = c->async_chan;
	wq->state = WQS_RESET;
	hca->pd[c->pd].refs++;
	hca->cq[c->cq].refs++;
	tab_own(hca, TAB_WQ, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	c->wqn = wq->wqn;
	c->gen = gen;
	return 0;
}

/* A WQ leaves ERR through RESET only, and only a ready one can fail. */
static bool wq_can_move(u32 from, u32 to)
{
	return to <= WQS_ERR && !(from == WQS_ERR && to == WQS_RDY) &&
	       !(from == WQS_RESET && to == WQS_ERR);
}

static int wq_modify_check(const struct hca_wq *wq, const struct cmd_wq *c)
{
	if (c->mask & ~(u32)(WQ_STATE | WQ_CUR_STATE | WQ_FLAGS))
		return -EINVAL;
	if ((c->mask & WQ_CUR_STATE) && c->cur_state != wq->state)
		return -EINVAL;
	if ((c->mask & WQ_STATE) && !wq_can_move(wq->state, c->state))
		return -EINVAL;
	/* The other flags are fixed at creation. */
	if ((c->mask & WQ_FLAGS) && (c->flags_mask & ~(u32)WQF_CVLAN_STRIPPING))
		return -EOPNOTSUPP;
	return 0;
}

/* An empty mask: receives were posted in ERR. */
int cmd_modify_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_wq *wq = own_wq(e->hca, client, cmd->handle);
	const struct cmd_wq *c = &cmd->wq;
	int ret = wq ? wq_modify_check(wq, c) : -EINVAL;

	if (ret)
		return ret;
	if (c->mask & WQ_FLAGS)
		wq->flags = (wq->flags & ~c->flags_mask) | (c->flags & c->flags_mask);
	if (c->mask & WQ_STATE) {
		wq->state = c->state;
		if (c->state == WQS_RESET)
			wq->cons = 0;
	}
	if (wq->state == WQS_ERR)
		wq_flush(e, wq);
	return 0;
}

int cmd_destroy_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct hca_wq *wq = own_wq(hca, client, cmd->handle);

	if (!wq)
		return -EINVAL;
	if (wq->refs)
		return -EBUSY;
	hca->pd[wq->pd].refs--;
	hca->cq[wq->cq].refs--;
	tab_free(hca, TAB_WQ, cmd->handle);
	return 0;
}

int cmd_create_ind(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct cmd_ind *c = &cmd->ind;
	const struct hca_wq *wq;
	struct hca_ind *t;
	u32 n, j;
	int i;

	if (!own_dev(hca, client, c->dev) || c->log_size >= 32)
		return -EINVAL;
	n = 1u << c->log_size;
	if (n > LIM_IND || n > lim_of(hca, c->dev)->max_ind_size)
		return -EINVAL;
	for (j = 0; j < n; j++) {
		wq = own_wq(hca, client, c->wq[j]);
		if (!wq || wq->dev != c->dev)
			return -EINVAL;
	}
	i = tab_find(hca, TAB_IND, c->dev, lim_of(hca, c->dev)->max_ind);
	if (i < 0)
		return i;
	t = &hca->ind[i];
	memset(t, 0, sizeof(*t));
	t->n = n;
	for (j = 0; j < n; j++) {
		t->wq[j] = c->wq[j];
		hca->wq[c->wq[j]].refs++;
	}
	tab_own(hca, TAB_IND, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_destroy_ind(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct hca_ind *t = tab_owned(hca, TAB_IND, client, cmd->handle);
	u32 j;

	if (!t)
		return -EINVAL;
	if (t->refs)
		return -EBUSY;
	for (j = 0; j < t->n; j++)
		hca->wq[t->wq[j]].refs--;
	tab_free(hca, TAB_IND, cmd->handle);
	return 0;
}
