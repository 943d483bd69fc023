/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow steering.
 */
#include "emulator/model.h"

int cmd_create_flow(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_destroy_flow(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}
