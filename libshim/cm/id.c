/* SPDX-License-Identifier: MIT */
/**
 * DOC: identifiers of the rdma_cm: their life, and the list of all of them.
 *
 * Destroying one waits until what the program was given of its events was acknowledged. The HCA
 * tells how many those are: a thread that has taken an event from it but not yet looked at it is
 * waited for as well.
 */
#include "libshim/cm/cm.h"

#include <stdlib.h>

static struct shim_cmid *ids; /* under objs_lock */

static void id_link(struct shim_cmid *c)
{
	pthread_mutex_lock(&objs_lock);
	c->next = ids;
	c->prev_next = &ids;
	if (ids)
		ids->prev_next = &c->next;
	ids = c;
	pthread_mutex_unlock(&objs_lock);
}

static void id_unlink(struct shim_cmid *c)
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

void cmids_forked(void)
{
	ids = NULL;
}

struct shim_cmid *cmid_by_handle(const struct shim_cmch *ch, u32 handle)
{
	struct shim_cmid *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->handle != handle || c->gone);
	     c = c->next)
		;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

struct shim_cmid *cmid_next_removed(const struct shim_cmch *ch)
{
	struct shim_cmid *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->removed || !c->dev); c = c->next)
		;
	if (c)
		c->removed = true;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

/* The next identifier of the channel, now gone. */
static struct shim_cmid *next_gone(const struct shim_cmch *ch)
{
	struct shim_cmid *c;

	pthread_mutex_lock(&objs_lock);
	for (c = ids; c && (c->id.channel != &ch->ch || c->gone); c = c->next)
		;
	if (c)
		c->gone = true;
	pthread_mutex_unlock(&objs_lock);
	return c;
}

void cmids_end(struct shim_cmch *ch)
{
	struct hca_cmd cmd = { .op = CMD_CM_DESTROY_ID };
	struct shim_cmid *c;

	while ((c = next_gone(ch))) {
		cmd.handle = c->handle;
		/* It fails where the HCA has gone, and the identifier with it. */
		shim_cmd(&cmd);
	}
}

struct shim_cmid *cmid_of(struct rdma_cm_id *id)
{
	struct shim_cmid *c = to_cmid(id);

	return c && c->magic == MAGIC_CMID ? c : fail_null(-EINVAL);
}

int cmid_usable(const struct shim_cmid *c)
{
	if (c->epoch != shim.epoch)
		return -EIO;
	return c->gone ? -EBADF : 0;
}

int cmid_cmd(struct shim_cmid *c, u32 op, struct hca_cmd *cmd)
{
	int ret = cmid_usable(c);

	cmd->op = op;
	cmd->handle = c->handle;
	if (!ret)
		ret = shim_cmd(cmd);
	return ret ? fail_minus(ret) : 0;
}

struct shim_cmid *cmid_alloc(struct rdma_event_channel *channel, void *context,
			     enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct shim_cmid *c = obj_alloc(sizeof(*c));

	if (!c)
		return NULL;
	c->sync = !channel;
	c->id.channel = channel ? channel : rdma_create_event_channel();
	if (!c->id.channel) {
		free(c);
		return NULL;
	}
	c->magic = MAGIC_CMID;
	c->epoch = shim.epoch;
	c->id.context = context;
	c->id.ps = ps;
	c->id.qp_type = qp_type;
	pthread_mutex_init(&c->mut, NULL);
	pthread_cond_init(&c->cond, NULL);
	return c;
}

void cmid_free(struct shim_cmid *c)
{
	id_unlink(c);
	if (c->dev && c->epoch == shim.epoch)
		cm_dev_put(c->dev);
	if (c->sync)
		rdma_destroy_event_channel(c->id.channel);
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->mut);
	free(c->id.route.path_rec);
	free(c->qp_init_attr);
	rdma_freeaddrinfo(c->resolved);
	free(c->connect);
	c->magic = 0;
	free(c);
}

void cmid_known(struct shim_cmid *c, u32 handle)
{
	c->handle = handle;
	id_link(c);
}

int cmid_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct hca_cmd cmd = { .op = CMD_CM_CREATE_ID };
	struct shim_cmid *c;
	int ret;

	if (cm_devices_init())
		return -1;
	if (channel && !cmch_of(channel))
		return -1;
	c = cmid_alloc(channel, context, ps, qp_type);
	/* What librdmacm says, also when it was a channel that could not be had. */
	if (!c)
		return fail_minus(-ENOMEM);
	cmd.cm.uid = (u64)(uintptr_t)c;
	cmd.cm.ch = cmch_of(c->id.channel)->handle;
	cmd.cm.ps = (u32)ps;
	cmd.cm.qp_type = (u32)qp_type;
	ret = shim_cmd(&cmd);
	if (ret) {
		cmid_free(c);
		return fail_minus(ret);
	}
	cmid_known(c, cmd.handle);
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
	return cmid_create(channel, id, context, ps, ud ? IBV_QPT_UD : IBV_QPT_RC);
}

static void wait_acked(struct shim_cmid *c, int events)
{
	pthread_mutex_lock(&c->mut);
	while (c->events_completed < events)
		pthread_cond_wait(&c->cond, &c->mut);
	pthread_mutex_unlock(&c->mut);
}

/* Events of the identifier that the program was given: the HCA's count and those made here. */
static int events_given(struct shim_cmid *c, const struct hca_cmd *cmd, int ret)
{
	int n;

	pthread_mutex_lock(&c->mut);
	n = ret ? c->delivered : (int)cmd->cm.reported + c->user;
	pthread_mutex_unlock(&c->mut);
	return n;
}

/**
 * rdma_destroy_id() - rdma_destroy_id(3). Waits until its events have been acknowledged.
 * Return: 0, or -1 with errno (EINVAL: none of ours; EBADF: its channel was destroyed before).
 */
SHIM_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct hca_cmd cmd = { .op = CMD_CM_DESTROY_ID };
	struct shim_cmid *c = cmid_of(id);
	int ret;

	if (call_fails(CALL_rdma_destroy_id))
		return -1;
	if (!c)
		return -1;
	if (c->epoch != shim.epoch) {
		cmmc_free_all(c);
		cmid_free(c);
		return 0;
	}
	if (c->gone)
		return fail_minus(-EBADF);
	ret = cmch_drop_cmd(c, &cmd, false, NULL);
	/* As in obj_end_cmd(): the HCA has gone, or cannot be entered any more. */
	if (ret && ret != -EIO && ret != -EDEADLK)
		return fail_minus(ret);
	if (id->event)
		cmev_ack(id->event);
	wait_acked(c, events_given(c, &cmd, ret));
	cmmc_free_all(c);
	cmid_free(c);
	return 0;
}

/* It is the new channel's. The old one goes when it was the identifier's own. */
static void take_channel(struct shim_cmid *c, struct shim_cmch *to, bool sync)
{
	struct rdma_event_channel *old = c->id.channel;
	bool old_sync = c->sync;

	if (old_sync && c->id.event) {
		cmev_ack(c->id.event);
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
 * Return: 0, or -1 with errno (EINVAL: it is synchronous already).
 */
SHIM_EXPORT int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct shim_cmid *c = cmid_of(id);
	struct hca_cmd cmd = { .op = CMD_CM_MIGRATE_ID };
	bool sync = !channel;
	struct shim_cmch *to;
	int ret;

	if (call_fails(CALL_rdma_migrate_id))
		return -1;
	if (!c)
		return -1;
	if (c->sync && sync)
		return fail_minus(-EINVAL);
	if (sync)
		channel = rdma_create_event_channel();
	to = channel ? cmch_of(channel) : NULL;
	if (!to)
		return -1;
	cmd.cm.ch = to->handle;
	ret = cmid_usable(c);
	if (!ret)
		ret = cmch_drop_cmd(c, &cmd, false, to);
	if (ret) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return fail_minus(ret);
	}
	take_channel(c, to, sync);
	wait_acked(c, events_given(c, &cmd, 0));
	return 0;
}
