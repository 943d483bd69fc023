/* SPDX-License-Identifier: MIT */
/**
 * DOC: device memory.
 */
#include "emulator/model.h"

int cmd_alloc_dm(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_free_dm(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

void dm_reap(struct hca *hca, u32 client)
{
	(void)hca;
	(void)client;
}
