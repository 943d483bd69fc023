/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command dispatcher.
 */
#include "emulator/engine.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define CMD_ENTRY(op, fn) [CMD_##op] = cmd_##fn,
static cmd_fn *const commands[CMD_COUNT] = { HCA_COMMANDS(CMD_ENTRY) };

/* The table that a command takes a slot of, plus one. */
static const u8 cmd_tables[CMD_COUNT] = {
	[CMD_OPEN_DEV] = TAB_REF + 1,	     [CMD_ALLOC_PD] = TAB_PD + 1,
	[CMD_REG_MR] = TAB_MR + 1,	     [CMD_ALLOC_MW] = TAB_MR + 1,
	[CMD_CREATE_CQ] = TAB_CQ + 1,	     [CMD_CREATE_SRQ] = TAB_SRQ + 1,
	[CMD_CREATE_QP] = TAB_QP + 1,	     [CMD_OPEN_QP] = TAB_REF + 1,
	[CMD_CREATE_AH] = TAB_AH + 1,	     [CMD_ATTACH_MCAST] = TAB_MCAST + 1,
	[CMD_OPEN_XRCD] = TAB_REF + 1,	     [CMD_CREATE_WQ] = TAB_WQ + 1,
	[CMD_CREATE_IND] = TAB_IND + 1,	     [CMD_CREATE_FLOW] = TAB_FLOW + 1,
	[CMD_CREATE_COUNTERS] = TAB_CTR + 1, [CMD_ALLOC_DM] = TAB_DM + 1,
	[CMD_IMPORT] = TAB_REF + 1,	     [CMD_CM_OPEN_CHAN] = TAB_CMCH + 1,
	[CMD_CM_CREATE_ID] = TAB_CMID + 1,   [CMD_CM_JOIN] = TAB_CMMC + 1,
};

/* Whether a client may have one object more of the kind that the command makes, if it makes any. */
static bool cmd_has_share(const struct hca *hca, u32 client, u32 op)
{
	u32 t = cmd_tables[op];

	return !t || tab_has_share(hca, t - 1, client);
}

int hca_cmd_exec(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	if (client >= HCA_MAX_CLIENTS || e->hca->client[client].state != CLIENT_LIVE)
		cmd->ret = -EIO;
	else if (cmd->op >= ARRAY_SIZE(commands))
		cmd->ret = -EOPNOTSUPP;
	else if (unlikely(!cmd_has_share(e->hca, client, cmd->op)))
		cmd->ret = -ENOMEM;
	else
		cmd->ret = commands[cmd->op](e, client, cmd);
	return cmd->ret;
}
