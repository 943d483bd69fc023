/* SPDX-License-Identifier: MIT */
/**
 * DOC: the rdma_cm's event channels.
 *
 * A program may close a channel before the identifiers on it. The kernel destroys them then, and
 * what the program has left of them is good for nothing but memory: every call on them fails.
 */
#include "libshim/cm/cm.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than anybody will ever read: the descriptor is readable from now on. */
#define COUNT_FOR_EVER BIT64(62)

static struct ucma_chan *channels; /* under objs_lock */

struct ucma_chan *ucma_chan_of(struct rdma_event_channel *ch)
{
	struct ucma_chan *c = (struct ucma_chan *)ch;

	if (!c || c->magic != MAGIC_UCMA_CHAN)
		return fail_null(-EINVAL);
	return c->epoch == shim.epoch ? c : fail_null(-EIO);
}

int ucma_chan_drop_cmd(struct ucma_id *id, struct hca_cmd *cmd, bool mc, struct ucma_chan *to)
{
	struct ucma_chan *c = ucma_chan_of(id->id.channel);
	int ret;

	if (!c)
		return -errno;
	cmd->handle = id->handle;
	pthread_mutex_lock(&c->taking);
	ret = shim_cmd_exec(cmd);
	if (!ret && cmd->cm.dropped)
		shim_chan_uncount(c->chan, cmd->cm.dropped);
	if (!mc && (!ret || !to))
		ucma_user_event_move(id, to);
	pthread_mutex_unlock(&c->taking);
	return ret;
}

void ucma_raise_fatal(void)
{
	struct ucma_chan *c;

	pthread_mutex_lock(&objs_lock);
	for (c = channels; c; c = c->next)
		shim_chan_count(c->chan, COUNT_FOR_EVER);
	pthread_mutex_unlock(&objs_lock);
}

void ucma_chans_forked(void)
{
	channels = NULL;
}

/* Make it known to the HCA and to this process. Return: 0 or -errno. */
static int channel_open(struct ucma_chan *c)
{
	struct hca_cmd cmd = { .op = CMD_CM_OPEN_CHAN };
	int chan, ret;

	ret = shim_client_start();
	if (ret)
		return ret;
	chan = shim_chan_new(&c->ch.fd);
	if (chan < 0)
		return chan;
	c->chan = (u32)chan;
	cmd.cm.chan = c->chan;
	ret = shim_cmd_exec(&cmd);
	if (ret) {
		shim_chan_free(c->chan, c->ch.fd);
		return ret;
	}
	c->handle = cmd.handle;
	pthread_mutex_lock(&objs_lock);
	c->next = channels;
	channels = c;
	/* Who comes too late for ucma_raise_fatal() has seen why already. */
	if (load_relaxed(&shim.fatal))
		shim_chan_count(c->chan, COUNT_FOR_EVER);
	pthread_mutex_unlock(&objs_lock);
	return 0;
}

/**
 * rdma_create_event_channel() - rdma_create_event_channel(3).
 * Return: NULL with errno (ENODEV: there is no fabric, or it has no devices).
 */
SHIM_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct ucma_chan *c;
	int ret;

	if (call_fails_early(CALL_rdma_create_event_channel))
		return NULL;
	if (ucma_init())
		return NULL;
	c = shim_obj_alloc(sizeof(*c));
	if (!c)
		return NULL;
	c->magic = MAGIC_UCMA_CHAN;
	c->epoch = shim.epoch;
	pthread_mutex_init(&c->taking, NULL);
	ret = channel_open(c);
	if (!ret)
		return &c->ch;
	pthread_mutex_destroy(&c->taking);
	free(c);
	return fail_null(ret);
}

/* Nobody finds it any more. Events that nobody has read are forgotten. */
static void channel_unlink(struct ucma_chan *c)
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

/** rdma_destroy_event_channel() - rdma_destroy_event_channel(3). */
SHIM_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct ucma_chan *c = (struct ucma_chan *)channel;
	struct hca_cmd cmd = { .op = CMD_CM_CLOSE_CHAN };

	if (!c || c->magic != MAGIC_UCMA_CHAN)
		return;
	if (c->epoch == shim.epoch) {
		ucma_ids_end(c);
		channel_unlink(c);
		cmd.handle = c->handle;
		/* It fails where there is nobody any more who could queue an event. */
		shim_cmd_exec(&cmd);
		shim_chan_free(c->chan, c->ch.fd);
		pthread_mutex_destroy(&c->taking);
	} else {
		syscall(SYS_close, c->ch.fd);
	}
	c->magic = 0;
	free(c);
}
