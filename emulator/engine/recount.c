/* SPDX-License-Identifier: MIT */
/**
 * DOC: counts: how many objects there are, and how many refer to each.
 *
 * They are the one thing that a killed command can leave wrong, so they are counted anew then.
 */
#include "emulator/engine/recount.h"
#include "emulator/qp.h"
#include "emulator/queue/tag.h"
#include "emulator/tab.h"
#include "emulator/verbs/verbs.h"

static void qp_count(struct hca *hca, u32 i, int d)
{
	qp_refs_add(hca, &hca->qp[i], d);
}

static void srq_count(struct hca *hca, u32 i, int d)
{
	const struct hca_srq *srq = &hca->srq[i];

	hca->pd[srq->pd].refs += (u32)d;
	if (srq->cq)
		hca->cq[srq->cq - 1].refs += (u32)d;
	if (srq->xrcd)
		hca->xrcd[srq->xrcd - 1].refs += (u32)d;
	ref_use(hca, srq->xref, d);
}

static void wq_count(struct hca *hca, u32 i, int d)
{
	hca->pd[hca->wq[i].pd].refs += (u32)d;
	hca->cq[hca->wq[i].cq].refs += (u32)d;
}

static void ind_count(struct hca *hca, u32 i, int d)
{
	u32 j;

	for (j = 0; j < hca->ind[i].n; j++)
		hca->wq[hca->ind[i].wq[j]].refs += (u32)d;
}

static void mr_count(struct hca *hca, u32 i, int d)
{
	const struct hca_mr *mr = &hca->mr[i];

	if (mr_holds_pd(mr))
		hca->pd[mr->pd].refs += (u32)d;
	if (mr->dm)
		hca->dm[mr->dm - 1].refs += (u32)d;
	if (mr->kind < MW_1)
		return;
	hca->dev[mr->dev].n_mw += (u32)d;
	if (!mr->key)
		return;
	hca->mr[mr->mr - 1].windows += (u32)d;
	if (mr->kind == MW_2 && hca_qp_by_num(hca, mr->qpn))
		hca_qp_by_num(hca, mr->qpn)->n_mw += (u32)d;
}

static void ah_count(struct hca *hca, u32 i, int d)
{
	hca->pd[hca->ah[i].pd].refs += (u32)d;
}

static void flow_count(struct hca *hca, u32 i, int d)
{
	if (hca->flow[i].counters)
		hca->ctr[hca->flow[i].counters - 1].refs += (u32)d;
}

static void ref_count(struct hca *hca, u32 i, int d)
{
	const struct hca_ref *r = &hca->ref[i];

	ref_use(hca, r->xref, d);
	if (r->kind == REF_XRCD)
		hca->xrcd[r->index].opens += (u32)d;
}

static void (*const counters[TAB_COUNT])(struct hca *hca, u32 i, int d) = {
	[TAB_QP] = qp_count, [TAB_SRQ] = srq_count, [TAB_WQ] = wq_count,     [TAB_IND] = ind_count,
	[TAB_MR] = mr_count, [TAB_AH] = ah_count,   [TAB_FLOW] = flow_count, [TAB_REF] = ref_count,
};

void obj_refs_add(struct hca *hca, enum hca_table t, u32 i, int d)
{
	if (counters[t])
		counters[t](hca, i, d);
}

static void counts_clear(struct hca *hca)
{
	u32 i;

	for (i = 0; i < hca->tab[TAB_PD].high; i++)
		hca->pd[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_MR].high; i++)
		hca->mr[i].windows = 0;
	for (i = 0; i < hca->tab[TAB_DM].high; i++)
		hca->dm[i].refs = 0;
	for (i = 0; i < hca->n_devs; i++)
		hca->dev[i].n_mw = 0;
	for (i = 0; i < hca->tab[TAB_CQ].high; i++)
		hca->cq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_SRQ].high; i++)
		hca->srq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_XRCD].high; i++)
		hca->xrcd[i].opens = hca->xrcd[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_WQ].high; i++)
		hca->wq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_IND].high; i++)
		hca->ind[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_CTR].high; i++)
		hca->ctr[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		hca->qp[i].n_mw = 0;
	for (i = 0; i < hca->tab[TAB_REF].high; i++)
		hca->ref[i].uses = 0;
}

void hca_recount(struct hca *hca)
{
	u32 t, i;

	for (t = 0; t < TAB_COUNT; t++)
		tab_recount(hca, t);
	counts_clear(hca);
	tm_recount(hca);
	for (t = 0; t < TAB_COUNT; t++)
		for (i = 0; counters[t] && i < hca->tab[t].high; i++)
			if (tab_at(hca, t, i)->client)
				counters[t](hca, i, 1);
}
