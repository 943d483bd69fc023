/* SPDX-License-Identifier: MIT */
/*
 * The public fields of an identifier. A program reads them, and may write them: it creates a queue
 * pair itself and sets @qp, for example. The library's identifier has fields of its own, which its
 * functions read and write. So before a call of the library, fields that the program has written
 * since go down, and after the call, fields that the library has written come up.
 *
 * A field that the program writes before the identifier is bound waits until then. A listener that
 * is bound with both libraries passes objects to the library of their device.
 */
#include "libdispatch/cm/cm.h"

#include <stddef.h>

/** enum field_kind - what a field is. */
enum field_kind {
	FIELD_VALUE,
	FIELD_ROUTE, /* the library frees the paths, so only one may have them */
	FIELD_CONTEXT, /* a struct ibv_context * */
	FIELD_OBJECT, /* a pointer to an object of verbs, which begins with its context */
};

/* All but the channel and the context, which are the program's, and the event. */
#define FIELD(member, kind)                                                                        \
	{                                                                                          \
		offsetof(struct rdma_cm_id, member), sizeof(((struct rdma_cm_id *)0)->member),     \
			kind                                                                       \
	}
static const struct {
	u16 at;
	u16 size;
	enum field_kind kind;
} fields[] = {
	FIELD(verbs, FIELD_CONTEXT),  FIELD(qp, FIELD_OBJECT),
	FIELD(route, FIELD_ROUTE),    FIELD(ps, FIELD_VALUE),
	FIELD(port_num, FIELD_VALUE), FIELD(send_cq_channel, FIELD_OBJECT),
	FIELD(send_cq, FIELD_OBJECT), FIELD(recv_cq_channel, FIELD_OBJECT),
	FIELD(recv_cq, FIELD_OBJECT), FIELD(srq, FIELD_OBJECT),
	FIELD(pd, FIELD_OBJECT),      FIELD(qp_type, FIELD_VALUE),
};

static void *field_of(struct rdma_cm_id *id, u32 i)
{
	return (char *)id + fields[i].at;
}

static void field_copy(struct rdma_cm_id *to, struct rdma_cm_id *from, u32 i)
{
	memcpy(field_of(to, i), field_of(from, i), fields[i].size);
}

static bool field_is_written(struct cm_both_id *b, u32 i)
{
	return memcmp(field_of(&b->id, i), field_of(&b->shown, i), fields[i].size) != 0;
}

/* --- down --- */

/* The context of what a field points to. Return: NULL: it is no object, or there is none. */
static const struct ibv_context *field_context(struct rdma_cm_id *id, u32 i)
{
	void *object = NULL;

	if (fields[i].kind == FIELD_CONTEXT || fields[i].kind == FIELD_OBJECT)
		object = *(void **)field_of(id, i);
	return object && fields[i].kind == FIELD_OBJECT ? *(struct ibv_context **)object : object;
}

/* Whether the identifier is this library's: it is bound with it, or there is no other. */
static bool side_has_id(const struct cm_both_id *b, enum cm_side side)
{
	if (!b->side[side])
		return false;
	return b->bound ? b->bound & 1u << side : !b->side[!side];
}

static bool side_takes_field(const struct cm_both_id *b, enum cm_side side, u32 i,
			     const struct ibv_context *ctx)
{
	if (!side_has_id(b, side))
		return false;
	if (b->bound != CM_BOUND_BOTH)
		return true;
	return fields[i].kind != FIELD_ROUTE &&
	       (!ctx || is_emulated_device(ctx->device) == (side == SIDE_EMULATED));
}

static void field_push(struct cm_both_id *b, u32 i)
{
	const struct ibv_context *ctx = field_context(&b->id, i);
	u32 side;

	for (side = 0; side < SIDES; side++) {
		if (!side_takes_field(b, side, i, ctx))
			continue;
		field_copy(b->side[side], &b->id, i);
		field_copy(&b->shown, &b->id, i);
	}
}

static void fields_push(struct cm_both_id *b)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (field_is_written(b, i))
			field_push(b, i);
}

void cm_both_id_push(struct cm_both_id *b)
{
	int saved = errno;

	pthread_mutex_lock(&b->lock);
	fields_push(b);
	pthread_mutex_unlock(&b->lock);
	errno = saved;
}

/* --- up --- */

/* The dispatcher knows emulated objects by their device. */
static void id_remember_device(const struct cm_both_id *b, enum cm_side side)
{
	const struct rdma_cm_id *below = b->side[side];
	struct ibv_device *one[] = { below->verbs ? below->verbs->device : NULL, NULL };

	if (side == SIDE_EMULATED && below->verbs != b->id.verbs)
		emulated_devices_add(one);
}

/* The context of the CQs that a library makes for an identifier is the identifier. */
static void id_take_cq(struct cm_both_id *b, const struct rdma_cm_id *below, struct ibv_cq *cq)
{
	if (cq && cq->cq_context == below)
		cq->cq_context = &b->id;
}

/* The event of a synchronous identifier. A listener with both libraries has one of either. */
static void event_pull(struct cm_both_id *b)
{
	const enum cm_side side = b->bound == CM_BOUND_BOTH ? b->request : cm_both_id_side(b);
	struct rdma_cm_event *below = b->side[side] ? b->side[side]->event : NULL;

	b->event.side = side;
	b->event.below = below;
	if (below)
		cm_event_translate(&b->event.ev, below);
	b->id.event = below ? &b->event.ev : NULL;
}

/* Another thread of the program may read the fields: it never sees what is the library's. */
static void fields_pull(struct cm_both_id *b, struct rdma_cm_id *below)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (field_is_written(b, i))
			continue;
		field_copy(&b->id, below, i);
		field_copy(&b->shown, &b->id, i);
	}
}

void cm_both_id_pull(struct cm_both_id *b)
{
	enum cm_side side = cm_both_id_side(b);
	struct rdma_cm_id *below = b->side[side];
	int saved = errno;

	if (!below)
		return;
	pthread_mutex_lock(&b->lock);
	id_remember_device(b, side);
	id_take_cq(b, below, below->send_cq);
	id_take_cq(b, below, below->recv_cq);
	fields_push(b);
	fields_pull(b, below);
	event_pull(b);
	pthread_mutex_unlock(&b->lock);
	errno = saved;
}

int cm_both_id_ack(struct cm_both_id *b)
{
	struct cm_both_event *e = &b->event;
	struct rdma_cm_id *below;
	int ret = -1;

	pthread_mutex_lock(&b->lock);
	below = e->below ? b->side[e->side] : NULL;
	if (!below || below->event != e->below)
		errno = EINVAL;
	else
		ret = CM_SIDE_CALL(e->side, rdma_ack_cm_event, e->below);
	if (!ret)
		below->event = e->below = NULL;
	pthread_mutex_unlock(&b->lock);
	return ret;
}
