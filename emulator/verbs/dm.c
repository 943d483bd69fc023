/* SPDX-License-Identifier: MIT */
/**
 * DOC: device memory: allocation and ownership.
 *
 * The memory itself is a file that the context's descriptor refers to, at an offset that follows
 * from the handle (libshim/verbs/dm.c), so that every process with the descriptor can reach it.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

static u64 dm_used_bytes(const struct hca *hca, u32 dev)
{
	u64 used = 0;
	u32 i;

	for (i = 0; i < hca->tab[TAB_DM].high; i++)
		if (hca->dm[i].client && hca->dm[i].dev == dev)
			used += hca->dm[i].len;
	return used;
}

int cmd_alloc_dm(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct cmd_dm *c = &cmd->dm;
	struct hca_dm *dm;
	int i;

	if (!own_dev(hca, client, c->dev) || !c->len || c->len > lim_of(hca, c->dev)->max_dm)
		return -EINVAL;
	if (c->len > lim_of(hca, c->dev)->max_dm - dm_used_bytes(hca, c->dev))
		return -ENOMEM;
	i = tab_find(hca, TAB_DM, c->dev, HCA_MAX_DM);
	if (i < 0)
		return i;
	dm = &hca->dm[i];
	dm->refs = 0;
	dm->len = c->len;
	dm->ctx = c->ctx;
	tab_own(hca, TAB_DM, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	return 0;
}

struct hca_dm *dm_find_imported(struct hca *hca, u32 client, u32 handle, u64 ctx)
{
	struct hca_dm *dm = handle && handle < HCA_MAX_DM ? &hca->dm[handle] : NULL;

	return dm && dm->client && dm->ctx == ctx && own_dev(hca, client, dm->dev) ? dm : NULL;
}

/* ibv_free_dm(3), ibv_import_dm(3): any process that shares it may free it. */
int cmd_free_dm(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_dm *dm = tab_owned(e->hca, TAB_DM, client, cmd->handle);

	if (!dm)
		dm = dm_find_imported(e->hca, client, cmd->handle, cmd->dm.ctx);
	if (!dm)
		return -ENOENT;
	if (dm->refs)
		return -EBUSY;
	tab_free(e->hca, TAB_DM, cmd->handle);
	return 0;
}

void dm_hand_over(struct hca *hca, u32 owner)
{
	u32 i;

	for (i = 0; hca->client[owner - 1].n[TAB_DM] && i < hca->tab[TAB_MR].high; i++) {
		const struct hca_mr *mr = &hca->mr[i];

		if (mr->client && mr->client != owner && mr->kind < MW_1 && mr->dm &&
		    hca->dm[mr->dm - 1].client == owner)
			tab_hand_over(hca, TAB_DM, mr->dm - 1, mr->client - 1);
	}
}
