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
#include "libshim/verbs/qp.h"

/* The ECE verbs set errno as well, as in libibverbs. */
static int fail_errno(int err)
{
	errno = err;
	return err;
}

/** ibv_query_ece() - ibv_query_ece(3). Return: 0 or errno value. */
SHIM_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
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
SHIM_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
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
 * shim_modify_qp_rate_limit() - ibv_modify_qp_rate_limit(3): packet_pacing_caps are 0.
 * Return: EOPNOTSUPP, or EINVAL if @qp is none of ours.
 */
int shim_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	if (call_fails(CALL_ibv_modify_qp_rate_limit))
		return errno;
	if (!shim_qp_context(qp) || attr->comp_mask)
		return EINVAL;
	return EOPNOTSUPP;
}
