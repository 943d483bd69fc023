/* SPDX-License-Identifier: MIT */
/**
 * DOC: protection domains and memory regions. emulator/mem.c checks keys.
 *
 * A key is the slot's index << 8 with a low byte that increases, so a stale key is refused until
 * 256 keys later. lkey and rkey are the same number, as on most HCAs, and stay the same when a
 * region is re-registered.
 */
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define MR_PAGE 4096u

struct hca_pd *own_pd(struct hca *hca, u32 client, u32 handle)
{
	struct hca_pd *pd = tab_owned(hca, TAB_PD, client, handle);

	if (likely(pd) || !hca->client[client].n[TAB_REF])
		return pd;
	return pd_is_imported(hca, client, handle) ? &hca->pd[handle] : NULL;
}

int cmd_alloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	u32 dev = cmd->dev;
	int i;

	if (!own_dev(hca, client, dev))
		return -EINVAL;
	i = tab_find(hca, TAB_PD, dev, lim_of(hca, dev)->max_pd);
	if (i < 0)
		return i;
	hca->pd[i].refs = 0;
	hca->pd[i].ctx = cmd->ctx;
	tab_own(hca, TAB_PD, (u32)i, client, dev);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_dealloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_pd *pd = own_pd(e->hca, client, cmd->handle);

	if (!pd)
		return -EINVAL;
	if (pd->refs)
		return -EBUSY;
	pd_free_import_refs(e->hca, cmd->handle);
	tab_free(e->hca, TAB_PD, cmd->handle);
	return 0;
}

/* ibv_reg_mr(3): remote write and remote atomic need local write. */
static int mr_check_access_flags(u32 access)
{
	if (access & ~ACC_KNOWN)
		return -EINVAL;
	if ((access & (ACC_REMOTE_WRITE | ACC_REMOTE_ATOMIC)) && !(access & ACC_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/*
 * Rights that the device lacks. ib_check_mr_access() refuses placement types without their
 * capability, and rxe persistence of memory that is not persistent.
 */
static int mr_check_device(const struct hca_limits *lim, u32 access)
{
	if ((access & ACC_ON_DEMAND) && !lim->odp)
		return -EOPNOTSUPP;
	if ((access & ACC_FLUSH_GLOBAL) && !(lim->caps & CAP_FLUSH_GLOBAL))
		return -EOPNOTSUPP;
	if (!(access & ACC_FLUSH_PERSISTENT))
		return 0;
	if (!(lim->caps & CAP_FLUSH_PERSISTENT))
		return -EOPNOTSUPP;
	return lim->pmem ? 0 : -EINVAL;
}

/*
 * The kernel refuses to pin no page (ib_umem_get()): zero bytes at a page's start. Zero bytes
 * within a page pin that page.
 */
static int mr_check_range(const struct hca_limits *lim, const struct cmd_reg_mr *c)
{
	if (c->len > lim->max_mr_size)
		return -EINVAL;
	if (!c->len && !c->dm && !(c->addr & (MR_PAGE - 1)) && !lim->empty_mr)
		return -EINVAL;
	return c->addr + c->len < c->addr || c->iova + c->len < c->iova ? -EINVAL : 0;
}

int mr_find_slot(struct hca *hca, const struct cmd_reg_mr *c, u32 dev, u32 limit)
{
	return c->key ? tab_want(hca, TAB_MR, dev, limit, c->key >> 8)
		      : tab_find(hca, TAB_MR, dev, limit);
}

u32 mr_next_key(const struct hca *hca, const struct hca_mr *mr)
{
	return (u32)(mr - hca->mr) << 8 | ((mr->last_key + 1) & 0xff);
}

/* Check the region's memory: the client's, none, or device memory. */
static int mr_check_kind(struct hca *hca, u32 client, const struct cmd_reg_mr *c)
{
	const struct hca_dm *dm;

	if (c->kind != MR_USER && c->kind != MR_NULL)
		return -EINVAL;
	if (!c->dm)
		return 0;
	dm = tab_owned(hca, TAB_DM, client, c->dm - 1);
	if (!dm)
		dm = dm_find_imported(hca, client, c->dm - 1, c->ctx);
	return dm && c->len <= dm->len ? 0 : -EINVAL;
}

int cmd_reg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_reg_mr *c = &cmd->mr;
	struct hca_pd *pd = own_pd(hca, client, c->pd);
	struct hca_mr *mr;
	int i;

	if (!pd || mr_check_access_flags(c->access) || mr_check_range(lim_of(hca, pd->dev), c) ||
	    mr_check_kind(hca, client, c))
		return -EINVAL;
	i = mr_check_device(lim_of(hca, pd->dev), c->access);
	if (i)
		return i;
	i = mr_find_slot(hca, c, pd->dev, lim_of(hca, pd->dev)->max_mr + hca->dev[pd->dev].n_mw);
	if (i < 0)
		return i;
	mr = &hca->mr[i];
	mr->kind = c->kind;
	mr->windows = 0;
	mr->pd = c->pd;
	mr->access = c->access;
	mr->addr = c->addr;
	mr->iova = c->iova;
	mr->len = c->len;
	mr->dm = c->dm;
	mr->key = mr->last_key = c->key ?: mr_next_key(hca, mr);
	if (mr_holds_pd(mr))
		pd->refs++;
	if (mr->dm)
		hca->dm[mr->dm - 1].refs++;
	tab_own(hca, TAB_MR, (u32)i, client, pd->dev);
	cmd->handle = (u32)i;
	c->key = mr->key;
	return 0;
}

/*
 * The region to be deregistered: the client's own, or an imported one, which is identified by its
 * key because its owner may have been faster.
 */
static struct hca_mr *own_mr(struct hca *hca, u32 client, u32 handle, u32 key)
{
	struct hca_mr *mr = tab_owned(hca, TAB_MR, client, handle);

	if (!mr && key >> 8 == handle)
		mr = hca_mr_by_key(hca, key);
	return mr && mr->kind <= MR_NULL &&
			       (mr->client == client + 1 || own_pd(hca, client, mr->pd))
		       ? mr
		       : NULL;
}

int cmd_rereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	enum { TRANSLATION = 1, PD = 2, ACCESS = 4 };
	struct hca *hca = e->hca;
	struct cmd_reg_mr *c = &cmd->mr;
	struct hca_mr *mr = own_mr(hca, client, cmd->handle, 0);
	struct hca_pd *pd = own_pd(hca, client, c->pd);
	int ret;

	if (!mr || mr->kind != MR_USER || mr->dm || !c->flags ||
	    (c->flags & ~(u32)(TRANSLATION | PD | ACCESS)))
		return -EINVAL;
	if ((c->flags & PD) && !pd)
		return -EINVAL;
	if ((c->flags & ACCESS) && mr_check_access_flags(c->access))
		return -EINVAL;
	ret = c->flags & ACCESS ? mr_check_device(lim_of(hca, mr->dev), c->access) : 0;
	if (ret)
		return ret;
	if ((c->flags & TRANSLATION) && mr_check_range(lim_of(hca, mr->dev), c))
		return -EINVAL;
	if (mr->windows)
		return -EBUSY;
	if (c->flags & PD) {
		hca->pd[mr->pd].refs--;
		pd->refs++;
		mr->pd = c->pd;
	}
	if (c->flags & ACCESS)
		mr->access = c->access;
	if (c->flags & TRANSLATION) {
		mr->addr = c->addr;
		mr->iova = c->iova;
		mr->len = c->len;
	}
	c->key = mr->key;
	return 0;
}

int cmd_dereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_mr *mr = own_mr(hca, client, cmd->handle, cmd->mr.key);

	if (!mr)
		return -EINVAL;
	if (mr->windows)
		return -EBUSY;
	mr->key = 0;
	if (mr_holds_pd(mr))
		hca->pd[mr->pd].refs--;
	if (mr->dm)
		hca->dm[mr->dm - 1].refs--;
	tab_free(hca, TAB_MR, cmd->handle);
	return 0;
}
