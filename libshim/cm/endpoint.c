/* SPDX-License-Identifier: MIT */
/**
 * DOC: endpoints: rdma_create_ep(3) makes an identifier with its addresses and QP in one call, and
 * rdma_get_request(3) waits for requests to one that listens. Their identifiers are synchronous.
 */
#include "libshim/client/call_fault.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <rdma/rdma_verbs.h>
#include <stdlib.h>

/* Timeout of resolving, for which rdma_create_ep(3) has no argument. */
#define RESOLVE_MS 2000

/* Bind the identifier, and keep @attr for the QPs of requests: rdma_get_request(). */
static int ep_set_up_passive(struct rdma_cm_id *id, const struct rdma_addrinfo *res,
			     struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr *keep;

	if (rdma_bind_addr(id, res->ai_src_addr))
		return -1;
	if (pd)
		id->pd = pd;
	if (!attr)
		return 0;
	keep = malloc(sizeof(*keep));
	if (!keep)
		return -1;
	*keep = *attr;
	keep->qp_type = res->ai_qp_type;
	to_ucma_id(id)->qp_init_attr = keep;
	return 0;
}

static int ep_set_route(struct rdma_cm_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_route_len)
		return rdma_resolve_route(id, RESOLVE_MS);
	if (rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
			    res->ai_route_len))
		return -1;
	return ucma_complete(to_ucma_id(id));
}

/* Keep the private data that precedes the program's. */
static int ep_set_connect_data(struct ucma_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_connect_len)
		return 0;
	id->connect = malloc(res->ai_connect_len);
	if (!id->connect)
		return -1;
	memcpy(id->connect, res->ai_connect, res->ai_connect_len);
	id->connect_len = res->ai_connect_len;
	return 0;
}

static int ep_set_up_active(struct rdma_cm_id *id, const struct rdma_addrinfo *res,
			    struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS) ||
	    ep_set_route(id, res))
		return -1;
	if (attr) {
		attr->qp_type = res->ai_qp_type;
		if (rdma_create_qp(id, pd, attr))
			return -1;
	}
	return ep_set_connect_data(to_ucma_id(id), res);
}

/** rdma_create_ep() - rdma_create_ep(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_create_ep(struct rdma_cm_id **idp, struct rdma_addrinfo *res,
			       struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int err;

	if (call_fails_early(CALL_rdma_create_ep))
		return -1;
	if (ucma_id_create(NULL, &id, NULL, res->ai_port_space, res->ai_qp_type))
		return -1;
	if (!(res->ai_flags & RAI_PASSIVE ? ep_set_up_passive(id, res, pd, attr)
					  : ep_set_up_active(id, res, pd, attr))) {
		*idp = id;
		return 0;
	}
	err = errno;
	rdma_destroy_ep(id);
	return fail_minus(-err);
}

/** rdma_destroy_ep() - rdma_destroy_ep(3): with its QP and SRQ. */
SHIM_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* Check that @event is a request, and give it a QP. Return: 0 or an errno value. */
static int ep_check_request(struct rdma_cm_id *listen, const struct rdma_cm_event *event)
{
	const struct ucma_id *id = to_ucma_id(listen);
	struct ibv_qp_init_attr attr;

	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->status)
		return abs(event->status);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return EINVAL;
	if (!id->qp_init_attr)
		return 0;
	attr = *id->qp_init_attr;
	return rdma_create_qp(event->id, listen->pd, &attr) ? errno : 0;
}

/**
 * rdma_get_request() - rdma_get_request(3): a request, whose event becomes its identifier's.
 * Another event, or a request that cannot get a QP, becomes the listener's event.
 * Return: 0, or -1 with errno (ECONNREFUSED: the identifier's own connection was rejected).
 */
SHIM_EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **idp)
{
	struct ucma_id *id = ucma_id_of(listen);
	struct rdma_cm_event *event;
	int err;

	if (call_fails(CALL_rdma_get_request))
		return -1;
	if (!id)
		return -1;
	if (!id->sync)
		return fail_minus(-EINVAL);
	if (listen->event) {
		ucma_event_ack(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	err = ep_check_request(listen, event);
	if (err) {
		listen->event = event;
		return fail_minus(-err);
	}
	*idp = event->id;
	event->id->event = event;
	return 0;
}
