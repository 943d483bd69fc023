/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows, ibv_bind_mw(3).
 */
#include "emulator/model.h"

int cmd_alloc_mw(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_dealloc_mw(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int mw_invalidate(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, bool go)
{
	struct hca_mr *mr = hca_mr_by_key(hca, rkey);

	(void)qp;
	if (!mr || mr->pd != pd)
		return -EACCES;
	if (go)
		mr->key = 0;
	return 0;
}

u32 mw_bind(struct hca *hca, struct hca_qp *qp, const struct sq_wqe *w, u32 *info)
{
	(void)hca;
	(void)qp;
	*info = w->rkey;
	return WCS_MW_BIND_ERR;
}

bool mw_orphan(const struct hca *hca, const struct hca_mr *mw, u32 owner)
{
	return mw->client && mw->kind >= MW_1 && mw->mr && hca->mr[mw->mr - 1].client == owner;
}
