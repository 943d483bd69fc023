/* SPDX-License-Identifier: MIT */
/**
 * DOC: creating, migrating and destroying identifiers of the rdma_cm.
 *
 * Destroying an identifier waits until the events that the program got are acknowledged. Their
 * number comes from the HCA, so that it includes an event that another thread has just taken.
 */
#include "libshim/cm/id.h"

#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/cm/cm.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

struct ucma_id *ucma_id_alloc(struct rdma_event_channel *channel, void *context,
			      enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct ucma_id *c = shim_obj_alloc(sizeof(*c));

	if (!c)
		return NULL;
	c->sync = !channel;
	c->id.channel = channel ? channel : rdma_create_event_channel();
	if (!c->id.channel) {
		free(c);
		return NULL;
	}
	c->magic = MAGIC_UCMA_ID;
	c->epoch = shim.epoch;
	c->id.context = context;
	c->id.ps = ps;
	c->id.qp_type = qp_type;
	pthread_mutex_init(&c->mut, NULL);
	pthread_cond_init(&c->cond, NULL);
	return c;
}

void ucma_id_free(struct ucma_id *c)
{
	ucma_id_unlink(c);
	if (c->dev && c->epoch == shim.epoch)
		ucma_dev_put(c->dev);
	if (c->sync)
		rdma_destroy_event_channel(c->id.channel);
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->mut);
	free(c->id.route.path_rec);
	free(c->qp_init_attr);
	rdma_freeaddrinfo(c->resolved);
	free(c->connect);
	shim_obj_retire(c, &c->magic);
}

int ucma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct hca_cmd cmd = { .op = CMD_CM_CREATE_ID };
	struct ucma_id *c;
	int ret;

	if (ucma_init())
		return -1;
	if (channel && !ucma_chan_of(channel))
		return -1;
	c = ucma_id_alloc(channel, context, ps, qp_type);
	/* librdmacm's error, also if no channel could be made. */
	if (!c)
		return fail_minus(-ENOMEM);
	cmd.cm.uid = (u64)(uintptr_t)c;
	cmd.cm.ch = ucma_chan_of(c->id.channel)->handle;
	cmd.cm.ps = (u32)ps;
	cmd.cm.qp_type = (u32)qp_type;
	ret = shim_cmd_exec(&cmd);
	if (ret) {
		ucma_id_free(c);
		return fail_minus(ret);
	}
	ucma_id_known(c, cmd.handle);
	*id = &c->id;
	return 0;
}

/**
 * rdma_create_id() - rdma_create_id(3).
 * Return: 0, or -1 with errno (EINVAL: no such port space; ENODEV: no fabric).
 */
SHIM_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			       void *context, enum rdma_port_space ps)
{
	bool ud = ps == RDMA_PS_IPOIB || ps == RDMA_PS_UDP;

	if (call_fails_early(CALL_rdma_create_id))
		return -1;
	return ucma_id_create(channel, id, context, ps, ud ? IBV_QPT_UD : IBV_QPT_RC);
}

static void id_wait_acked(struct ucma_id *c, int events)
{
	pthread_mutex_lock(&c->mut);
	while (c->events_completed < events)
		pthread_cond_wait(&c->cond, &c->mut);
	pthread_mutex_unlock(&c->mut);
}

/* Number of the identifier's events that the program got: the HCA's and the program's own. */
static int id_events_given(struct ucma_id *c, const struct hca_cmd *cmd, int ret)
{
	int n;

	pthread_mutex_lock(&c->mut);
	n = ret ? c->delivered : (int)cmd->cm.reported + c->user;
	pthread_mutex_unlock(&c->mut);
	return n;
}

/**
 * rdma_destroy_id() - rdma_destroy_id(3). Waits until its events have been acknowledged.
 * Return: 0, or -1 with errno (ENOENT: destroyed before; EBADF: its channel was).
 */
SHIM_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct hca_cmd cmd = { .op = CMD_CM_DESTROY_ID };
	struct ucma_id *c = ucma_id_of(id);
	int ret;

	if (call_fails(CALL_rdma_destroy_id))
		return -1;
	if (!c)
		return -1;
	if (c->epoch != shim.epoch) {
		ucma_mcast_free_all(c);
		ucma_id_free(c);
		return 0;
	}
	if (c->gone)
		return fail_minus(-EBADF);
	ret = ucma_chan_drop_cmd(c, &cmd, false, NULL);
	/* As in shim_obj_end_cmd(): the HCA no longer exists, or cannot be entered. */
	if (ret && ret != -EIO && ret != -EDEADLK)
		return fail_minus(ret);
	if (id->event)
		ucma_event_ack(id->event);
	id_wait_acked(c, id_events_given(c, &cmd, ret));
	ucma_mcast_free_all(c);
	ucma_id_free(c);
	return 0;
}

/* Set the identifier's channel, and destroy the old one if it was the identifier's own. */
static void id_set_channel(struct ucma_id *c, struct ucma_chan *to, bool sync)
{
	struct rdma_event_channel *old = c->id.channel;
	bool old_sync = c->sync;

	if (old_sync && c->id.event) {
		ucma_event_ack(c->id.event);
		c->id.event = NULL;
	}
	pthread_mutex_lock(&objs_lock);
	c->sync = sync;
	c->id.channel = &to->ch;
	pthread_mutex_unlock(&objs_lock);
	if (old_sync)
		rdma_destroy_event_channel(old);
}

/**
 * rdma_migrate_id() - rdma_migrate_id(3). @channel: NULL: make it synchronous.
 * Return: 0, or -1 with errno (EINVAL: it is synchronous already; ENOENT: its channel was
 * destroyed).
 */
SHIM_EXPORT int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .op = CMD_CM_MIGRATE_ID };
	bool sync = !channel;
	struct ucma_chan *to;
	int ret;

	if (call_fails(CALL_rdma_migrate_id))
		return -1;
	if (!c)
		return -1;
	if (c->sync && sync)
		return fail_minus(-EINVAL);
	if (sync)
		channel = rdma_create_event_channel();
	to = channel ? ucma_chan_of(channel) : NULL;
	if (!to)
		return -1;
	cmd.cm.ch = to->handle;
	ret = ucma_id_check(c);
	/* The new channel gets the command, which does not find the old one. */
	if (ret == -EBADF)
		ret = -ENOENT;
	if (!ret)
		ret = ucma_chan_drop_cmd(c, &cmd, false, to);
	if (ret) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return fail_minus(ret);
	}
	id_set_channel(c, to, sync);
	id_wait_acked(c, id_events_given(c, &cmd, 0));
	return 0;
}
