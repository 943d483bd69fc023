/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command dispatcher.
 */
#include "emulator/engine.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define CMD_ENTRY(op, fn) [CMD_##op] = cmd_##fn,
static cmd_fn *const commands[CMD_COUNT] = { HCA_COMMANDS(CMD_ENTRY) };

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
