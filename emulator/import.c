/* SPDX-License-Identifier: MIT */
/**
 * DOC: objects imported from other contexts.
 */
#include "emulator/model.h"

int cmd_import(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_unimport(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}
