/* SPDX-License-Identifier: MIT */
/*
 * Destroying what outstanding work requests use.
 *
 * A queue pair in IBV_QPS_ERR or IBV_QPS_RESET executes nothing any more, and the program may not
 * know which state it is in: the device is asked before anything is reported.
 */
#include "libtap/check/checks.h"

/* struct ending_use - the first request that uses a region or an address handle. */
struct ending_use {
	enum vobj kind;
	u32 ord;
	u32 qp;
	bool receive;
	struct check_wr wr;
};

static bool ending_qp_executes(const struct check_obj *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp((void *)(uintptr_t)qp->tap->key, &attr, IBV_QP_STATE, &init))
		return false;
	return attr.qp_state == IBV_QPS_RTR || attr.qp_state == IBV_QPS_RTS ||
	       attr.qp_state == IBV_QPS_SQD || attr.qp_state == IBV_QPS_SQE;
}

/* Requests that were flushed, and whose completions the program has not seen. */
static void ending_check_flushed(struct check_obj *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	u32 sends, receives;

	pthread_mutex_lock(&qp->qp.lock);
	sends = qp->qp.sq.lost ? 0 : qp->qp.sq.n;
	receives = qp->qp.rq.lost ? 0 : qp->qp.rq.n;
	pthread_mutex_unlock(&qp->qp.lock);
	if ((!sends && !receives) ||
	    ibv_query_qp((void *)(uintptr_t)qp->tap->key, &attr, IBV_QP_STATE, &init) ||
	    attr.qp_state != IBV_QPS_ERR)
		return;
	check_report(FINDING_QP_DESTROY_UNFLUSHED, (struct check_other){ NULL, 0 },
		     "qp%u is destroyed in IBV_QPS_ERR, and the completions of %u send and %u "
		     "receive requests were not polled",
		     qp->ord, sends, receives);
}

void check_qp_ending(const void *obj)
{
	struct check_obj *qp = check_obj_find(VOBJ_QP, obj);
	struct check_wr oldest;
	u32 n, n_signaled;

	if (!qp)
		return;
	if (check_report_is_on(FINDING_QP_DESTROY_UNFLUSHED))
		ending_check_flushed(qp);
	pthread_mutex_lock(&qp->qp.lock);
	n = qp->qp.sq.lost ? 0 : qp->qp.sq.n;
	n_signaled = qp->qp.sq.n_signaled;
	if (n)
		oldest = qp->qp.sq.ring[qp->qp.sq.head];
	pthread_mutex_unlock(&qp->qp.lock);
	/* Unsignaled requests at the end complete without a trace. */
	if (!n || !n_signaled || !ending_qp_executes(qp))
		return;
	check_report(FINDING_QP_DESTROY_OUTSTANDING,
		     (struct check_other){ "oldest request posted", oldest.stack },
		     "qp%u is destroyed; the completions of %u of its %u outstanding send requests "
		     "were not polled",
		     qp->ord, n_signaled, n);
}

static bool ending_wr_uses(const struct check_wr *wr, const struct ending_use *use)
{
	u32 k;

	if (use->kind == VOBJ_AH)
		return wr->ah_ord == use->ord;
	for (k = 0; k < wr->n_sge; k++)
		if (wr->mr[k] == use->ord)
			return true;
	return false;
}

/* Requests up to the newest signaled one: later ones complete without a trace. */
static u32 ending_visible(const struct check_queue *q)
{
	u32 n = q->n;

	while (n && !check_queue_entry(q, n - 1)->signaled)
		n--;
	return n;
}

/*
 * @datagrams: of which none is sent again: an answer of the target says that it was executed, too,
 * and no later completion is needed
 */
static bool ending_find_in_queue(const struct check_queue *q, bool datagrams,
				 struct ending_use *use)
{
	u32 n = datagrams ? ending_visible(q) : q->n, i;

	for (i = 0; !q->lost && i < n; i++)
		if (ending_wr_uses(check_queue_entry(q, i), use)) {
			use->wr = *check_queue_entry(q, i);
			return true;
		}
	return false;
}

static bool ending_find_use(struct check_obj *qp, void *arg)
{
	struct ending_use *use = arg;
	bool found;

	pthread_mutex_lock(&qp->qp.lock);
	use->receive = false;
	found = ending_find_in_queue(&qp->qp.sq, qp->tap->datagrams, use);
	if (!found) {
		use->receive = true;
		found = ending_find_in_queue(&qp->qp.rq, false, use);
	}
	pthread_mutex_unlock(&qp->qp.lock);
	use->qp = qp->ord;
	return found && ending_qp_executes(qp);
}

void check_mr_ending(const void *obj)
{
	struct check_obj *mr = check_obj_find(VOBJ_MR, obj);
	struct ending_use use = { .kind = VOBJ_MR, .ord = mr ? mr->ord : 0 };

	if (!mr || !__atomic_load_n(&mr->mr.uses, __ATOMIC_RELAXED) ||
	    !check_obj_for_each(VOBJ_QP, ending_find_use, &use))
		return;
	check_report(use.receive ? FINDING_MR_DEREG_POSTED : FINDING_MR_DEREG_OUTSTANDING,
		     (struct check_other){ "request posted", use.wr.stack },
		     "mr%u is deregistered; %s request wr_id 0x%llx of qp%u still names it",
		     mr->ord, use.receive ? "receive" : "send", (unsigned long long)use.wr.wr_id,
		     use.qp);
}

void check_ah_ending(const void *obj)
{
	struct check_obj *ah = check_obj_find(VOBJ_AH, obj);
	struct ending_use use = { .kind = VOBJ_AH, .ord = ah ? ah->ord : 0 };

	if (!ah || !__atomic_load_n(&ah->ah.uses, __ATOMIC_RELAXED) ||
	    !check_obj_for_each(VOBJ_QP, ending_find_use, &use))
		return;
	check_report(FINDING_AH_DESTROY_OUTSTANDING,
		     (struct check_other){ "request posted", use.wr.stack },
		     "ah%u is destroyed; send request wr_id 0x%llx of qp%u still names it", ah->ord,
		     (unsigned long long)use.wr.wr_id, use.qp);
}

/* --- objects that others use --- */

/* struct ending_user - an object that uses another one. */
struct ending_user {
	const void *obj;
	const char *name;
	u32 ord;
	check_stack stack;
};

static bool ending_qp_uses(struct check_obj *c, void *arg)
{
	const struct ibv_qp *qp = (void *)(uintptr_t)c->tap->key;
	struct ending_user *u = arg;

	if (qp->pd != u->obj && qp->send_cq != u->obj && qp->recv_cq != u->obj && qp->srq != u->obj)
		return false;
	u->name = vobj_names[VOBJ_QP];
	u->ord = c->ord;
	u->stack = c->stack;
	return true;
}

static bool ending_mr_uses(struct check_obj *c, void *arg)
{
	struct ending_user *u = arg;

	if (c->mr.pd != u->obj)
		return false;
	u->name = vobj_names[VOBJ_MR];
	u->ord = c->ord;
	u->stack = c->stack;
	return true;
}

void check_busy(enum vobj kind, const void *obj)
{
	struct check_obj *c = check_obj_find(kind, obj);
	struct ending_user user = { .obj = obj };

	if (!c)
		return;
	/* Others, such as a window that is bound to a region, have no list here. */
	if (!check_obj_for_each(VOBJ_QP, ending_qp_uses, &user) &&
	    !check_obj_for_each(VOBJ_MR, ending_mr_uses, &user)) {
		check_report(FINDING_OBJECT_DESTROY_BUSY,
			     (struct check_other){ "created", c->stack },
			     "%s%u is not destroyed (EBUSY): another object uses it",
			     vobj_names[kind], c->ord);
		return;
	}
	check_report(FINDING_OBJECT_DESTROY_BUSY,
		     (struct check_other){ "user created", user.stack },
		     "%s%u is not destroyed (EBUSY): %s%u uses it", vobj_names[kind], c->ord,
		     user.name, user.ord);
}
