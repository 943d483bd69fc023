/* SPDX-License-Identifier: MIT */
/* Events of the rdma_cm on a side, and checks of them. See tests/lib/c/rdmacm.h. */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

static struct rdma_cm_event *kept;

struct get {
	int ch, ms, into;
	bool keep;
	struct cm_ev ev;
};

static int index_of(const struct rdma_cm_id *id)
{
	for (int i = 0; id && i < CM_IDS; i++)
		if (cm_ids[i] == id)
			return i;
	return CM_NONE;
}

static void take_param(struct cm_ev *to, const struct rdma_cm_event *ev, bool ud)
{
	const struct rdma_conn_param *c = &ev->param.conn;
	const void *data = ud ? ev->param.ud.private_data : c->private_data;

	to->ud = ud;
	to->len = ud ? ev->param.ud.private_data_len : c->private_data_len;
	to->data_null = !data;
	if (data)
		memcpy(to->data, data, to->len);
	if (ud) {
		to->qpn = ev->param.ud.qp_num;
		to->qkey = ev->param.ud.qkey;
		to->ah = ev->param.ud.ah_attr;
		return;
	}
	to->qpn = c->qp_num;
	to->responder_resources = c->responder_resources;
	to->initiator_depth = c->initiator_depth;
	to->flow_control = c->flow_control;
	to->retry_count = c->retry_count;
	to->rnr_retry_count = c->rnr_retry_count;
	to->srq = c->srq;
}

/* Return: 1: an event; 0: none in time; less: -errno. */
static int get(struct vb_side *s, void *arg)
{
	struct get *g = arg;
	struct pollfd p = { .fd = cm_chans[g->ch]->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	(void)s;
	if (poll(&p, 1, g->ms) != 1)
		return 0;
	if (rdma_get_cm_event(cm_chans[g->ch], &ev))
		return -errno;
	memset(&g->ev, 0, sizeof(g->ev));
	g->ev.event = (int)ev->event;
	g->ev.status = ev->status;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST && g->into != CM_NONE)
		cm_ids[g->into] = ev->id;
	g->ev.id = index_of(ev->id);
	g->ev.listen = index_of(ev->listen_id);
	take_param(&g->ev, ev, ev->id->qp_type == IBV_QPT_UD);
	if (g->keep)
		kept = ev;
	else if (rdma_ack_cm_event(ev))
		return -errno;
	return 1;
}

static int wait_event(struct vb_side *s, void *arg)
{
	struct pollfd p = { .fd = cm_chans[*(int *)arg]->fd, .events = POLLIN };

	(void)s;
	return poll(&p, 1, VB_WAIT);
}

bool cm_waits(struct vb_side *s, int ch)
{
	return vb_call(s, wait_event, &ch, sizeof(ch)) == 1;
}

static bool event(struct vb_side *s, int ch, int ms, int into, bool keep, struct cm_ev *ev)
{
	struct get g = { .ch = ch, .ms = ms, .into = into, .keep = keep };
	int ret = vb_call(s, get, &g, sizeof(g));

	if (ret < 0)
		die("rdma_get_cm_event: %s", strerror(-ret));
	*ev = g.ev;
	if (!ret)
		ev->event = -1;
	return ret == 1;
}

bool cm_event(struct vb_side *s, int ch, int ms, int into, struct cm_ev *ev)
{
	return event(s, ch, ms, into, false, ev);
}

bool cm_event_keep(struct vb_side *s, int ch, int ms, int into, struct cm_ev *ev)
{
	return event(s, ch, ms, into, true, ev);
}

static int ack(struct vb_side *s, void *arg)
{
	struct rdma_cm_event *ev = kept;

	(void)s;
	(void)arg;
	kept = NULL;
	return rdma_ack_cm_event(ev) ? errno : 0;
}

int cm_ack(struct vb_side *s)
{
	int none = 0;

	return vb_call(s, ack, &none, sizeof(none));
}

static const char *event_str(int event)
{
	return event < 0 ? "nothing" : rdma_event_str((enum rdma_cm_event_type)event);
}

bool cm_expect(struct vb_side *s, int ch, int id, enum rdma_cm_event_type type, int status,
	       struct cm_ev *ev, const char *what)
{
	struct cm_ev local;
	int into = type == RDMA_CM_EVENT_CONNECT_REQUEST ? id : CM_NONE;

	if (!ev)
		ev = &local;
	cm_event(s, ch, VB_WAIT, into, ev);
	if (ev->event != (int)type || ev->id != id || ev->status != status)
		note("got %s, id %d, status %d; wanted %s, id %d, status %d", event_str(ev->event),
		     ev->id, ev->status, event_str((int)type), id, status);
	return ok(ev->event == (int)type && ev->id == id && ev->status == status, "%s", what);
}

bool is_errno(int got, int wanted, const char *what)
{
	if (got != wanted)
		note("%s, %d", got > 0 ? strerror(got) : "no error, or no errno", got);
	return ok(got == wanted, "%s: %s", what, strerror(wanted));
}

bool cm_quiet(struct vb_side *s, int ch, const char *what)
{
	struct cm_ev ev;

	cm_event(s, ch, VB_SHORT, CM_NONE, &ev);
	if (ev.event >= 0)
		note("got %s, id %d, status %d", event_str(ev.event), ev.id, ev.status);
	return ok(ev.event < 0, "%s", what);
}

bool cm_data(const struct cm_ev *ev, unsigned int sent, uint64_t seed, unsigned int len)
{
	if (ev->len != len || !filled(ev->data, sent, seed)) {
		note("%u bytes of private data, or not these; wanted %u", ev->len, len);
		return false;
	}
	for (unsigned int i = sent; i < len; i++) {
		if (ev->data[i]) {
			note("private data: byte %u is not 0", i);
			return false;
		}
	}
	return true;
}

static void must(int ret, const char *what)
{
	if (ret)
		die("%s: %s", what, ret > 0 ? strerror(ret) : "not -1, or no errno");
}

static void must_event(struct vb_side *s, int ch, int id, enum rdma_cm_event_type type)
{
	struct cm_ev ev;

	cm_event(s, ch, VB_WAIT, CM_NONE, &ev);
	if (ev.event != (int)type || ev.id != id || ev.status)
		die("%s instead of %s, id %d, status %d", event_str(ev.event), event_str((int)type),
		    ev.id, ev.status);
}

void cm_resolved(struct vb_side *s, int i, int ch, enum rdma_port_space ps, const char *ip,
		 unsigned int port)
{
	must(cm_create(s, i, ch, ps), "rdma_create_id");
	must(cm_resolve(s, i, NULL, ip, port), "rdma_resolve_addr");
	must_event(s, ch, i, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(cm_route(s, i), "rdma_resolve_route");
	must_event(s, ch, i, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

unsigned int cm_listening(struct vb_side *s, int i, int ch, enum rdma_port_space ps, const char *ip,
			  int backlog)
{
	unsigned int port = 0;

	must(cm_create(s, i, ch, ps), "rdma_create_id");
	must(cm_bind(s, i, ip, &port), "rdma_bind_addr");
	must(cm_listen(s, i, backlog), "rdma_listen");
	return port;
}

bool cm_pair(struct vb_side *a, int i, struct vb_side *b, int j, unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0);
	struct cm_ev ev;

	cm_resolved(a, i, 0, RDMA_PS_TCP, vb_addr(b, false), port);
	must(cm_qp(a, i), "rdma_create_qp");
	must(cm_connect(a, i, &p), "rdma_connect");
	if (!cm_event(b, 2, VB_WAIT, j, &ev) || ev.event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		note("%s instead of a request", event_str(ev.event));
		return false;
	}
	must(cm_qp(b, j), "rdma_create_qp");
	must(cm_accept(b, j, &p), "rdma_accept");
	must_event(a, 0, i, RDMA_CM_EVENT_ESTABLISHED);
	must_event(b, 2, j, RDMA_CM_EVENT_ESTABLISHED);
	return true;
}

/* MADs keep their order, and nobody listens at port 1. */
bool cm_fence(struct vb_side *a, int i, int ch, struct vb_side *b, const char *what)
{
	struct cm_parm p = cm_parm(0, 0);
	bool good;

	cm_resolved(a, i, ch, RDMA_PS_TCP, vb_addr(b, false), 1);
	must(cm_qp(a, i), "rdma_create_qp");
	must(cm_connect(a, i, &p), "rdma_connect");
	good = cm_expect(a, ch, i, RDMA_CM_EVENT_REJECTED, 8, NULL, what);
	must(cm_qp_destroy(a, i), "rdma_destroy_qp");
	must(cm_destroy(a, i), "rdma_destroy_id");
	return good;
}

/* A message of 1 KiB from the start of a side's buffer to 4 KiB behind the start of the other's. */
#define XFER_LEN  1024u
#define XFER_RECV 4096u

struct xfer {
	int i;
	bool recv;
	struct ibv_mr *mr;
};

static int post(struct vb_side *s, void *arg)
{
	struct xfer *x = arg;
	struct rdma_cm_id *id = cm_ids[x->i];
	uint8_t *at = s->buf + (x->recv ? XFER_RECV : 0);
	int ret;

	errno = 0;
	x->mr = rdma_reg_msgs(id, at, XFER_LEN);
	if (!x->mr)
		return errno ? errno : -1;
	ret = x->recv ? rdma_post_recv(id, s, at, XFER_LEN, x->mr)
		      : rdma_post_send(id, s, at, XFER_LEN, x->mr, 0);
	return !ret ? 0 : errno ? errno : -1;
}

static int reap(struct vb_side *s, void *arg)
{
	const struct xfer *x = arg;
	struct rdma_cm_id *id = cm_ids[x->i];
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	int n = poll_cq(x->recv ? id->recv_cq : id->send_cq, VB_WAIT, &wc);

	return n == 1 && wc.wr_id == (uintptr_t)s ? (int)wc.status : -1;
}

static int unreg(struct vb_side *s, void *arg)
{
	struct xfer *x = arg;

	(void)s;
	return x->mr && rdma_dereg_mr(x->mr) ? errno : 0;
}

bool cm_traffic(struct vb_side *a, int i, struct vb_side *b, int j)
{
	struct xfer send = { .i = i }, recv = { .i = j, .recv = true };
	static uint64_t seed;
	int ret;

	fill(a->buf, XFER_LEN, ++seed);
	memset(b->buf + XFER_RECV, 0, XFER_LEN);
	ret = vb_call(b, post, &recv, sizeof(recv));
	if (!ret)
		ret = vb_call(a, post, &send, sizeof(send));
	if (!ret)
		ret = vb_call(a, reap, &send, sizeof(send));
	if (!ret)
		ret = vb_call(b, reap, &recv, sizeof(recv));
	if (ret)
		note("a SEND: %d", ret);
	vb_call(a, unreg, &send, sizeof(send));
	vb_call(b, unreg, &recv, sizeof(recv));
	return !ret && filled(b->buf + XFER_RECV, XFER_LEN, seed);
}
