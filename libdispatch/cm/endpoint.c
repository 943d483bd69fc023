/* SPDX-License-Identifier: MIT */
/*
 * Endpoints: rdma_create_ep(3) makes an identifier, binds or resolves it, and creates its queue
 * pair in one call of a library. So the library is chosen first, by the same rules as in bind.c. A
 * passive endpoint of a wildcard address listens with both libraries.
 */
#include "libdispatch/cm/cm.h"

#include <poll.h>
#include <stdlib.h>

CM_EXPORT(int, rdma_create_ep, struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	  struct ibv_qp_init_attr *qp_init_attr);
CM_EXPORT(void, rdma_destroy_ep, struct rdma_cm_id *id);
CM_EXPORT(int, rdma_get_request, struct rdma_cm_id *listen, struct rdma_cm_id **id);

static bool pd_is_emulated(const struct ibv_pd *pd)
{
	return is_emulated_device(pd->context->device);
}

/* Whether a library has the source address, by an identifier that is destroyed again. */
static enum cm_side source_side(struct sockaddr *src)
{
	struct rdma_cm_id *probe;
	enum cm_side side;

	if (rdma_create_id(NULL, &probe, NULL, RDMA_PS_TCP))
		return SIDE_REAL;
	side = cm_both_id_bind(cm_both_id_of(probe), src) ? SIDE_REAL
							  : cm_both_id_side(cm_both_id_of(probe));
	rdma_destroy_id(probe);
	return side;
}

/* Return: enum cm_bound: with which libraries the endpoint is made */
static u32 ep_sides(const struct rdma_addrinfo *res, const struct ibv_pd *pd)
{
	struct sockaddr *src = res->ai_src_len ? res->ai_src_addr : NULL;

	if (pd)
		return 1u << (pd_is_emulated(pd) ? SIDE_EMULATED : SIDE_REAL);
	if (res->ai_flags & RAI_PASSIVE && (!src || cm_addr_is_wildcard(src)))
		return CM_BOUND_BOTH;
	if (src && !cm_addr_is_wildcard(src))
		return 1u << source_side(src);
	return 1u << (res->ai_dst_len ? cm_destination_side(res->ai_dst_addr) : SIDE_REAL);
}

static int side_create_ep(struct rdma_cm_id **below, enum cm_side side, struct rdma_addrinfo *res,
			  struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return CM_SIDE_CALL(side, rdma_create_ep, below, res, pd, attr);
}

/* A passive endpoint gets its second library. The first has chosen the port. */
static int ep_add_emulated(struct cm_both_id *b, const struct rdma_addrinfo *res,
			   struct ibv_qp_init_attr *attr)
{
	struct sockaddr_storage src = b->id.route.addr.src_storage;
	struct rdma_addrinfo same_port = *res;

	same_port.ai_src_addr = (struct sockaddr *)&src;
	if (side_create_ep(&b->side[SIDE_EMULATED], SIDE_EMULATED, &same_port, NULL, attr))
		return -1;
	b->side[SIDE_EMULATED]->context = b;
	b->bound = CM_BOUND_BOTH;
	return cm_both_channel_set(cm_both_channel_of(b->id.channel), SIDE_EMULATED,
				   b->side[SIDE_EMULATED]->channel);
}

/**
 * rdma_create_ep() - rdma_create_ep(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			struct ibv_qp_init_attr *qp_init_attr)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0)), side;
	struct rdma_cm_id *below;
	struct cm_both_id *b;
	u32 sides;
	int err;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_create_ep, id, res, pd, qp_init_attr);
	sides = ep_sides(res, pd);
	side = sides & CM_BOUND_REAL ? SIDE_REAL : SIDE_EMULATED;
	if (side_create_ep(&below, side, res, pd, qp_init_attr)) {
		if (sides != CM_BOUND_BOTH || errno != ENODEV)
			return -1;
		side = SIDE_EMULATED;
		sides = CM_BOUND_EMULATED;
		if (side_create_ep(&below, side, res, pd, qp_init_attr))
			return -1;
	}
	b = cm_both_id_wrap(below, side, NULL, below->context);
	if (!b) {
		CM_SIDE_DO(side, rdma_destroy_ep, below);
		errno = ENOMEM;
		return -1;
	}
	if (sides == CM_BOUND_BOTH && ep_add_emulated(b, res, qp_init_attr)) {
		err = errno;
		rdma_destroy_ep(&b->id);
		errno = err;
		return -1;
	}
	*id = &b->id;
	return 0;
}

/** rdma_destroy_ep() - rdma_destroy_ep(3). */
void both_rdma_destroy_ep(struct rdma_cm_id *id)
{
	enum cm_side within = cm_side_of(id);
	struct cm_both_id *b;
	u32 side;

	if (within != SIDE_NONE) {
		CM_SIDE_DO(within, rdma_destroy_ep, id);
		return;
	}
	b = cm_both_id_of(id);
	cm_both_id_push(b);
	for (side = 0; side < SIDES; side++)
		if (b->side[side])
			CM_SIDE_DO(side, rdma_destroy_ep, b->side[side]);
	cm_both_id_free(b);
}

/* Wait for a request of either library. Return: that with one, or SIDE_NONE with errno */
static enum cm_side request_side(const struct cm_both_id *b)
{
	struct pollfd ready[SIDES];
	u32 side;

	if (b->bound != CM_BOUND_BOTH || !b->own)
		return cm_both_id_side(b);
	for (side = 0; side < SIDES; side++)
		ready[side] = (struct pollfd){ .fd = b->side[side]->channel->fd, .events = POLLIN };
	if (poll(ready, SIDES, -1) < 0)
		return SIDE_NONE;
	return ready[SIDE_REAL].revents ? SIDE_REAL : SIDE_EMULATED;
}

/* The call acknowledges the event of the library that it asks; that of the other one goes, too. */
static void request_begin(struct cm_both_id *b, enum cm_side side)
{
	cm_both_id_push(b);
	if (b->event.below && b->event.side != side)
		cm_both_id_ack(b);
	b->request = side;
}

/* A request that cannot get its queue pair is in the listener's event, with its identifier. */
static void request_failed(struct cm_both_id *b, enum cm_side side)
{
	const struct rdma_cm_event *event = b->side[side]->event;
	int saved = errno;

	if (event && cm_event_brings_id(event) && event->id->context == b)
		(void)cm_both_id_wrap(event->id, side, NULL, b->id.context);
	errno = saved;
}

/**
 * rdma_get_request() - rdma_get_request(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	enum cm_side within = cm_side_of(listen), side;
	struct rdma_cm_id *below;
	struct cm_both_id *b;
	int ret;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_get_request, listen, id);
	b = cm_both_id_of(listen);
	side = request_side(b);
	if (side == SIDE_NONE)
		return -1;
	request_begin(b, side);
	ret = CM_SIDE_CALL(side, rdma_get_request, b->side[side], &below);
	if (ret)
		request_failed(b, side);
	/* An event that is no request, or of one that has failed, is the listener's. */
	cm_both_id_pull(b);
	if (ret)
		return -1;
	b = cm_both_id_wrap(below, side, NULL, listen->context);
	if (!b) {
		CM_SIDE_DO(side, rdma_destroy_ep, below);
		errno = ENOMEM;
		return -1;
	}
	*id = &b->id;
	return 0;
}
