/* SPDX-License-Identifier: MIT */
/* Posting by either API, and completions. See tests/lib/c/vb.h. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

struct vb_wr vb_wr(enum ibv_wr_opcode op, uint64_t wr_id, const struct vb_side *s, const void *addr,
		   uint32_t len)
{
	struct vb_wr wr = {
		.wr_id = wr_id,
		.op = op,
		.flags = IBV_SEND_SIGNALED,
		.num_sge = addr ? 1 : 0,
	};

	if (addr)
		wr.sge[0] = (struct ibv_sge){ (uintptr_t)addr, len, s->info.lkey };
	return wr;
}

struct sends {
	int i, n, bad;
	bool ex;
	struct vb_wr wr[VB_CHAIN];
};

_Static_assert(sizeof(struct sends) <= VB_ARG, "goes to the other side in one piece");

static void plain_wr(const struct vb_side *s, const struct vb_wr *w, struct ibv_send_wr *wr)
{
	wr->wr_id = w->wr_id;
	wr->sg_list = (struct ibv_sge *)w->sge;
	wr->num_sge = w->num_sge;
	wr->opcode = w->op;
	wr->send_flags = w->flags;
	wr->imm_data = w->imm;
	wr->qp_type.xrc.remote_srqn = w->srqn;
	switch (w->op) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = w->raddr;
		wr->wr.atomic.rkey = w->rkey;
		wr->wr.atomic.compare_add = w->compare;
		wr->wr.atomic.swap = w->swap;
		break;
	case IBV_WR_BIND_MW:
		wr->bind_mw.mw = w->mw ? s->mw[w->mw - 1] : NULL;
		wr->bind_mw.rkey = w->bind_rkey;
		wr->bind_mw.bind_info.mr = s->mr;
		wr->bind_mw.bind_info.addr = w->bind_addr;
		wr->bind_mw.bind_info.length = w->bind_len;
		wr->bind_mw.bind_info.mw_access_flags = w->bind_access;
		break;
	case IBV_WR_TSO:
		wr->tso.hdr = (void *)w->hdr;
		wr->tso.hdr_sz = w->hdr_sz;
		wr->tso.mss = w->mss;
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		wr->wr.rdma.remote_addr = w->raddr;
		wr->wr.rdma.rkey = w->rkey;
		break;
	default:
		break;
	}
	if (w->ah || w->rqpn) {
		wr->wr.ud.ah = w->ah ? s->ah[w->ah - 1] : NULL;
		wr->wr.ud.remote_qpn = w->rqpn;
		wr->wr.ud.remote_qkey = w->rqkey;
	}
}

static int post_plain(struct vb_side *s, struct sends *p)
{
	struct ibv_send_wr wr[VB_CHAIN], *bad = NULL;
	int ret;

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < p->n; i++) {
		plain_wr(s, &p->wr[i], &wr[i]);
		wr[i].next = i + 1 < p->n ? &wr[i + 1] : NULL;
	}
	ret = ibv_post_send(s->qp[p->i].qp, wr, &bad);
	p->bad = ret && bad ? (int)(bad - wr) : -1;
	return ret;
}

static void build_memory(const struct vb_side *s, struct ibv_qp_ex *ex, const struct vb_wr *w)
{
	struct ibv_mw_bind_info info = {
		.mr = s->mr,
		.addr = w->bind_addr,
		.length = w->bind_len,
		.mw_access_flags = w->bind_access,
	};

	if (w->op == IBV_WR_BIND_MW)
		ibv_wr_bind_mw(ex, w->mw ? s->mw[w->mw - 1] : NULL, w->bind_rkey, &info);
	else
		ibv_wr_local_inv(ex, w->imm);
}

void vb_wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t len, uint64_t what)
{
	void (*flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);

	memcpy(&flush, &ex->wr_atomic_write + 1, sizeof(flush));
	flush(ex, rkey, addr, len, what & 15, (uint8_t)(what >> 4));
}

static void build(const struct vb_side *s, struct ibv_qp_ex *ex, const struct vb_wr *w)
{
	switch ((int)w->op) {
	case VB_WR_FLUSH:
		return vb_wr_flush(ex, w->rkey, w->raddr, w->compare, w->swap);
	case IBV_WR_SEND:
		return ibv_wr_send(ex);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(ex, w->imm);
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(ex, w->imm);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(ex, w->rkey, w->raddr);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(ex, w->rkey, w->raddr, w->imm);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(ex, w->rkey, w->raddr);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(ex, w->rkey, w->raddr, w->compare, w->swap);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(ex, w->rkey, w->raddr, w->compare);
	case IBV_WR_ATOMIC_WRITE:
		return ibv_wr_atomic_write(ex, w->rkey, w->raddr, (void *)w->sge[0].addr);
	case IBV_WR_TSO:
		return ibv_wr_send_tso(ex, (void *)w->hdr, w->hdr_sz, w->mss);
	default:
		return build_memory(s, ex, w);
	}
}

static bool has_data(const struct vb_wr *w)
{
	return w->op != VB_WR_FLUSH && w->op != IBV_WR_BIND_MW && w->op != IBV_WR_LOCAL_INV &&
	       w->op != IBV_WR_ATOMIC_WRITE;
}

static void set_data(struct ibv_qp_ex *ex, const struct vb_wr *w)
{
	struct ibv_data_buf buf[VB_SGE];

	if (!(w->flags & IBV_SEND_INLINE) && w->num_sge == 1)
		return ibv_wr_set_sge(ex, w->sge[0].lkey, w->sge[0].addr, w->sge[0].length);
	if (!(w->flags & IBV_SEND_INLINE))
		return ibv_wr_set_sge_list(ex, (size_t)w->num_sge, w->sge);
	if (w->num_sge == 1)
		return ibv_wr_set_inline_data(ex, (void *)(uintptr_t)w->sge[0].addr,
					      w->sge[0].length);
	for (int i = 0; i < w->num_sge; i++) {
		buf[i].addr = (void *)(uintptr_t)w->sge[i].addr;
		buf[i].length = w->sge[i].length;
	}
	ibv_wr_set_inline_data_list(ex, (size_t)w->num_sge, buf);
}

static int post_ex(struct vb_side *s, const struct sends *p)
{
	struct ibv_qp_ex *ex = s->qp[p->i].ex;

	if (!ex)
		return EBADF;
	ibv_wr_start(ex);
	for (int i = 0; i < p->n; i++) {
		const struct vb_wr *w = &p->wr[i];

		ex->wr_id = w->wr_id;
		ex->wr_flags = w->flags & ~(unsigned int)IBV_SEND_INLINE;
		build(s, ex, w);
		if (w->srqn)
			ibv_wr_set_xrc_srqn(ex, w->srqn);
		if (w->ah || w->rqpn)
			ibv_wr_set_ud_addr(ex, w->ah ? s->ah[w->ah - 1] : NULL, w->rqpn, w->rqkey);
		if (has_data(w))
			set_data(ex, w);
	}
	return ibv_wr_complete(ex);
}

static int do_sends(struct vb_side *s, void *arg)
{
	struct sends *p = arg;

	p->bad = -1;
	return p->ex ? post_ex(s, p) : post_plain(s, p);
}

int vb_sends(struct vb_side *s, int i, bool ex, const struct vb_wr *wr, int n, int *bad)
{
	static struct sends p;
	int ret;

	p.i = i;
	p.n = n;
	p.ex = ex;
	memcpy(p.wr, wr, sizeof(*wr) * (size_t)n);
	ret = vb_call(s, do_sends, &p, sizeof(p));
	if (bad)
		*bad = p.bad;
	return ret;
}

int vb_send(struct vb_side *s, int i, bool ex, const struct vb_wr *wr)
{
	return vb_sends(s, i, ex, wr, 1, NULL);
}

struct recv {
	int i, n;
	uint64_t wr_id;
	struct ibv_sge sge[VB_SGE];
};

static int do_recv(struct vb_side *s, void *arg)
{
	struct recv *r = arg;
	struct ibv_recv_wr wr = { .wr_id = r->wr_id, .sg_list = r->sge, .num_sge = r->n }, *bad;

	if (r->i < 0)
		return ibv_post_srq_recv(s->srq[-r->i - 1], &wr, &bad);
	return ibv_post_recv(s->qp[r->i].qp, &wr, &bad);
}

int vb_recv(struct vb_side *s, int i, uint64_t wr_id, const struct ibv_sge *sge, int n)
{
	struct recv r = { .i = i, .n = n, .wr_id = wr_id };

	memcpy(r.sge, sge, sizeof(*sge) * (size_t)n);
	return vb_call(s, do_recv, &r, sizeof(r));
}

int vb_recv1(struct vb_side *s, int i, uint64_t wr_id, const void *addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, s->info.lkey };

	return vb_recv(s, i, wr_id, &sge, 1);
}

struct poll {
	int i, ms;
	enum vb_cq which;
	struct ibv_wc wc;
};

static int do_poll(struct vb_side *s, void *arg)
{
	struct poll *p = arg;
	struct ibv_cq *cq = p->which == VB_SCQ	 ? s->qp[p->i].scq
			    : p->which == VB_RCQ ? s->qp[p->i].rcq
						 : s->srq_cq[p->i];

	return cq ? poll_cq(cq, p->ms, &p->wc) : 0;
}

bool vb_poll(struct vb_side *s, int i, enum vb_cq which, int ms, struct ibv_wc *wc)
{
	struct poll p = { .i = i, .ms = ms, .which = which };
	int n = vb_call(s, do_poll, &p, sizeof(p));

	*wc = p.wc;
	return n == 1;
}

bool vb_done(struct vb_side *s, int i, enum vb_cq which, uint64_t wr_id, enum ibv_wc_opcode op,
	     struct ibv_wc *wc)
{
	if (!vb_poll(s, i, which, VB_WAIT, wc)) {
		note("no completion");
		return false;
	}
	if (wc->status || wc->wr_id != wr_id || wc->opcode != op) {
		note("completion: wr_id %lu (not %lu), status %s, opcode %d (not %d)",
		     (unsigned long)wc->wr_id, (unsigned long)wr_id, ibv_wc_status_str(wc->status),
		     wc->opcode, op);
		return false;
	}
	return true;
}

bool vb_status(struct vb_side *s, int i, enum vb_cq which, uint64_t wr_id,
	       enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!vb_poll(s, i, which, VB_WAIT, &wc)) {
		note("no completion");
		return false;
	}
	if (wc.status != status || wc.wr_id != wr_id) {
		note("completion: wr_id %lu (not %lu), status %s, not %s", (unsigned long)wc.wr_id,
		     (unsigned long)wr_id, ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
		return false;
	}
	return true;
}

bool vb_nothing(struct vb_side *s, int i, enum vb_cq which)
{
	struct ibv_wc wc;

	if (!vb_poll(s, i, which, VB_SHORT, &wc))
		return true;
	note("unexpected completion: wr_id %lu, status %s", (unsigned long)wc.wr_id,
	     ibv_wc_status_str(wc.status));
	return false;
}

static int do_event(struct vb_side *s, void *arg)
{
	struct pollfd p = { s->ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event ev;

	if (poll(&p, 1, *(int *)arg) <= 0 || ibv_get_async_event(s->ctx, &ev))
		return -1;
	ibv_ack_async_event(&ev);
	return (int)ev.event_type;
}

int vb_event(struct vb_side *s, int ms)
{
	return vb_call(s, do_event, &ms, sizeof(ms));
}
