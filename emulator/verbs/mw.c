/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows (IBTA 10.6.7): allocation. transport/mw.c binds and invalidates them.
 *
 * Theory of operation
 * -------------------
 * A window is an entry of the table of regions; it is bound while it has a key. Its rights are
 * checked when it is bound: afterwards a request is checked against the window alone, and a region
 * with windows can be neither changed nor deregistered.
 *
 * Type 1 windows are bound any number of times by ibv_bind_mw(3), and unbound by a length of 0.
 * Type 2 windows are bound by posted work requests when they are free, and become free by an
 * invalidation; these are type 2B, tied to the QP that binds.
 *
 * A holder may die after it has changed a window and before the request is committed. The request
 * is then executed again, on a window that is already in its final state: @turn shows that this
 * very request has put it there.
 */
#include "emulator/engine.h"
#include "emulator/tab.h"
#include "emulator/transport/mw.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

int cmd_alloc_mw(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_reg_mr *c = &cmd->mr;
	struct hca_pd *pd = own_pd(hca, client, c->pd);
	struct hca_mr *mw;
	struct hca_dev *dev;
	int i;

	if (!pd || (c->kind != MW_1 && c->kind != MW_2))
		return -EINVAL;
	dev = &hca->dev[pd->dev];
	if (!dev->lim.max_mw ||
	    !(dev->lim.caps & (c->kind == MW_1 ? CAP_MEM_WINDOW : CAP_MW_TYPE_2B)))
		return -EOPNOTSUPP;
	i = mr_find_slot(hca, c, pd->dev, dev->n[TAB_MR] - dev->n_mw + dev->lim.max_mw);
	if (i < 0)
		return i;
	mw = &hca->mr[i];
	mw->kind = c->kind;
	mw->pd = c->pd;
	mw->access = 0;
	mw->key = 0;
	mw->mr = 0;
	mw->qpn = 0;
	mw->turn = 0;
	mw->dm = 0;
	mw->last_key = c->key ?: mr_next_key(hca, mw);
	pd->refs++;
	dev->n_mw++;
	tab_own(hca, TAB_MR, (u32)i, client, pd->dev);
	cmd->handle = (u32)i;
	c->key = mw->last_key;
	return 0;
}

void mw_unbind_qp(struct hca *hca, const struct hca_qp *qp)
{
	u32 i;

	for (i = 0; i < hca->tab[TAB_MR].high; i++) {
		struct hca_mr *mw = mw_find(hca, i);

		if (mw && mw->kind == MW_2 && mw->qpn == qp->qpn)
			mw_unbind(hca, mw);
	}
}

int cmd_dealloc_mw(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_mr *mw = tab_owned(hca, TAB_MR, client, cmd->handle);

	if (!mw || mw->kind < MW_1)
		return -EINVAL;
	mw_unbind(hca, mw);
	hca->pd[mw->pd].refs--;
	hca->dev[mw->dev].n_mw--;
	tab_free(hca, TAB_MR, cmd->handle);
	return 0;
}

bool mw_is_orphan(const struct hca *hca, const struct hca_mr *mw, u32 owner)
{
	return mw->client && mw->kind >= MW_1 && mw->key && hca->mr[mw->mr - 1].client == owner;
}
