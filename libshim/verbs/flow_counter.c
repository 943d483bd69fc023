/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow counters: ibv_create_counters(3), ibv_attach_counters_point_flow(3),
 * ibv_read_counters(3).
 *
 * As with other providers, points are attached statically, before the first flow counts.
 */
#include "emulator/obj_eth.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/flow.h"
#include "libshim/verbs/objects.h"

_Static_assert((u32)IBV_COUNTER_PACKETS == (u32)CTR_PACKETS &&
		       (u32)IBV_COUNTER_BYTES == (u32)CTR_BYTES,
	       "descriptions are passed as they are");

struct shim_ctr *shim_counters_of(struct ibv_counters *counters)
{
	struct shim_ctr *c = (struct shim_ctr *)counters;

	return c && c->magic == MAGIC_CTR ? c : NULL;
}

/** shim_create_counters() - Return: counters, or NULL with errno. */
struct ibv_counters *shim_create_counters(struct ibv_context *ibctx,
					  struct ibv_counters_init_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_CREATE_COUNTERS };
	struct shim_ctr *c;

	if (call_fails(CALL_ibv_create_counters))
		return NULL;
	if (!ctx)
		return NULL;
	if (attr->comp_mask)
		return fail_null(-EOPNOTSUPP);
	cmd.ctr.dev = ctx->dev->info.index;
	c = shim_obj_new(ctx, sizeof(*c), &cmd);
	if (!c)
		return NULL;
	c->counters.context = ibctx;
	c->handle = cmd.handle;
	c->magic = MAGIC_CTR;
	return &c->counters;
}

/** shim_destroy_counters() - Return: 0 or errno value; EBUSY while a flow counts. */
ERRNO_VERB(shim_destroy_counters, (struct ibv_counters * counters), (counters))
{
	struct shim_ctr *c = shim_counters_of(counters);
	struct shim_context *ctx = c ? shim_context_of(counters->context) : NULL;

	if (call_fails(CALL_ibv_destroy_counters))
		return errno;
	if (!ctx)
		return shim_unknown(counters);
	return shim_obj_end(ctx, c, &c->magic, CMD_DESTROY_COUNTERS, c->handle);
}

/** shim_attach_counters_point_flow() - Return: 0 or errno value; ENOTSUP for a flow that exists. */
ERRNO_VERB(shim_attach_counters_point_flow,
	   (struct ibv_counters * counters, struct ibv_counter_attach_attr *attr,
	    struct ibv_flow *flow),
	   (counters, attr, flow))
{
	struct shim_ctr *c = shim_counters_of(counters);
	struct shim_context *ctx = c ? shim_context_of(counters->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_ATTACH_COUNTERS };

	if (call_fails(CALL_ibv_attach_counters_point_flow))
		return errno;
	if (!ctx)
		return EINVAL;
	if (flow || attr->comp_mask)
		return ENOTSUP;
	cmd.handle = c->handle;
	cmd.ctr.what = attr->counter_desc;
	cmd.ctr.index = attr->index;
	return -shim_obj_cmd(ctx, &cmd);
}

/** shim_read_counters() - Return: 0 or errno value; EINVAL while no flow counts. */
ERRNO_VERB(shim_read_counters,
	   (struct ibv_counters * counters, uint64_t *values, uint32_t n, uint32_t flags),
	   (counters, values, n, flags))
{
	struct shim_ctr *c = shim_counters_of(counters);
	struct shim_context *ctx = c ? shim_context_of(counters->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_READ_COUNTERS };
	u32 i;
	int ret;

	if (call_fails(CALL_ibv_read_counters))
		return errno;
	if (!ctx)
		return shim_unknown(counters);
	if (flags & ~(u32)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	cmd.handle = c->handle;
	cmd.ctr.n = n;
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return -ret;
	for (i = 0; i < n; i++)
		values[i] = i < CTR_POINTS ? cmd.ctr.value[i] : 0;
	return 0;
}
