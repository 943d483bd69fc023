/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive work queues and indirection tables.
 */
#include "emulator/model.h"

int cmd_create_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_modify_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_destroy_wq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_create_ind(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}

int cmd_destroy_ind(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}
