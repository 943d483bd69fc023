/* SPDX-License-Identifier: MIT */
/**
 * DOC: moderation of CQs, the one attribute that can be modified. The engine does the counting.
 */
#include "libshim/client/call_fault.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

/** shim_modify_cq() - ibv_modify_cq(3). Return: 0 or errno value (EINVAL: beyond cq_mod_caps). */
int shim_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct shim_cq *cq = to_cq(ibcq);
	struct shim_context *ctx =
		cq && cq->magic == MAGIC_CQ ? shim_context_of(ibcq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_MODIFY_CQ };

	if (call_fails(CALL_ibv_modify_cq))
		return errno;
	if (!ctx || attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	cmd.handle = ibcq->handle;
	cmd.cq.mod_count = attr->moderate.cq_count;
	cmd.cq.mod_period = attr->moderate.cq_period;
	return -shim_obj_cmd(ctx, &cmd);
}
