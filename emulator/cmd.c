/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command dispatcher.
 */
#include "emulator/model.h"

static int cmd_nothing(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return 0;
}

typedef int (*cmd_fn)(struct engine *e, u32 client, struct hca_cmd *cmd);

static const cmd_fn commands[] = {
	[CMD_NOP] = cmd_nothing,	   [CMD_ALLOC_PD] = cmd_alloc_pd,
	[CMD_DEALLOC_PD] = cmd_dealloc_pd, [CMD_REG_MR] = cmd_reg_mr,
	[CMD_REREG_MR] = cmd_rereg_mr,	   [CMD_DEREG_MR] = cmd_dereg_mr,
	[CMD_CREATE_CQ] = cmd_create_cq,   [CMD_RESIZE_CQ] = cmd_resize_cq,
	[CMD_DESTROY_CQ] = cmd_destroy_cq, [CMD_CREATE_QP] = cmd_create_qp,
	[CMD_MODIFY_QP] = cmd_modify_qp,   [CMD_QUERY_QP] = cmd_query_qp,
	[CMD_DESTROY_QP] = cmd_destroy_qp, [CMD_CLOSE_DEVICE] = cmd_nothing,
};

int hca_cmd_exec(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	if (client >= HCA_MAX_CLIENTS || e->hca->client[client].state != CLIENT_LIVE)
		cmd->ret = -EIO;
	else if (cmd->op >= ARRAY_SIZE(commands))
		cmd->ret = -EOPNOTSUPP;
	else
		cmd->ret = commands[cmd->op](e, client, cmd);
	return cmd->ret;
}
