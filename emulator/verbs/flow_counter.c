/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow counters: what rules with a count action have matched, ibv_create_counters(3).
 *
 * A counter point says which of the two values is added at which index. Points are attached before
 * the first rule counts, and values can be read while a rule does, as in the kernel.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

static struct hca_ctr *own_ctr(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_CTR, client, handle);
}

int cmd_create_counters(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	u32 dev = cmd->ctr.dev;
	struct hca_ctr *c;
	int i;

	if (!own_dev(hca, client, dev))
		return -EINVAL;
	i = tab_find(hca, TAB_CTR, dev, lim_of(hca, dev)->max_ctr);
	if (i < 0)
		return i;
	c = &hca->ctr[i];
	memset(c, 0, sizeof(*c));
	tab_own(hca, TAB_CTR, (u32)i, client, dev);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_destroy_counters(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_ctr *c = own_ctr(e->hca, client, cmd->handle);

	if (!c)
		return -EINVAL;
	if (c->refs)
		return -EBUSY;
	tab_free(e->hca, TAB_CTR, cmd->handle);
	return 0;
}

int cmd_attach_counters(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_ctr *c = own_ctr(e->hca, client, cmd->handle);

	if (!c)
		return -EINVAL;
	if (cmd->ctr.what > CTR_BYTES)
		return -EOPNOTSUPP;
	if (c->refs)
		return -EBUSY;
	if (cmd->ctr.index >= CTR_POINTS)
		return -EINVAL;
	if (c->n == CTR_POINTS)
		return -ENOMEM;
	c->what[c->n] = cmd->ctr.what;
	c->index[c->n] = cmd->ctr.index;
	c->n++;
	return 0;
}

int cmd_read_counters(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_ctr *c = own_ctr(e->hca, client, cmd->handle);
	u32 i;

	if (!c || !c->refs)
		return -EINVAL;
	for (i = 0; i < c->n; i++)
		if (c->index[i] >= cmd->ctr.n)
			return -EINVAL;
	memset(cmd->ctr.value, 0, sizeof(cmd->ctr.value));
	for (i = 0; i < c->n; i++)
		cmd->ctr.value[c->index[i]] += c->what[i] == CTR_BYTES ? c->bytes : c->packets;
	return 0;
}
