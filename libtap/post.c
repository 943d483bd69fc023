/* SPDX-License-Identifier: MIT */
/* Wrappers of posts of work requests, through the tables of contexts and WQs. */
#include "libtap/post.h"
#include "libtap/process.h"

static inline bool tap_post_is_quiet(enum tap_queue queue, struct tap_obj *o, const void *chain)
{
	return tap.post_quiet && tap_may_be_quiet() && tap.post_quiet(queue, o, chain);
}

/* Shows a post to the users and carries it out. The caller has set what the users see. */
static inline __attribute__((always_inline)) int tap_post_run(struct tap_post *p)
{
	int saved = errno;
	bool carry_out;

	p->bad = NULL;
	carry_out = TAP_BEGIN(post_begin, p);
	if (carry_out) {
		errno = saved;
		p->ret = p->low(p->handle, p->chain, &p->bad);
	}
	saved = errno;
	TAP_END(post_end, p);
	tap_leave();
	errno = saved;
	return p->ret;
}

int tap_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct tap_obj *o = tap_obj_find(VOBJ_QP, qp);
	__typeof__(&tap_post_send) low = tap_ctx_of(o, qp->context)->ops.post_send;
	struct tap_post p;

	if (tap_post_is_quiet(TAP_SEND, o, wr) || !tap_enter())
		return low(qp, wr, bad);
	p.queue = TAP_SEND;
	p.obj = o;
	p.handle = qp;
	p.send = wr;
	p.low = (tap_post_fn)(void *)low;
	if (tap_post_run(&p) && bad)
		*bad = p.bad_send;
	return p.ret;
}

/* Posts receives to a queue that is known. */
static int tap_post_receives(enum tap_queue queue, struct tap_obj *o, void *handle, void *low,
			     struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct tap_post p;

	p.queue = queue;
	p.obj = o;
	p.handle = handle;
	p.recv = wr;
	p.low = (tap_post_fn)low;
	if (tap_post_run(&p) && bad)
		*bad = p.bad_recv;
	return p.ret;
}

int tap_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct tap_obj *o = tap_obj_find(VOBJ_QP, qp);
	__typeof__(&tap_post_recv) low = tap_ctx_of(o, qp->context)->ops.post_recv;

	if (tap_post_is_quiet(TAP_RECV, o, wr) || !tap_enter())
		return low(qp, wr, bad);
	return tap_post_receives(TAP_RECV, o, qp, (void *)low, wr, bad);
}

int tap_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct tap_obj *o = tap_obj_find(VOBJ_SRQ, srq);
	__typeof__(&tap_post_srq_recv) low = tap_ctx_of(o, srq->context)->ops.post_srq_recv;

	if (!tap_enter())
		return low(srq, wr, bad);
	return tap_post_receives(TAP_SRQ, o, srq, (void *)low, wr, bad);
}

int tap_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct tap_obj *o = tap_obj_find(VOBJ_WQ, wq);
	__typeof__(wq->post_recv) low = (__typeof__(low))o->low[0];

	if (!tap_enter())
		return low(wq, wr, bad);
	return tap_post_receives(TAP_WQ, o, wq, (void *)low, wr, bad);
}

int tap_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
{
	struct tap_obj *o = tap_obj_find(VOBJ_SRQ, srq);
	__typeof__(&tap_post_srq_ops) low = tap_ctx_of(o, srq->context)->vx.post_srq_ops;
	struct tap_post p;

	if (!tap_enter())
		return low(srq, op, bad);
	p.queue = TAP_TAG_OPS;
	p.obj = o;
	p.handle = srq;
	p.ops = op;
	p.low = (tap_post_fn)(void *)low;
	if (tap_post_run(&p) && bad)
		*bad = p.bad_ops;
	return p.ret;
}
