/* SPDX-License-Identifier: MIT */
/* Attributes that ibv_modify_qp() takes, and that are often not meant. */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"

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

static void attribute_qp_stopped(const struct check_obj *qp)
{
	check_race_failed(qp);
	check_guard_remove_qp(qp);
}

static void attribute_qp_reset(struct check_obj *qp)
{
	check_performance_unused(qp);
	check_qp_clear(qp);
}

static void attribute_show(struct check_obj *qp)
{
	pthread_mutex_lock(&qp->qp.lock);
	check_board_put(qp);
	pthread_mutex_unlock(&qp->qp.lock);
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
	if (mask & IBV_QP_QKEY && qp->qp.place)
		attribute_show(qp);
	if (!(mask & IBV_QP_STATE))
		return;
	if (attr->qp_state == IBV_QPS_RESET)
		attribute_qp_reset(qp);
	else if (attr->qp_state == IBV_QPS_ERR)
		attribute_qp_stopped(qp);
	else if (attr->qp_state == IBV_QPS_RTR)
		attribute_show(qp);
	else if (attr->qp_state == IBV_QPS_RTS)
		check_peer_connected(qp);
}
