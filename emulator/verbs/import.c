/* SPDX-License-Identifier: MIT */
/**
 * DOC: objects imported from other contexts: ibv_import_pd(3), ibv_import_mr(3), ibv_import_dm(3).
 *
 * A context is identified by a random number, which its descriptor holds (libshim/verbs/import.c):
 * a process that was given the descriptor knows the number. An import needs no permission and does
 * not keep an object from being destroyed; processes that share one have to agree on that.
 *
 * A client has one reference per imported PD, however often it has imported it. It stays after the
 * last ibv_unimport_pd(3) while the PD contains objects, so that a PD whose owner dies finds its
 * next owner (recover.c). Regions need no reference: they come with their PD.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

static struct hca_ref *pd_import_ref(struct hca *hca, u32 client, u32 pd)
{
	u32 i;

	for (i = 0; i < hca->tab[TAB_REF].high; i++) {
		struct hca_ref *r = &hca->ref[i];

		if (r->client == client + 1 && r->kind == REF_PD && r->index == pd)
			return r;
	}
	return NULL;
}

bool pd_is_imported(const struct hca *hca, u32 client, u32 pd)
{
	const struct hca_ref *r = pd_import_ref((struct hca *)hca, client, pd);

	return r && r->n;
}

void pd_free_import_refs(struct hca *hca, u32 pd)
{
	u32 i;

	for (i = 0; hca->tab[TAB_REF].n && i < hca->tab[TAB_REF].high; i++) {
		struct hca_ref *r = &hca->ref[i];

		if (r->client && r->kind == REF_PD && r->index == pd)
			tab_free(hca, TAB_REF, i);
	}
}

static int import_pd(struct hca *hca, u32 client, struct hca_cmd *cmd)
{
	const struct cmd_import *c = &cmd->import;
	struct hca_pd *pd = c->index && c->index < HCA_MAX_PD ? &hca->pd[c->index] : NULL;
	struct hca_ref *r;
	int i;

	if (!pd || !pd->client || pd->ctx != c->ctx || !own_dev(hca, client, pd->dev))
		return -ENOENT;
	r = pd_import_ref(hca, client, c->index);
	if (!r) {
		i = ref_new(hca, client, pd->dev, REF_PD, c->index, 0);
		if (i < 0)
			return i;
		r = &hca->ref[i];
	}
	r->n++;
	cmd->handle = (u32)(r - hca->ref);
	return 0;
}

static int import_mr(struct hca *hca, u32 client, struct cmd_import *c)
{
	const struct hca_mr *mr = c->index && c->index < HCA_MAX_MR ? &hca->mr[c->index] : NULL;

	if (!mr || !mr->client || mr->kind > MR_NULL || !mr->key || !own_pd(hca, client, mr->pd))
		return -ENOENT;
	c->len = mr->len;
	c->key = mr->key;
	c->null = mr->kind == MR_NULL;
	return 0;
}

static int import_dm(struct hca *hca, u32 client, struct cmd_import *c)
{
	const struct hca_dm *dm = dm_find_imported(hca, client, c->index, c->ctx);

	if (!dm)
		return -ENOENT;
	c->len = dm->len;
	return 0;
}

int cmd_import(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	switch (cmd->import.kind) {
	case IMPORT_FABRIC:
		cmd->import.fabric = e->hca->seed ^ (u64)e->hca->fabric_pid << 32;
		return 0;
	case IMPORT_PD:
		return import_pd(e->hca, client, cmd);
	case IMPORT_MR:
		return import_mr(e->hca, client, &cmd->import);
	case IMPORT_DM:
		return import_dm(e->hca, client, &cmd->import);
	default:
		return -EINVAL;
	}
}

int cmd_unimport(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_ref *r = tab_owned(e->hca, TAB_REF, client, cmd->handle);

	if (!r || r->kind != REF_PD || !r->n)
		return -EINVAL;
	if (!--r->n && !e->hca->pd[r->index].refs)
		tab_free(e->hca, TAB_REF, cmd->handle);
	return 0;
}
