/* SPDX-License-Identifier: MIT */
/**
 * DOC: the identifiers and event channels of this process, and the counts of their events.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/cm/cm.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

/* More counts than will ever be read: the descriptor is readable from now on. */
#define COUNT_ALWAYS BIT64(62)

/* Both under objs_lock. */
static struct ucma_chan *channels;
static struct ucma_id *ids;

struct ucma_chan *ucma_chan_of(struct rdma_event_channel *ch)
{
	struct ucma_chan *c = (struct ucma_chan *)ch;

	if (!c || c->magic != MAGIC_UCMA_CHAN)
		return fail_null(c ? -EBADF : -EINVAL);
	return c->epoch == shim.epoch ? c : fail_null(-EIO);
}

void ucma_chan_link(struct ucma_chan *c)
{
	pthread_mutex_lock(&objs_lock);
	c->next = channels;
	channels = c;
	/* ucma_raise_fatal() may have run before. */
	if (load_relaxed(&shim.fatal))
		shim_chan_count(c->chan, COUNT_ALWAYS);
	pthread_mutex_unlock(&objs_lock);
}

void ucma_chan_unlink(struct ucma_chan *c)
{
	struct ucma_chan **p;
	struct ucma_event *ev;

	pthread_mutex_lock(&objs_lock);
	for (p = &channels; *p && *p != c; p = &(*p)->next)
		;
	if (*p)
		*p = c->next;
	while (c->user) {
		ev = c->user;
		c->user = ev->next;
		free(ev);
	}
	pthread_mutex_unlock(&objs_lock);
}

void ucma_raise_fatal(void)
{
	struct ucma_chan *c;

	pthread_mutex_lock(&objs_lock);
	for (c = channels; c; c = c->next)
		shim_chan_count(c->chan, COUNT_ALWAYS);
	pthread_mutex_unlock(&objs_lock);
}

void ucma_forget_all(void)
{
	channels = NULL;
	ids = NULL;
}

struct ucma_id *ucma_id_of(struct rdma_cm_id *id)
{
	struct ucma_id *c = to_ucma_id(id);

	return c && c->magic == MAGIC_UCMA_ID ? c : fail_null(-shim_unknown(id));
}

int ucma_id_check(const struct ucma_id *c)
{
	if (c->epoch != shim.epoch)
		return -EIO;
	return c->gone ? -EBADF : 0;
}

int ucma_id_cmd(struct ucma_id *c, u32 op, struct hca_cmd *cmd)
{
	int ret = ucma_id_check(c);

	cmd->op = op;
	cmd->handle = c->handle;
	if (!ret)
		ret = shim_cmd_exec(cmd);
	return ret ? fail_minus(ret) : 0;
}

static void id_link(struct ucma_id *c)
{
	pthread_mutex_lock(&objs_lock);
	c->next = ids;
	c->prev_next = &ids;
	if (ids)
		ids->prev_next = &c->next;
	ids = c;
	pthread_mutex_unlock(&objs_lock);
}

void ucma_id_known(struct ucma_id *c, u32 handle)
{
	c->handle = handle;
	id_link(c);
}

void ucma_id_unlink(struct ucma_id *c)
{
	pthread_mutex_lock(&objs_lock);
	if (c->prev_next && c->epoch == shim.epoch) {
		*c->prev_next = c->next;
		if (c->next)
			c->next->prev_next = c->prev_next;
	}
	c->prev_next = NULL;
	pthread_mutex_unlock(&objs_lock);
}

struct ucma_id *ucma_id_by_handle(const struct ucma_chan *ch, u32 handle)
{
	struct ucma_id *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->handle != handle || c->gone);
	     c = c->next)
		;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

struct ucma_id *ucma_id_next_removed(const struct ucma_chan *ch)
{
	struct ucma_id *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->removed || !c->dev); c = c->next)
		;
	if (c)
		c->removed = true;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

/* Mark the next identifier of the channel as gone, and return it. */
static struct ucma_id *id_next_gone(const struct ucma_chan *ch)
{
	struct ucma_id *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->gone); c = c->next)
		;
	if (c)
		c->gone = true;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

void ucma_ids_end(struct ucma_chan *ch)
{
	struct hca_cmd cmd = { .op = CMD_CM_DESTROY_ID };
	struct ucma_id *c;

	while ((c = id_next_gone(ch))) {
		cmd.handle = c->handle;
		/* It fails if the HCA, and the identifier in it, no longer exist. */
		shim_cmd_exec(&cmd);
	}
}

void ucma_event_count(struct ucma_id *id, struct ucma_mcast *mc)
{
	pthread_mutex_lock(&id->mut);
	id->delivered++;
	if (mc)
		mc->delivered++;
	pthread_mutex_unlock(&id->mut);
}

void ucma_event_done(struct ucma_id *id, struct ucma_mcast *mc)
{
	pthread_mutex_lock(&id->mut);
	id->events_completed++;
	pthread_cond_broadcast(&id->cond);
	if (mc) {
		mc->events_completed++;
		pthread_cond_broadcast(&mc->cond);
	}
	pthread_mutex_unlock(&id->mut);
}

void ucma_event_ack(struct rdma_cm_event *event)
{
	struct ucma_event *ev = (struct ucma_event *)event;

	ucma_event_done(ev->id, ev->mc);
	free(ev);
}
