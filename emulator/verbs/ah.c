/* SPDX-License-Identifier: MIT */
/** DOC: address handles. */
#include "emulator/av.h"
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

int cmd_create_ah(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_pd *pd = own_pd(hca, client, cmd->ah.pd);
	struct hca_ah *ah;
	int i, ret;

	if (!pd)
		return -EINVAL;
	/* RoCE has no addresses but GIDs (IBTA A16.4.3). */
	if (hca->dev[pd->dev].link_layer == LINK_ETHERNET && !cmd->ah.av.is_global)
		return -EINVAL;
	ret = av_check(hca, client, pd->dev, &cmd->ah.av);
	if (ret)
		return ret;
	i = tab_find(hca, TAB_AH, pd->dev, lim_of(hca, pd->dev)->max_ah);
	if (i < 0)
		return i;
	ah = &hca->ah[i];
	ah->pd = cmd->ah.pd;
	ah->av = cmd->ah.av;
	pd->refs++;
	tab_own(hca, TAB_AH, (u32)i, client, pd->dev);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_destroy_ah(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_ah *ah = tab_owned(e->hca, TAB_AH, client, cmd->handle);

	if (!ah)
		return -EINVAL;
	e->hca->pd[ah->pd].refs--;
	tab_free(e->hca, TAB_AH, cmd->handle);
	return 0;
}
