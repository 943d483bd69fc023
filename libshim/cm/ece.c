/* SPDX-License-Identifier: MIT */
/**
 * DOC: enhanced connection establishment (ECE) for identifiers whose QP is the program's.
 *
 * The vendor options of the two ends travel in REQ, REP and REJ.
 */
#include "emulator/cm/cm.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/qp.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

/* IBTA 12.6.7.2, enum ib_cm_rej_reason. */
#define REJ_VENDOR_OPTION_NOT_SUPPORTED 35

/** rdma_set_local_ece() - rdma_set_local_ece(3). Return: 0, or -1 with errno EINVAL. */
SHIM_EXPORT int rdma_set_local_ece(struct rdma_cm_id *ibid, struct ibv_ece *ece)
{
	struct ucma_id *id = ucma_id_of(ibid);

	if (call_fails(CALL_rdma_set_local_ece))
		return -1;
	if (!id)
		return -1;
	if (ibid->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return fail_minus(-EINVAL);
	id->local_ece.vendor_id = ece->vendor_id;
	id->local_ece.options = ece->options;
	return 0;
}

/** rdma_get_remote_ece() - rdma_get_remote_ece(3). Return: 0, or -1 with errno EINVAL. */
SHIM_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *ibid, struct ibv_ece *ece)
{
	struct ucma_id *id = ucma_id_of(ibid);

	if (call_fails(CALL_rdma_get_remote_ece))
		return -1;
	if (!id)
		return -1;
	if (ibid->qp || !ece)
		return fail_minus(-EINVAL);
	ece->vendor_id = id->remote_ece.vendor_id;
	ece->options = id->remote_ece.options;
	ece->comp_mask = 0;
	return 0;
}

int ucma_reject(struct ucma_id *id, u32 reason, const void *data, u8 len)
{
	struct hca_cmd cmd = { 0 };

	if (!data)
		len = 0;
	if (len > CM_REJ_DATA)
		return fail_minus(-EINVAL);
	cmd.cm.reason = reason;
	cmd.cm.has_param = 1;
	cmd.cm.param.data_len = len;
	if (len)
		memcpy(cmd.cm.param.data, data, len);
	return ucma_id_cmd(id, CMD_CM_REJECT, &cmd);
}

/**
 * rdma_reject_ece() - rdma_reject(3), because of the peer's ECE options.
 * Return: 0, or -1 with errno.
 */
SHIM_EXPORT int rdma_reject_ece(struct rdma_cm_id *ibid, const void *data, uint8_t len)
{
	struct ucma_id *id = ucma_id_of(ibid);

	if (call_fails(CALL_rdma_reject_ece))
		return -1;
	return id ? ucma_reject(id, REJ_VENDOR_OPTION_NOT_SUPPORTED, data, len) : -1;
}
