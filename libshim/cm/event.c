/* SPDX-License-Identifier: MIT */
/**
 * DOC: events of the rdma_cm: from the HCA's form to the program's.
 *
 * Some events are for the library and not for the program:
 *
 *  - a REP for an identifier with a QP: the library makes the QP ready and sends an RTU, so that
 *    the program gets the event of an established connection;
 *  - later events of a connection whose establishment has failed in the library.
 *
 * When the fabric process has ended, its devices are lost: each identifier that is bound to one
 * gets one DEVICE_REMOVAL event, then reading fails.
 */
#include "libshim/cm/event.h"

#include "emulator/cm/cm.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/cm/addr.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/cm/qp.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#include <stdlib.h>

static void event_copy_conn(struct ucma_event *ev, const struct cm_param *p)
{
	struct rdma_conn_param *conn = &ev->event.param.conn;
	u8 len = p->data_len < CM_MAX_DATA ? p->data_len : CM_MAX_DATA;

	memcpy(ev->data, p->data, len);
	conn->private_data = len ? ev->data : NULL;
	conn->private_data_len = len;
	conn->responder_resources = p->responder_resources;
	conn->initiator_depth = p->initiator_depth;
	conn->flow_control = p->flow_control;
	conn->retry_count = p->retry_count;
	conn->rnr_retry_count = p->rnr_retry_count;
	conn->srq = p->srq;
	conn->qp_num = p->qpn;
}

static void event_copy_ud(struct ucma_event *ev, const struct cm_event *e)
{
	struct rdma_ud_param *ud = &ev->event.param.ud;
	u8 len = e->param.data_len < CM_MAX_DATA ? e->param.data_len : CM_MAX_DATA;

	memcpy(ev->data, e->param.data, len);
	ud->private_data = len ? ev->data : NULL;
	ud->private_data_len = len;
	shim_ah_from_av(&ud->ah_attr, &e->av);
	ud->qp_num = e->param.qpn;
	ud->qkey = e->param.qkey;
}

static void id_copy_ece(struct ucma_id *id, const struct cm_param *p)
{
	id->remote_ece.vendor_id = p->ece_vendor;
	id->remote_ece.options = p->ece_options;
}

/*
 * The result of handling a successful event: if that failed, the event becomes @failed. librdmacm
 * reports the -1 of its function as the status, which a synchronous call makes EPERM of; the cause
 * is more use.
 */
static void event_set_result(struct ucma_event *ev, int ret, enum rdma_cm_event_type failed)
{
	ev->event.status = ret ? -errno : 0;
	if (ret)
		ev->event.event = failed;
}

/* Make the identifier of a new connection. Return: 0, or -1: it cannot be made, no event. */
static int event_on_request(struct ucma_event *ev, const struct cm_event *e)
{
	struct rdma_cm_id *listen = &ev->id->id;
	struct ucma_id *c =
		ucma_id_alloc(listen->channel, listen->context, listen->ps, listen->qp_type);
	struct hca_cmd cmd = { .op = CMD_CM_DESTROY_ID, .handle = e->id };

	if (!c) {
		/* Destroying the HCA's identifier rejects the request. */
		shim_cmd_exec(&cmd);
		return -1;
	}
	ucma_id_known(c, e->id);
	ev->event.listen_id = listen;
	ev->event.id = &c->id;
	if (!e->ud) {
		c->initiator_depth = e->param.initiator_depth;
		c->responder_resources = e->param.responder_resources;
	}
	id_copy_ece(c, &e->param);
	if ((!ev->id->sync || !rdma_migrate_id(&c->id, NULL)) && !ucma_query_route(c))
		return 0;
	rdma_destroy_id(&c->id);
	return -1;
}

static void event_on_response(struct ucma_event *ev, const struct cm_event *e)
{
	id_copy_ece(ev->id, &e->param);
	if (!ev->id->id.qp)
		return;
	ev->event.event = RDMA_CM_EVENT_ESTABLISHED;
	event_set_result(ev, ucma_establish(ev->id), RDMA_CM_EVENT_CONNECT_ERROR);
	ev->id->connect_error = !!ev->event.status;
}

static void event_on_multicast(struct ucma_event *ev)
{
	ev->event.param.ud.private_data = ev->mc->context;
	ev->event.param.ud.private_data_len = 0;
	if (ev->event.event == RDMA_CM_EVENT_MULTICAST_JOIN)
		event_set_result(ev, ucma_mcast_joined(ev->mc, ev), RDMA_CM_EVENT_MULTICAST_ERROR);
}

/* Handle an event for its identifier. Return: whether the program gets it. */
static bool event_process(struct ucma_event *ev, const struct cm_event *e)
{
	if (e->ud)
		event_copy_ud(ev, e);
	else
		event_copy_conn(ev, &e->param);
	switch (e->type) {
	case CM_EV_ADDR_RESOLVED:
		event_set_result(ev, ucma_query_addr(ev->id), RDMA_CM_EVENT_ADDR_ERROR);
		return true;
	case CM_EV_ROUTE_RESOLVED:
		event_set_result(ev, ucma_query_route(ev->id), RDMA_CM_EVENT_ROUTE_ERROR);
		return true;
	case CM_EV_CONNECT_REQUEST:
		return !event_on_request(ev, e);
	case CM_EV_CONNECT_RESPONSE:
		event_on_response(ev, e);
		return true;
	case CM_EV_REJECTED:
		if (ev->id->connect_error)
			return false;
		ucma_qp_err(ev->id);
		return true;
	case CM_EV_DISCONNECTED:
		return !ev->id->connect_error;
	case CM_EV_MULTICAST_JOIN:
	case CM_EV_MULTICAST_ERROR:
		event_on_multicast(ev);
		return true;
	default:
		return true;
	}
}

/*
 * Find the identifier of an event. An event without a uid belongs to a connection that the program
 * is accepting; of those only ESTABLISHED is for the program. Return: whether the program may get
 * it.
 */
static bool event_find_id(struct ucma_chan *ch, struct ucma_event *ev, const struct cm_event *e)
{
	bool named = e->uid;

	if (e->type == CM_EV_MULTICAST_JOIN || e->type == CM_EV_MULTICAST_ERROR) {
		ev->mc = (struct ucma_mcast *)(uintptr_t)e->context;
		ev->id = ev->mc->id;
		named = true;
	} else if (named) {
		ev->id = (struct ucma_id *)(uintptr_t)e->uid;
	} else {
		ev->id = ucma_id_by_handle(ch, e->id);
	}
	if (!ev->id)
		return false;
	ev->event.id = &ev->id->id;
	ev->event.event = (enum rdma_cm_event_type)e->type;
	ev->event.status = e->status;
	ucma_event_count(ev->id, ev->mc);
	if (named || e->type == CM_EV_ESTABLISHED)
		return true;
	ucma_event_done(ev->id, ev->mc);
	return false;
}

/* Report to an identifier the loss of its device. Return: 0, or -EIO when all have got it. */
static int event_take_removal(struct ucma_chan *ch, struct ucma_event *ev)
{
	struct ucma_id *id = ucma_id_next_removed(ch);

	if (!id)
		return -EIO;
	ev->id = id;
	ev->event.id = &id->id;
	ev->event.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	ucma_event_count(id, NULL);
	return 0;
}

/* Take the event whose count was read. Return: 0, -EAGAIN (none for the program) or -errno. */
static int event_take(struct ucma_chan *ch, struct ucma_event *ev)
{
	struct hca_cmd cmd = { .op = CMD_CM_GET_EVENT, .handle = ch->handle };
	bool user;
	int ret;

	memset(ev, 0, sizeof(*ev));
	pthread_mutex_lock(&ch->taking);
	ret = shim_cmd_exec(&cmd);
	user = ret == -EAGAIN && ucma_user_event_take(ch, ev);
	shim_chan_settle(ch->chan, ret != -EAGAIN || user);
	pthread_mutex_unlock(&ch->taking);
	if (ret == -EAGAIN)
		return user ? 0 : -EAGAIN;
	if (load_acquire(&shim.fatal))
		return event_take_removal(ch, ev);
	if (ret) {
		/* The event is still queued. */
		shim_chan_count(ch->chan, 1);
		return ret;
	}
	if (!event_find_id(ch, ev, &cmd.cm.ev))
		return -EAGAIN;
	if (event_process(ev, &cmd.cm.ev))
		return 0;
	ucma_event_done(ev->id, ev->mc);
	return -EAGAIN;
}

/**
 * rdma_get_cm_event() - rdma_get_cm_event(3).
 * Return: 0, or -1 with errno (EAGAIN: O_NONBLOCK; EBADF: the channel was destroyed; EIO: the
 * fabric process has ended).
 */
SHIM_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct ucma_chan *ch = ucma_chan_of(channel);
	struct ucma_event *ev;
	int ret;

	if (call_fails(CALL_rdma_get_cm_event))
		return -1;
	if (!event)
		return fail_minus(-EINVAL);
	if (!ch)
		return -1;
	ev = shim_obj_alloc(sizeof(*ev));
	if (!ev)
		return -1;
	do {
		if (shim_chan_wait(channel->fd)) {
			ret = -errno;
			break;
		}
		/* The event may have been taken away meanwhile: then wait again. */
		ret = event_take(ch, ev);
	} while (ret == -EAGAIN);
	if (ret) {
		free(ev);
		return fail_minus(ret);
	}
	*event = &ev->event;
	return 0;
}

/** rdma_ack_cm_event() - rdma_ack_cm_event(3). Return: 0, or -1 with errno EINVAL. */
SHIM_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (call_fails(CALL_rdma_ack_cm_event))
		return -1;
	if (!event)
		return fail_minus(-EINVAL);
	ucma_event_ack(event);
	return 0;
}

int ucma_complete(struct ucma_id *c)
{
	struct rdma_cm_id *id = &c->id;

	if (!c->sync)
		return 0;
	if (id->event) {
		ucma_event_ack(id->event);
		id->event = NULL;
	}
	if (rdma_get_cm_event(id->channel, &id->event))
		return -1;
	if (load_relaxed(&shim.fatal) && id->event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return fail_minus(-ENODEV);
	if (!id->event->status)
		return 0;
	if (id->event->event == RDMA_CM_EVENT_REJECTED)
		return fail_minus(-ECONNREFUSED);
	return fail_minus(id->event->status < 0 ? id->event->status : -id->event->status);
}
