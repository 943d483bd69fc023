/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion channels and their events.
 */
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/command.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct shim_channel *channel_of(struct ibv_comp_channel *ibch)
{
	struct shim_channel *ch = (struct shim_channel *)ibch;

	return ch && ch->magic == MAGIC_CHANNEL ? ch : NULL;
}

/* The answer of a system call on the closed descriptor. */
static int channel_unknown(const struct ibv_comp_channel *ibch)
{
	return ibch ? EBADF : EINVAL;
}

/** ibv_create_comp_channel() - ibv_create_comp_channel(3). Return: channel, or NULL with errno. */
SHIM_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ibctx)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_channel *ch;
	int fd = -1, index;

	if (call_fails(CALL_ibv_create_comp_channel))
		return NULL;
	if (!ctx)
		return NULL;
	if (ctx->dead)
		return fail_null(-EIO);
	ch = shim_obj_alloc(sizeof(*ch));
	if (!ch)
		return NULL;
	index = shim_chan_new(&fd);
	if (index < 0) {
		free(ch);
		return fail_null(index);
	}
	ch->magic = MAGIC_CHANNEL;
	ch->index = (u32)index;
	ch->channel.context = ibctx;
	ch->channel.fd = fd;
	shim_context_get(ctx);
	return &ch->channel;
}

/** ibv_destroy_comp_channel() - ibv_destroy_comp_channel(3). Return: 0, EBUSY: CQs use it. */
SHIM_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibch)
{
	struct shim_channel *ch = channel_of(ibch);
	struct shim_context *ctx = ch ? shim_context_of(ibch->context) : NULL;

	if (call_fails(CALL_ibv_destroy_comp_channel))
		return errno;
	if (!ctx)
		return channel_unknown(ibch);
	if (__atomic_load_n(&ibch->refcnt, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (ctx->dead)
		syscall(SYS_close, ibch->fd);
	else
		shim_chan_free(ch->index, ibch->fd);
	shim_obj_retire(ch, &ch->magic);
	shim_context_put(ctx);
	return 0;
}

/* Count the delivery of an event and return its CQ, or NULL if the CQ no longer exists. */
static struct shim_cq *comp_event_cq(const struct chan_event *ev)
{
	struct shim_cq *cq = NULL;

	if (ev->type != CHAN_EV_COMP || ev->handle >= HCA_MAX_CQ)
		return NULL;
	pthread_mutex_lock(&objs_lock);
	cq = objs->cq[ev->handle];
	if (cq && cq->gen == ev->gen)
		cq->comp_events++;
	else
		cq = NULL;
	pthread_mutex_unlock(&objs_lock);
	return cq;
}

/** ibv_get_cq_event() - ibv_get_cq_event(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ibch, struct ibv_cq **ibcq,
				 void **cq_context)
{
	struct shim_channel *ch = channel_of(ibch);
	struct shim_context *ctx = ch ? shim_context_of(ibch->context) : NULL;
	struct shim_cq *cq = NULL;
	struct chan_event ev;

	if (call_fails(CALL_ibv_get_cq_event))
		return -1;
	if (!ctx || ctx->dead)
		return fail_minus(ctx ? -EIO : -channel_unknown(ibch));
	shim_engine_drain();
	while (!cq) {
		if (shim_chan_get(ch->index, ibch->fd, &ev))
			return -1;
		cq = comp_event_cq(&ev);
	}
	cq_hold_enter(&cq->hold, CQ_HOLD_EVENT);
	*ibcq = &cq->cq;
	*cq_context = cq->cq.cq_context;
	return 0;
}

/** ibv_ack_cq_events() - ibv_ack_cq_events(3). */
SHIM_EXPORT void ibv_ack_cq_events(struct ibv_cq *ibcq, unsigned int nevents)
{
	pthread_mutex_lock(&ibcq->mutex);
	ibcq->comp_events_completed += nevents;
	pthread_cond_broadcast(&ibcq->cond);
	pthread_mutex_unlock(&ibcq->mutex);
}
