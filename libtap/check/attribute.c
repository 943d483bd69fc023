/* SPDX-License-Identifier: MIT */
/*
 * Attributes that ibv_modify_qp() takes, and that are often not meant; and those of two connected
 * queue pairs that do not fit. The peer is only known if it is in the same process.
 */
#include "libtap/check/checks.h"

/* struct attribute_hint - a value with a special meaning. @meaning: of @value */
static const struct attribute_hint {
	u32 bit;
	enum finding_id id;
	u8 value;
	const char *name;
	const char *meaning;
} attribute_hints[] = {
	{ IBV_QP_TIMEOUT, FINDING_QP_TIMEOUT_INFINITE, 0, "timeout",
	  "a request whose ACK is lost waits indefinitely" },
	{ IBV_QP_RETRY_CNT, FINDING_QP_RETRY_NONE, 0, "retry_cnt",
	  "the first lost packet breaks the connection" },
	{ IBV_QP_RNR_RETRY, FINDING_QP_RNR_INFINITE, 7, "rnr_retry",
	  "sends to a peer that posts no receives are retried indefinitely" },
	{ IBV_QP_MIN_RNR_TIMER, FINDING_QP_RNR_LONGEST, 0, "min_rnr_timer",
	  "a peer whose message finds no receive waits 655.36 ms, the longest time" },
};

static u8 attribute_value(const struct ibv_qp_attr *attr, u32 bit)
{
	switch (bit) {
	case IBV_QP_TIMEOUT:
		return attr->timeout;
	case IBV_QP_RETRY_CNT:
		return attr->retry_cnt;
	case IBV_QP_RNR_RETRY:
		return attr->rnr_retry;
	default:
		return attr->min_rnr_timer;
	}
}

static void attribute_report_hints(const struct check_obj *qp, const struct ibv_qp_attr *attr,
				   u32 mask)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attribute_hints); i++) {
		const struct attribute_hint *h = &attribute_hints[i];

		if ((mask & h->bit) && attribute_value(attr, h->bit) == h->value)
			check_report(h->id, (struct check_other){ NULL, 0 }, "qp%u: %s is %u: %s",
				     qp->ord, h->name, h->value, h->meaning);
	}
}

/* --- first packet sequence numbers --- */

/* struct attribute_start - the latest queue pair that started to send. @ord: 0: none */
static struct attribute_start {
	u32 ord;
	u32 psn;
	check_stack stack;
} attribute_latest;
static pthread_mutex_t attribute_lock = PTHREAD_MUTEX_INITIALIZER;

void check_modify_fork(void)
{
	pthread_mutex_init(&attribute_lock, NULL);
	memset(&attribute_latest, 0, sizeof(attribute_latest));
}

static void attribute_compare_psn(const struct check_obj *qp, u32 psn)
{
	struct attribute_start was;

	pthread_mutex_lock(&attribute_lock);
	was = attribute_latest;
	attribute_latest = (struct attribute_start){ qp->ord, psn, check_stack_here() };
	pthread_mutex_unlock(&attribute_lock);
	if (was.ord && was.ord != qp->ord && was.psn == psn)
		check_report(FINDING_QP_PSN_CONSTANT,
			     (struct check_other){ "the other queue pair", was.stack },
			     "qp%u has sq_psn 0x%x, as qp%u before", qp->ord, psn, was.ord);
}

/* --- both ends --- */

/* @from: sends READs and atomics to @to. */
static void attribute_compare(const struct check_obj *from, const struct ibv_qp_attr *a,
			      const struct check_obj *to, const struct ibv_qp_attr *b)
{
	struct check_other other = { "peer created", from->stack };

	if (a->qp_state == IBV_QPS_RTS && a->max_rd_atomic > b->max_dest_rd_atomic)
		check_report(FINDING_QP_READS_PEER, other,
			     "qp%u has max_rd_atomic %u, and its peer qp%u has max_dest_rd_atomic "
			     "%u: READs above that are refused",
			     from->ord, a->max_rd_atomic, to->ord, b->max_dest_rd_atomic);
	if (a->path_mtu > b->path_mtu)
		check_report(FINDING_QP_MTU_PEER, other,
			     "qp%u has a path MTU of %u bytes, and its peer qp%u of %u: the larger "
			     "packets are refused",
			     from->ord, 128u << a->path_mtu, to->ord, 128u << b->path_mtu);
}

static void attribute_compare_peer(const struct check_obj *qp)
{
	const int mask = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN;
	struct ibv_qp *own = (void *)(uintptr_t)qp->tap->key;
	struct check_obj *peer = check_qp_peer(qp);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a, b;

	if (!peer || peer == qp || own->qp_type != IBV_QPT_RC ||
	    ibv_query_qp(own, &a, mask, &init) ||
	    ibv_query_qp((void *)(uintptr_t)peer->tap->key, &b, mask, &init) ||
	    (b.qp_state != IBV_QPS_RTR && b.qp_state != IBV_QPS_RTS))
		return;
	attribute_compare(qp, &a, peer, &b);
	attribute_compare(peer, &b, qp, &a);
}

void check_modify_done(const struct tap_call *c)
{
	const struct ibv_qp_attr *attr = (void *)(uintptr_t)c->args[1];
	struct check_obj *qp = check_obj_find(VOBJ_QP, (void *)(uintptr_t)c->args[0]);
	u32 mask = (u32)c->args[2];

	if (!qp)
		return;
	attribute_report_hints(qp, attr, mask);
	if (mask & IBV_QP_PORT)
		check_asked_port(qp);
	if (mask & IBV_QP_SQ_PSN)
		attribute_compare_psn(qp, attr->sq_psn);
	if (!(mask & IBV_QP_STATE))
		return;
	if (attr->qp_state == IBV_QPS_RESET)
		check_qp_clear(qp);
	else if (attr->qp_state == IBV_QPS_RTS)
		attribute_compare_peer(qp);
}
