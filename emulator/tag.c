/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching, ibv_post_srq_ops(3).
 */
#include "emulator/model.h"

int cmd_srq_ops(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	(void)e;
	(void)client;
	(void)cmd;
	return -EOPNOTSUPP;
}
