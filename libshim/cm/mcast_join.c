/* SPDX-License-Identifier: MIT */
/**
 * DOC: joining and leaving multicast groups.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/cm/addr.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

/* @fail: as in struct cmd_cm */
static int mcast_join(struct rdma_cm_id *ibid, const struct sockaddr *addr, u32 flags,
		      void *context, s32 fail)
{
	struct ucma_id *id = ucma_id_of(ibid);
	socklen_t len = ucma_addr_len(addr);
	struct hca_cmd cmd = { .cm.fail = fail };
	struct ucma_mcast *mc;
	int err;

	if (!id)
		return -1;
	if (!len)
		return fail_minus(-EINVAL);
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -1;
	mc->id = id;
	mc->context = context;
	mc->join_flags = flags;
	memcpy(&mc->addr, addr, len);
	pthread_cond_init(&mc->cond, NULL);
	/* First, since the event may be read before the command returns. */
	ucma_mcast_link(id, mc);
	ucma_addr_from_sa(&cmd.cm.dst, addr);
	cmd.cm.flags = flags;
	cmd.cm.context = (uintptr_t)mc;
	if (ucma_id_cmd(id, CMD_CM_JOIN, &cmd)) {
		err = errno;
		ucma_mcast_unlink(id, mc);
		ucma_mcast_free(mc);
		return fail_minus(-err);
	}
	return ucma_complete(id);
}

/** rdma_join_multicast() - rdma_join_multicast(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	s32 fail;

	if (call_fails_with_event(CALL_rdma_join_multicast, &fail))
		return -1;
	return mcast_join(id, addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context, fail);
}

/** rdma_join_multicast_ex() - rdma_join_multicast_ex(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				       void *context)
{
	u32 need = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (call_fails(CALL_rdma_join_multicast_ex))
		return -1;
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return fail_minus(-ENOTSUP);
	if ((attr->comp_mask & need) != need || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return fail_minus(-EINVAL);
	return mcast_join(id, attr->addr, attr->join_flags, context, 0);
}

/* The library itself acknowledges the latest event of a synchronous identifier. */
static void mcast_ack_own_event(struct rdma_cm_id *id, const struct ucma_mcast *mc)
{
	struct ucma_event *ev = (struct ucma_event *)id->event;

	if (!to_ucma_id(id)->sync || !ev || ev->mc != mc)
		return;
	ucma_event_ack(id->event);
	id->event = NULL;
}

/**
 * rdma_leave_multicast() - rdma_leave_multicast(3). Waits until the events of the group that were
 * read have been acknowledged. Return: 0, or -1 with errno (EADDRNOTAVAIL: not joined).
 */
SHIM_EXPORT int rdma_leave_multicast(struct rdma_cm_id *ibid, struct sockaddr *addr)
{
	struct ucma_id *id = ucma_id_of(ibid);
	socklen_t len = ucma_addr_len(addr);
	struct hca_cmd cmd = { .op = CMD_CM_LEAVE };
	struct ucma_mcast *mc;
	int ret, given;

	if (call_fails(CALL_rdma_leave_multicast))
		return -1;
	if (!id)
		return -1;
	if (!len)
		return fail_minus(-EINVAL);
	mc = ucma_mcast_take(id, addr, len);
	if (!mc)
		return fail_minus(-EADDRNOTAVAIL);
	if (ibid->qp && mc->attached)
		ibv_detach_mcast(ibid->qp, &mc->mgid, mc->mlid);
	ucma_addr_from_sa(&cmd.cm.dst, addr);
	cmd.cm.context = (uintptr_t)mc;
	ret = ucma_id_check(id);
	if (!ret)
		ret = ucma_chan_drop_cmd(id, &cmd, true, NULL);
	mcast_ack_own_event(ibid, mc);
	pthread_mutex_lock(&id->mut);
	/* The HCA's count includes events that another thread has just taken. */
	given = ret ? mc->delivered : (int)cmd.cm.reported;
	while (mc->events_completed < given)
		pthread_cond_wait(&mc->cond, &id->mut);
	pthread_mutex_unlock(&id->mut);
	ucma_mcast_free(mc);
	return ret ? fail_minus(ret) : 0;
}
