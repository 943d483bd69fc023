/* SPDX-License-Identifier: MIT */
/* One end of a connection, where its verbs objects are. See tests/lib/c/rc.h. */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct rc_opts rc_defaults = {
	.send_wr = 64,
	.recv_wr = 64,
	.send_sge = 4,
	.recv_sge = 4,
	.inl = 64,
	.scqe = 128,
	.rcqe = 128,
	.psn = 0x123456,
	.access = ALL,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr = 12,
	.rd_atomic = 4,
	.dest_rd_atomic = 4,
	.mtu = IBV_MTU_1024,
	.until = IBV_QPS_RTS,
};

struct ibv_context *rc_open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	if (!list || !list[0])
		die("no RDMA device: %s", strerror(errno));
	ctx = ibv_open_device(list[0]);
	if (!ctx)
		die("ibv_open_device: %s", strerror(errno));
	ibv_free_device_list(list);
	return ctx;
}

bool rc_by_wire(void)
{
	const char *by = getenv("FABRICS_BY");

	return by && !strcmp(by, "roce");
}

int rc_gid(struct ibv_context *ctx, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;

	if (ibv_query_port(ctx, 1, &port))
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(ctx, 1, i, &entry, 0) ||
		    entry.gid_type != (port.link_layer == IBV_LINK_LAYER_INFINIBAND
					       ? IBV_GID_TYPE_IB
					       : IBV_GID_TYPE_ROCE_V2) ||
		    (rc_by_wire() && entry.gid.raw[0] == 0xfe))
			continue;
		*gid = entry.gid;
		return i;
	}
	return -1;
}

static bool is_mapped(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

int rc_gid_other_family(struct ibv_context *ctx, const union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;

	if (ibv_query_port(ctx, 1, &port))
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(ctx, 1, (uint32_t)i, &entry, 0) &&
		    is_mapped(&entry.gid) != is_mapped(gid))
			return i;
	return -1;
}

static int serve_open(struct rc_side *s, struct rc_rep *rep)
{
	s->ctx = rc_open_first();
	if (ibv_query_device(s->ctx, &s->dev))
		return errno;
	rep->dev = s->dev;
	s->gid_index = rc_gid(s->ctx, &s->gid);
	if (s->gid_index < 0)
		return ENODATA;
	s->pd = ibv_alloc_pd(s->ctx);
	s->pd2 = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	if (!s->pd || !s->pd2 || !s->chan)
		return errno;
	s->mr[0] = ibv_reg_mr(s->pd, s->buf, RC_BUF,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!s->mr[0])
		return errno;
	rep->lkey = s->mr[0]->lkey;
	rep->rkey = s->mr[0]->rkey;
	return 0;
}

static int serve_destroy(struct rc_side *s)
{
	int ret = 0;

	if (s->qp)
		ret = ibv_destroy_qp(s->qp);
	if (!ret && s->scq)
		ret = ibv_destroy_cq(s->scq);
	if (!ret && s->rcq)
		ret = ibv_destroy_cq(s->rcq);
	if (ret)
		return ret;
	s->qp = NULL;
	s->scq = NULL;
	s->rcq = NULL;
	return 0;
}

static int serve_create(struct rc_side *s, const struct rc_opts *o, struct rc_rep *rep)
{
	struct ibv_qp_init_attr init = {
		.cap = { o->send_wr, o->recv_wr, o->send_sge, o->recv_sge, o->inl },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
	};
	int ret = serve_destroy(s);

	if (ret)
		return ret;
	s->scq = ibv_create_cq(s->ctx, (int)o->scqe, s, o->chan ? s->chan : NULL, 0);
	s->rcq = ibv_create_cq(s->ctx, (int)o->rcqe, s, o->chan ? s->chan : NULL, 0);
	if (!s->scq || !s->rcq)
		return errno;
	init.send_cq = s->scq;
	init.recv_cq = s->rcq;
	s->qp = ibv_create_qp(s->pd, &init);
	if (!s->qp)
		return errno;
	s->psn = o->psn;
	rep->init = init;
	rep->addr = (struct rc_addr){ s->qp->qp_num, o->psn, s->gid };
	return 0;
}

int rc_to(enum ibv_qp_state state, const struct rc_opts *o, const struct rc_addr *peer,
	  int gid_index, uint32_t psn, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	switch (state) {
	case IBV_QPS_INIT:
		attr->port_num = 1;
		attr->qp_access_flags = (unsigned int)o->access;
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		attr->path_mtu = o->mtu;
		attr->dest_qp_num = peer->qpn;
		attr->rq_psn = peer->psn;
		attr->max_dest_rd_atomic = o->dest_rd_atomic;
		attr->min_rnr_timer = o->min_rnr;
		attr->ah_attr.is_global = 1;
		attr->ah_attr.port_num = 1;
		attr->ah_attr.grh.dgid = peer->gid;
		attr->ah_attr.grh.sgid_index = (uint8_t)gid_index;
		attr->ah_attr.grh.hop_limit = 64;
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		attr->timeout = o->timeout;
		attr->retry_cnt = o->retry_cnt;
		attr->rnr_retry = o->rnr_retry;
		attr->sq_psn = psn;
		attr->max_rd_atomic = o->rd_atomic;
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	default:
		return IBV_QP_STATE;
	}
}

int rc_up(struct ibv_qp *qp, const struct rc_opts *o, const struct rc_addr *peer, int gid_index,
	  uint32_t psn)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct ibv_qp_attr attr;

	for (int i = 0; i < 3 && way[i] <= o->until; i++) {
		int mask = rc_to(way[i], o, peer, gid_index, psn, &attr);
		int ret = ibv_modify_qp(qp, &attr, mask);

		if (ret)
			return ret;
	}
	return 0;
}

static int serve_connect(struct rc_side *s, const struct rc_req *req)
{
	return rc_up(s->qp, &req->opts, &req->peer, s->gid_index, s->psn);
}

static int serve_reg(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(req->new_pd ? s->pd2 : s->pd, (void *)(uintptr_t)req->addr, req->len,
			(unsigned int)req->access);
	if (!mr)
		return errno ? errno : -1;
	s->mr[req->which] = mr;
	rep->lkey = mr->lkey;
	rep->rkey = mr->rkey;
	return 0;
}

static int serve_dereg(struct rc_side *s, int which)
{
	int ret = s->mr[which] ? ibv_dereg_mr(s->mr[which]) : EINVAL;

	if (!ret)
		s->mr[which] = NULL;
	return ret;
}

static int serve_send(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	struct ibv_send_wr wr[RC_CHAIN], *bad = NULL;
	int ret;

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < req->n; i++) {
		const struct rc_wr *r = &req->wr[i];

		wr[i].wr_id = r->wr_id;
		wr[i].next = i + 1 < req->n ? &wr[i + 1] : NULL;
		wr[i].sg_list = (struct ibv_sge *)r->sge;
		wr[i].num_sge = r->num_sge;
		wr[i].opcode = r->opcode;
		wr[i].send_flags = r->flags;
		wr[i].imm_data = r->imm;
		if (r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr[i].wr.atomic.remote_addr = r->remote_addr;
			wr[i].wr.atomic.rkey = r->rkey;
			wr[i].wr.atomic.compare_add = r->compare_add;
			wr[i].wr.atomic.swap = r->swap;
		} else {
			wr[i].wr.rdma.remote_addr = r->remote_addr;
			wr[i].wr.rdma.rkey = r->rkey;
		}
	}
	ret = ibv_post_send(s->qp, wr, &bad);
	rep->bad = ret && bad ? (int)(bad - wr) : -1;
	return ret;
}

static int serve_recv(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	struct ibv_recv_wr wr[RC_CHAIN], *bad = NULL;
	int ret;

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < req->n; i++) {
		wr[i].wr_id = req->wr[i].wr_id;
		wr[i].next = i + 1 < req->n ? &wr[i + 1] : NULL;
		wr[i].sg_list = (struct ibv_sge *)req->wr[i].sge;
		wr[i].num_sge = req->wr[i].num_sge;
	}
	ret = ibv_post_recv(s->qp, wr, &bad);
	rep->bad = ret && bad ? (int)(bad - wr) : -1;
	return ret;
}

static int serve_poll(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	return poll_cq(req->which ? s->rcq : s->scq, req->n, &rep->wc);
}

static int serve_event(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	struct pollfd p = { s->ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event ev;

	if (poll(&p, 1, req->n) <= 0)
		return 0;
	if (ibv_get_async_event(s->ctx, &ev))
		return -1;
	rep->event = ev.event_type;
	switch (ev.event_type) {
	case IBV_EVENT_CQ_ERR:
		rep->event_own = ev.element.cq == s->scq || ev.element.cq == s->rcq;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		rep->event_own = ev.element.qp == s->qp;
		break;
	default:
		rep->event_own = false;
	}
	ibv_ack_async_event(&ev);
	return 1;
}

static int serve_comp(struct rc_side *s, const struct rc_req *req)
{
	struct pollfd p = { s->chan->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, req->n) <= 0)
		return -1;
	if (ibv_get_cq_event(s->chan, &cq, &context))
		return -2;
	ibv_ack_cq_events(cq, 1);
	if (context != s)
		return -3;
	return cq == s->rcq;
}

static int serve_map(void *at, size_t len)
{
	return mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == at
		       ? 0
		       : -1;
}

void rc_serve(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep)
{
	struct ibv_qp_attr attr = req->attr;

	memset(rep, 0, sizeof(*rep));
	switch (req->op) {
	case RC_OPEN:
		rep->ret = serve_open(s, rep);
		break;
	case RC_CREATE:
		rep->ret = serve_create(s, &req->opts, rep);
		break;
	case RC_CONNECT:
		rep->ret = serve_connect(s, req);
		break;
	case RC_MODIFY:
		rep->ret = ibv_modify_qp(s->qp, &attr, req->mask);
		break;
	case RC_QUERY:
		rep->ret = ibv_query_qp(s->qp, &rep->attr, req->mask, &rep->init);
		break;
	case RC_DESTROY:
		rep->ret = serve_destroy(s);
		break;
	case RC_REG:
		rep->ret = serve_reg(s, req, rep);
		break;
	case RC_DEREG:
		rep->ret = serve_dereg(s, req->which);
		break;
	case RC_PROTECT:
		rep->ret = mprotect((void *)(uintptr_t)req->addr, req->len, req->n);
		break;
	case RC_UNMAP:
		rep->ret = munmap((void *)(uintptr_t)req->addr, req->len);
		break;
	case RC_MAP:
		rep->ret = serve_map((void *)(uintptr_t)req->addr, req->len);
		break;
	case RC_SEND:
		rep->ret = serve_send(s, req, rep);
		break;
	case RC_RECV:
		rep->ret = serve_recv(s, req, rep);
		break;
	case RC_POLL:
		rep->ret = serve_poll(s, req, rep);
		break;
	case RC_EVENT:
		rep->ret = serve_event(s, req, rep);
		break;
	case RC_ARM:
		rep->ret = ibv_req_notify_cq(req->which ? s->rcq : s->scq, req->n);
		break;
	case RC_COMP:
		rep->ret = serve_comp(s, req);
		break;
	case RC_RESIZE:
		rep->ret = ibv_resize_cq(req->which ? s->rcq : s->scq, req->n);
		break;
	case RC_EXIT:
		break;
	}
}
