/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast groups of identifiers.
 *
 * Reading the event of a join attaches the identifier's QP, if it has one, to the group, unless the
 * program only sends to it. Each group counts its own events, since the program may leave it before
 * it destroys the identifier.
 */
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

void ucma_mcast_free(struct ucma_mcast *mc)
{
	pthread_cond_destroy(&mc->cond);
	free(mc);
}

void ucma_mcast_link(struct ucma_id *id, struct ucma_mcast *mc)
{
	pthread_mutex_lock(&id->mut);
	mc->next = id->mc;
	id->mc = mc;
	pthread_mutex_unlock(&id->mut);
}

void ucma_mcast_unlink(struct ucma_id *id, struct ucma_mcast *mc)
{
	struct ucma_mcast **p;

	pthread_mutex_lock(&id->mut);
	for (p = &id->mc; *p && *p != mc; p = &(*p)->next)
		;
	if (*p)
		*p = mc->next;
	pthread_mutex_unlock(&id->mut);
}

int ucma_mcast_joined(struct ucma_mcast *mc, struct ucma_event *ev)
{
	const struct ibv_ah_attr *ah = &ev->event.param.ud.ah_attr;
	struct ibv_qp *qp = mc->id->id.qp;
	int ret;

	mc->mgid = ah->grh.dgid;
	mc->mlid = ah->dlid;
	if (!qp || mc->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return 0;
	ret = ibv_attach_mcast(qp, &mc->mgid, mc->mlid);
	if (ret)
		return fail_minus(-ret);
	mc->attached = true;
	return 0;
}

struct ucma_mcast *ucma_mcast_take(struct ucma_id *id, const struct sockaddr *addr, socklen_t len)
{
	struct ucma_mcast **p, *mc;

	pthread_mutex_lock(&id->mut);
	for (p = &id->mc; *p && memcmp(&(*p)->addr, addr, len) != 0; p = &(*p)->next)
		;
	mc = *p;
	if (mc)
		*p = mc->next;
	pthread_mutex_unlock(&id->mut);
	return mc;
}

void ucma_mcast_free_all(struct ucma_id *id)
{
	struct ucma_mcast *mc;

	while ((mc = id->mc)) {
		id->mc = mc->next;
		ucma_mcast_free(mc);
	}
}
