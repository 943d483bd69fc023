/* SPDX-License-Identifier: MIT */
/**
 * DOC: the rdma_cm's event channels.
 *
 * A program may close a channel before the identifiers on it. As in the kernel, that destroys them,
 * and the program keeps only their memory: every call on them fails.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Make a channel known to the HCA and to this process. Return: 0 or -errno. */
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
	ucma_chan_link(c);
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

/** rdma_destroy_event_channel() - rdma_destroy_event_channel(3). */
SHIM_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct ucma_chan *c = (struct ucma_chan *)channel;
	struct hca_cmd cmd = { .op = CMD_CM_CLOSE_CHAN };

	if (!c || c->magic != MAGIC_UCMA_CHAN)
		return;
	if (c->epoch == shim.epoch) {
		ucma_ids_end(c);
		ucma_chan_unlink(c);
		cmd.handle = c->handle;
		/* It fails if the fabric process has ended, which then queues no events anyway. */
		shim_cmd_exec(&cmd);
		shim_chan_free(c->chan, c->ch.fd);
		pthread_mutex_destroy(&c->taking);
	} else {
		syscall(SYS_close, c->ch.fd);
	}
	shim_obj_retire(c, &c->magic);
}
