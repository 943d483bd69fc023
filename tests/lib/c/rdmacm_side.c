/* SPDX-License-Identifier: MIT */
/* Calls of the rdma_cm on a side. See tests/lib/c/rdmacm.h. */
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct rdma_cm_id *cm_ids[CM_IDS];
struct rdma_event_channel *cm_chans[CM_CHANS];

enum op {
	OP_CHAN,
	OP_CHAN_CLOSE,
	OP_CREATE,
	OP_DESTROY,
	OP_BIND,
	OP_RESOLVE,
	OP_ROUTE,
	OP_LISTEN,
	OP_QP,
	OP_QP_DESTROY,
	OP_QP_STATE,
	OP_CONNECT,
	OP_ACCEPT,
	OP_REJECT,
	OP_DISCONNECT,
	OP_ESTABLISH,
	OP_NOTIFY,
	OP_MIGRATE,
	OP_OPTION,
};

struct req {
	enum op op;
	int i, ch, n;
	unsigned int port;
	int level, name, val;
	size_t len;
	enum rdma_port_space ps;
	bool has_src, has_dst, has_parm;
	char src[64], dst[64];
	struct cm_parm parm;
};

void cm_sides(const char *how, struct vb_side **a, struct vb_side **b)
{
	bool remote = !strcmp(how, "remote");

	*b = remote ? vb_fork() : vb_local();
	*a = remote ? vb_local() : *b;
}

void cm_sides_end(struct vb_side *a, struct vb_side *b)
{
	if (a != b)
		vb_close(a);
	vb_close(b);
}

socklen_t cm_addr(const char *ip, unsigned int port, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (!ip)
		return 0;
	if (inet_pton(AF_INET, ip, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		return sizeof(*in);
	}
	if (inet_pton(AF_INET6, ip, &in6->sin6_addr) != 1)
		die("not an address: %s", ip);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	return sizeof(*in6);
}

struct cm_parm cm_parm(uint8_t len, uint64_t seed)
{
	struct cm_parm p = {
		.len = len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	fill(p.data, len, seed);
	return p;
}

static const struct rdma_conn_param *conn_param(const struct req *r, struct rdma_conn_param *p)
{
	const struct cm_parm *c = &r->parm;

	*p = (struct rdma_conn_param){
		.private_data = c->len ? c->data : NULL,
		.private_data_len = c->len,
		.responder_resources = c->responder_resources,
		.initiator_depth = c->initiator_depth,
		.flow_control = c->flow_control,
		.retry_count = c->retry_count,
		.rnr_retry_count = c->rnr_retry_count,
		.srq = c->srq,
		.qp_num = c->qpn,
	};
	return r->has_parm ? p : NULL;
}

/* With CQs and channels of its own, as the rdma_cm makes them when none are given. */
static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 8, 8, 2, 2, 0 },
		.qp_type = id->ps == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD,
		.sq_sig_all = 1,
	};

	return rdma_create_qp(id, NULL, &attr);
}

static int qp_state(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

static int serve_addr(struct rdma_cm_id *id, struct req *r)
{
	struct sockaddr_storage src, dst;
	int ret;

	cm_addr(r->has_src ? r->src : NULL, r->op == OP_BIND ? r->port : 0, &src);
	cm_addr(r->has_dst ? r->dst : NULL, r->port, &dst);
	if (r->op == OP_RESOLVE)
		return rdma_resolve_addr(id, r->has_src ? (struct sockaddr *)&src : NULL,
					 (struct sockaddr *)&dst, 2000);
	ret = rdma_bind_addr(id, (struct sockaddr *)&src);
	if (!ret)
		r->port = ntohs(rdma_get_src_port(id));
	return ret;
}

static int serve_chan(struct req *r)
{
	if (r->op == OP_CHAN_CLOSE) {
		rdma_destroy_event_channel(cm_chans[r->ch]);
		cm_chans[r->ch] = NULL;
		return 0;
	}
	cm_chans[r->ch] = rdma_create_event_channel();
	return cm_chans[r->ch] ? 0 : -1;
}

static int serve_conn(struct rdma_cm_id *id, struct req *r)
{
	struct rdma_conn_param param;
	/* The calls do not change it. */
	struct rdma_conn_param *p = (struct rdma_conn_param *)conn_param(r, &param);

	switch (r->op) {
	case OP_CONNECT:
		return rdma_connect(id, p);
	case OP_ACCEPT:
		return rdma_accept(id, p);
	case OP_REJECT:
		return rdma_reject(id, param.private_data, param.private_data_len);
	case OP_DISCONNECT:
		return rdma_disconnect(id);
	case OP_ESTABLISH:
		return rdma_establish(id);
	default:
		return rdma_notify(id, (enum ibv_event_type)r->n);
	}
}

static int serve_id(struct req *r)
{
	struct rdma_cm_id *id = cm_ids[r->i];
	int ret;

	switch (r->op) {
	case OP_CREATE:
		return rdma_create_id(r->ch == CM_SYNC ? NULL : cm_chans[r->ch], &cm_ids[r->i],
				      &cm_ids[r->i], r->ps);
	case OP_DESTROY:
		ret = rdma_destroy_id(id);
		cm_ids[r->i] = NULL;
		return ret;
	case OP_BIND:
	case OP_RESOLVE:
		return serve_addr(id, r);
	case OP_ROUTE:
		return rdma_resolve_route(id, 2000);
	case OP_LISTEN:
		return rdma_listen(id, r->n);
	case OP_QP:
		return make_qp(id);
	case OP_QP_DESTROY:
		rdma_destroy_qp(id);
		return 0;
	case OP_MIGRATE:
		return rdma_migrate_id(id, r->ch == CM_SYNC ? NULL : cm_chans[r->ch]);
	case OP_OPTION:
		return rdma_set_option(id, r->level, r->name, &r->val, r->len);
	default:
		return serve_conn(id, r);
	}
}

static int serve(struct vb_side *s, void *arg)
{
	struct req *r = arg;
	int ret;

	(void)s;
	errno = 0;
	if (r->op == OP_QP_STATE)
		return qp_state(cm_ids[r->i]);
	ret = r->op == OP_CHAN || r->op == OP_CHAN_CLOSE ? serve_chan(r) : serve_id(r);
	if (!ret)
		return 0;
	/* A call that fails returns -1 and sets errno. */
	return ret == -1 && errno ? errno : -1;
}

static int call(struct vb_side *s, struct req *r)
{
	return vb_call(s, serve, r, sizeof(*r));
}

static int simple(struct vb_side *s, enum op op, int i, int ch, int n)
{
	struct req r = { .op = op, .i = i, .ch = ch, .n = n };

	return call(s, &r);
}

int cm_chan(struct vb_side *s, int ch)
{
	return simple(s, OP_CHAN, 0, ch, 0);
}

int cm_chan_close(struct vb_side *s, int ch)
{
	return simple(s, OP_CHAN_CLOSE, 0, ch, 0);
}

int cm_create(struct vb_side *s, int i, int ch, enum rdma_port_space ps)
{
	struct req r = { .op = OP_CREATE, .i = i, .ch = ch, .ps = ps };

	return call(s, &r);
}

int cm_destroy(struct vb_side *s, int i)
{
	return simple(s, OP_DESTROY, i, 0, 0);
}

static void text(char *to, size_t len, bool *has, const char *from)
{
	*has = from != NULL;
	if (from)
		strncpy(to, from, len - 1);
}

int cm_bind(struct vb_side *s, int i, const char *ip, unsigned int *port)
{
	struct req r = { .op = OP_BIND, .i = i, .port = *port };
	int ret;

	text(r.src, sizeof(r.src), &r.has_src, ip);
	ret = call(s, &r);
	*port = r.port;
	return ret;
}

int cm_resolve(struct vb_side *s, int i, const char *src, const char *dst, unsigned int port)
{
	struct req r = { .op = OP_RESOLVE, .i = i, .port = port };

	text(r.src, sizeof(r.src), &r.has_src, src);
	text(r.dst, sizeof(r.dst), &r.has_dst, dst);
	return call(s, &r);
}

int cm_route(struct vb_side *s, int i)
{
	return simple(s, OP_ROUTE, i, 0, 0);
}

int cm_listen(struct vb_side *s, int i, int backlog)
{
	return simple(s, OP_LISTEN, i, 0, backlog);
}

int cm_qp(struct vb_side *s, int i)
{
	return simple(s, OP_QP, i, 0, 0);
}

int cm_qp_destroy(struct vb_side *s, int i)
{
	return simple(s, OP_QP_DESTROY, i, 0, 0);
}

int cm_qp_state(struct vb_side *s, int i)
{
	return simple(s, OP_QP_STATE, i, 0, 0);
}

static int with_parm(struct vb_side *s, enum op op, int i, const struct cm_parm *p)
{
	struct req r = { .op = op, .i = i, .has_parm = p != NULL };

	if (p)
		r.parm = *p;
	return call(s, &r);
}

int cm_connect(struct vb_side *s, int i, const struct cm_parm *p)
{
	return with_parm(s, OP_CONNECT, i, p);
}

int cm_accept(struct vb_side *s, int i, const struct cm_parm *p)
{
	return with_parm(s, OP_ACCEPT, i, p);
}

int cm_reject(struct vb_side *s, int i, unsigned int len, uint64_t seed)
{
	struct cm_parm p = cm_parm((uint8_t)len, seed);

	return with_parm(s, OP_REJECT, i, &p);
}

int cm_disconnect(struct vb_side *s, int i)
{
	return simple(s, OP_DISCONNECT, i, 0, 0);
}

int cm_establish(struct vb_side *s, int i)
{
	return simple(s, OP_ESTABLISH, i, 0, 0);
}

int cm_notify(struct vb_side *s, int i, enum ibv_event_type event)
{
	return simple(s, OP_NOTIFY, i, 0, (int)event);
}

int cm_migrate(struct vb_side *s, int i, int ch)
{
	return simple(s, OP_MIGRATE, i, ch, 0);
}

int cm_option(struct vb_side *s, int i, int level, int name, int val, size_t len)
{
	struct req r = {
		.op = OP_OPTION, .i = i, .level = level, .name = name, .val = val, .len = len
	};

	return call(s, &r);
}
