/* SPDX-License-Identifier: MIT */
/*
 * Identifiers. Both libraries have one from the beginning, so that options and errors are theirs.
 * The one that the address does not choose stays unbound until the program destroys the identifier.
 */
#include "libdispatch/cm/cm.h"

#include <stdlib.h>

CM_EXPORT(int, rdma_create_id, struct rdma_event_channel *channel, struct rdma_cm_id **id,
	  void *context, enum rdma_port_space ps);
CM_EXPORT(int, rdma_destroy_id, struct rdma_cm_id *id);
CM_EXPORT(int, rdma_set_option, struct rdma_cm_id *id, int level, int optname, void *optval,
	  size_t optlen);

enum cm_side cm_both_id_side(const struct cm_both_id *b)
{
	if (b->bound == CM_BOUND_EMULATED || !b->side[SIDE_REAL])
		return SIDE_EMULATED;
	return SIDE_REAL;
}

static struct cm_both_id *id_alloc(void)
{
	struct cm_both_id *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->known.object = b;
	cm_known_add(&b->known);
	b->event.of = b;
	b->event.known.object = &b->event;
	cm_known_add(&b->event.known);
	return b;
}

void cm_both_id_free(struct cm_both_id *b)
{
	if (b->own)
		cm_both_channel_free(b->own);
	cm_known_remove(&b->event.known);
	cm_known_remove(&b->known);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

struct cm_both_id *cm_both_id_wrap(struct rdma_cm_id *below, enum cm_side side,
				   struct rdma_event_channel *channel, void *context)
{
	struct cm_both_id *b = id_alloc();

	if (!b)
		return NULL;
	b->side[side] = below;
	b->bound = 1u << side;
	b->id.channel = channel ? channel : cm_both_channel_of_id(b);
	if (!b->id.channel) {
		cm_both_id_free(b);
		return NULL;
	}
	b->id.context = context;
	below->context = b;
	cm_both_id_pull(b);
	return b;
}

/* Return: 0; -1 with errno: the library has no identifier */
static int side_create(struct cm_both_id *b, enum cm_side side, struct rdma_event_channel *channel,
		       enum rdma_port_space ps)
{
	struct rdma_event_channel *below = NULL;

	if (channel) {
		below = cm_both_channel_of(channel)->side[side];
		if (!below) {
			errno = ENODEV;
			return -1;
		}
	}
	return CM_SIDE_CALL(side, rdma_create_id, below, &b->side[side], b, ps);
}

static int sides_create(struct cm_both_id *b, struct rdma_event_channel *channel,
			enum rdma_port_space ps)
{
	int err;

	if (!side_create(b, SIDE_REAL, channel, ps)) {
		if (side_create(b, SIDE_EMULATED, channel, ps))
			b->side[SIDE_EMULATED] = NULL;
		return 0;
	}
	err = errno;
	b->side[SIDE_REAL] = NULL;
	if (!side_create(b, SIDE_EMULATED, channel, ps))
		return 0;
	b->side[SIDE_EMULATED] = NULL;
	errno = err;
	return -1;
}

/* Return: 0; -1 with errno: at least one library has kept its identifier */
static int sides_destroy(struct cm_both_id *b)
{
	u32 side;

	for (side = 0; side < SIDES; side++) {
		if (!b->side[side])
			continue;
		if (CM_SIDE_CALL(side, rdma_destroy_id, b->side[side]))
			return -1;
		b->side[side] = NULL;
	}
	return 0;
}

int cm_both_id_unbind(struct cm_both_id *b, enum cm_side side)
{
	if (CM_SIDE_CALL(side, rdma_destroy_id, b->side[side]))
		return -1;
	b->side[side] = NULL;
	if (side_create(b, side, b->own ? NULL : b->id.channel, b->id.ps))
		return -1;
	return b->own ? cm_both_channel_set(b->own, side, b->side[side]->channel) : 0;
}

/**
 * rdma_create_id() - rdma_create_id(3).
 * Return: 0, or -1 with errno, the real library's if neither has an identifier
 */
int both_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			enum rdma_port_space ps)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));
	struct cm_both_id *b;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_create_id, channel, id, context, ps);
	if (channel && cm_channel_is_gone(channel))
		return -1;
	b = id_alloc();
	if (!b)
		return -1;
	b->id.context = context;
	if (sides_create(b, channel, ps)) {
		cm_both_id_free(b);
		return -1;
	}
	b->id.channel = channel ? channel : cm_both_channel_of_id(b);
	if (!b->id.channel) {
		sides_destroy(b);
		cm_both_id_free(b);
		return -1;
	}
	cm_both_id_pull(b);
	*id = &b->id;
	return 0;
}

/**
 * rdma_destroy_id() - rdma_destroy_id(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_destroy_id(struct rdma_cm_id *id)
{
	enum cm_side within = cm_side_of(id);

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_destroy_id, id);
	cm_both_id_push(cm_both_id_of(id));
	if (sides_destroy(cm_both_id_of(id)))
		return -1;
	cm_both_id_free(cm_both_id_of(id));
	return 0;
}

/**
 * rdma_set_option() - rdma_set_option(3): of both libraries' until an address has decided.
 * Return: 0, or -1 with errno
 */
int both_rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	enum cm_side within = cm_side_of(id);
	struct cm_both_id *b;
	u32 side;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_set_option, id, level, optname, optval, optlen);
	b = cm_both_id_of(id);
	for (side = 0; side < SIDES; side++)
		if (b->side[side] && (!b->bound || b->bound & 1u << side) &&
		    CM_SIDE_CALL(side, rdma_set_option, b->side[side], level, optname, optval,
				 optlen))
			return -1;
	cm_both_id_pull(b);
	return 0;
}
