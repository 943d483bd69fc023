/* SPDX-License-Identifier: MIT */
/**
 * DOC: enhanced connection establishment (ECE), order of data, and packet pacing of QPs.
 *
 * ECE lets the ends of a connection agree on vendor features beyond the standard. The emulated
 * device has none: its options are always 0, whatever the peer offers.
 */
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/qp.h"

/* The ECE verbs set errno as well, as in libibverbs. */
static int fail_errno(int err)
{
	errno = err;
	return err;
}

/** ibv_query_ece() - ibv_query_ece(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_query_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece))
{
	struct shim_context *ctx = shim_qp_context(qp);

	if (call_fails(CALL_ibv_query_ece))
		return errno;
	if (!ctx)
		return fail_errno(EINVAL);
	ece->vendor_id = ctx->dev->info.lim.vendor_id;
	ece->options = 0;
	ece->comp_mask = 0;
	return 0;
}

/**
 * ibv_set_ece() - ibv_set_ece(3): writes back the accepted options of @ece: none.
 * Return: 0 or errno value (EINVAL: another vendor's options; EOPNOTSUPP, as in libibverbs: no
 * vendor).
 */
ERRNO_EXPORT(ibv_set_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece))
{
	struct shim_context *ctx = shim_qp_context(qp);

	if (call_fails(CALL_ibv_set_ece))
		return errno;
	if (ctx && !ece->vendor_id)
		return fail_errno(EOPNOTSUPP);
	if (!ctx || ece->comp_mask || ece->vendor_id != ctx->dev->info.lim.vendor_id)
		return fail_errno(EINVAL);
	if (ctx->dead)
		return fail_errno(EIO);
	ece->options = 0;
	return 0;
}

/**
 * ibv_query_qp_data_in_order() - ibv_query_qp_data_in_order(3): the last bytes of a message land
 * last, but there is no order among the others, nor in aligned pieces, which newer libraries ask
 * about by a flag.
 * Return: 0. There are no errors.
 */
SHIM_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/**
 * shim_modify_qp_rate_limit() - ibv_modify_qp_rate_limit(3). typical_pkt_sz is a hint to hardware.
 * Return: 0, EOPNOTSUPP: packet_pacing_caps are 0; EINVAL: as mlx5 and the kernel have it.
 */
ERRNO_VERB(shim_modify_qp_rate_limit, (struct ibv_qp * qp, struct ibv_qp_rate_limit_attr *attr),
	   (qp, attr))
{
	struct shim_context *ctx = shim_qp_context(qp);
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP };

	if (call_fails(CALL_ibv_modify_qp_rate_limit))
		return errno;
	if (!ctx)
		return shim_unknown(qp);
	if (attr->comp_mask)
		return EINVAL;
	if (!ctx->dev->info.lim.rate_limit_max)
		return EOPNOTSUPP;
	if ((attr->max_burst_sz || attr->typical_pkt_sz) && !attr->rate_limit)
		return EINVAL;
	cmd.handle = qp->handle;
	cmd.mod.mask = QPA_RATE_LIMIT;
	cmd.mod.opened = to_qp(qp)->opened;
	cmd.mod.attr.rate_limit = attr->rate_limit;
	cmd.mod.attr.max_burst = attr->max_burst_sz;
	return -shim_obj_cmd(ctx, &cmd);
}
