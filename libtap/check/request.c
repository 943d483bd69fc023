/* SPDX-License-Identifier: MIT */
/*
 * Mistakes that a work request shows when it is posted: the state of its queue pair, the target of
 * an atomic, memory to which an outstanding READ still writes, a wr_id that is taken, more segments
 * than the queue pair has, immediate data in the CPU's byte order, a send queue that stays full,
 * and posts that go on although every request fails.
 */
#include "libtap/check/checks.h"
#include "traces/calls/desc.h"

#include <arpa/inet.h>
#include <stdio.h>

/* --- the state of the queue pair --- */

/* Queue pairs of iWARP are not judged: siw answers queries of their state with IBV_QPS_RESET. */
static bool request_is_early(const struct check_obj *qp, bool send, enum ibv_qp_state *state)
{
	struct ibv_qp *q = (void *)(uintptr_t)qp->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (q->context->device->transport_type == IBV_TRANSPORT_IWARP ||
	    ibv_query_qp(q, &attr, IBV_QP_STATE, &init))
		return false;
	*state = attr.qp_state;
	return attr.qp_state == IBV_QPS_RESET ||
	       (send && (attr.qp_state == IBV_QPS_INIT || attr.qp_state == IBV_QPS_RTR));
}

void check_request_state(struct check_obj *qp, bool send)
{
	bool *ready = send ? &qp->qp.sends_ready : &qp->qp.receives_ready;
	enum ibv_qp_state state;

	if (likely(*ready))
		return;
	if (!request_is_early(qp, send, &state)) {
		*ready = true;
		/* The rdma_cm connects without a call of the program. */
		if (send && !qp->qp.place)
			check_peer_connected(qp);
		return;
	}
	check_report(FINDING_QP_POST_STATE, (struct check_other){ "created", qp->stack },
		     "qp%u is in %s: it takes no %s requests before %s", qp->ord,
		     check_enum_name(&vnames_qp_state, state), send ? "send" : "receive",
		     send ? "IBV_QPS_RTS" : "IBV_QPS_INIT");
}

/* --- the target --- */

void check_request_target(const struct check_obj *qp, u64 wr_id, u32 opcode, u64 addr)
{
	if (opcode != IBV_WR_ATOMIC_CMP_AND_SWP && opcode != IBV_WR_ATOMIC_FETCH_AND_ADD &&
	    opcode != IBV_WR_ATOMIC_WRITE)
		return;
	check_asked_need(qp, "it uses atomics");
	if (!(addr % 8))
		return;
	check_report(FINDING_WR_ATOMIC_ALIGN, (struct check_other){ NULL, 0 },
		     "qp%u, wr_id 0x%llx: the remote address 0x%llx of an atomic is not a multiple "
		     "of 8",
		     qp->ord, (unsigned long long)wr_id, (unsigned long long)addr);
}

/* --- memory of other outstanding requests --- */

bool check_request_overlaps(const struct check_wr *a, const struct check_wr *b)
{
	u32 i, k;

	for (i = 0; i < a->n_sge; i++)
		for (k = 0; k < b->n_sge; k++)
			if (a->sge[i].addr < b->sge[k].addr + b->sge[k].length &&
			    b->sge[k].addr < a->sge[i].addr + a->sge[i].length)
				return true;
	return false;
}

const struct check_wr *check_request_find_overlap(const struct check_queue *q,
						  const struct check_wr *wr, bool reads)
{
	const struct check_wr *other;
	u32 i;

	for (i = 0; i < q->n; i++) {
		other = check_queue_entry(q, i);
		if (other != wr && (other->is_read || !reads) && check_request_overlaps(wr, other))
			return other;
	}
	return NULL;
}

bool check_request_reads_memory(u32 opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

void check_request_fence(const struct check_obj *qp, const struct check_wr *wr, bool fence)
{
	const struct check_queue *q = &qp->qp.sq;
	const struct check_wr *read;

	if (!q->n_reads || fence || !check_request_reads_memory(wr->opcode))
		return;
	read = check_request_find_overlap(q, wr, true);
	if (read)
		check_report(FINDING_WR_FENCE_MISSING,
			     (struct check_other){ "READ or atomic posted", read->stack },
			     "qp%u, wr_id 0x%llx sends memory to which wr_id 0x%llx, which is "
			     "outstanding, still writes",
			     qp->ord, (unsigned long long)wr->wr_id,
			     (unsigned long long)read->wr_id);
}

/* --- wr_id --- */

void check_request_id(const struct check_obj *qp, const struct check_queue *q,
		      const struct check_wr *wr)
{
	u32 i;

	if (!check_report_is_on(FINDING_WR_ID_REPEATED))
		return;
	for (i = 0; i < q->n; i++) {
		const struct check_wr *other = check_queue_entry(q, i);

		if (other == wr || other->wr_id != wr->wr_id)
			continue;
		check_report(FINDING_WR_ID_REPEATED,
			     (struct check_other){ "posted before", other->stack },
			     "qp%u has two outstanding %s requests with wr_id 0x%llx", qp->ord,
			     q == &qp->qp.sq ? "send" : "receive", (unsigned long long)wr->wr_id);
		return;
	}
}

/* --- requests that the library refuses --- */

u64 check_request_bytes(const struct ibv_sge *sge, int n)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < n; i++)
		bytes += sge[i].length;
	return bytes;
}

static bool request_explain_send(const struct check_obj *qp, const struct ibv_send_wr *wr,
				 char *why, size_t size)
{
	const struct ibv_qp_cap *cap = &qp->qp.cap;
	u64 bytes;

	if (wr->num_sge < 0 || (u32)wr->num_sge > cap->max_send_sge) {
		snprintf(why, size, "num_sge is %d: at most %u, max_send_sge of the queue pair",
			 wr->num_sge, cap->max_send_sge);
		return true;
	}
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return false;
	bytes = check_request_bytes(wr->sg_list, wr->num_sge);
	if (bytes <= cap->max_inline_data)
		return false;
	snprintf(why, size,
		 "%llu bytes with IBV_SEND_INLINE: at most %u, max_inline_data of the "
		 "queue pair",
		 (unsigned long long)bytes, cap->max_inline_data);
	return true;
}

static bool request_explain_receive(const struct check_obj *qp, const struct ibv_recv_wr *wr,
				    char *why, size_t size)
{
	u32 max = qp->qp.cap.max_recv_sge;

	if (wr->num_sge >= 0 && (u32)wr->num_sge <= max)
		return false;
	snprintf(why, size, "num_sge is %d: at most %u, max_recv_sge of the queue pair",
		 wr->num_sge, max);
	return true;
}

/* Requests of a chain before @end. */
static u32 request_count_sends(const struct ibv_send_wr *wr, const struct ibv_send_wr *end)
{
	u32 n = 0;

	for (; wr && wr != end; wr = wr->next)
		n++;
	return n;
}

static u32 request_count_receives(const struct ibv_recv_wr *wr, const struct ibv_recv_wr *end)
{
	u32 n = 0;

	for (; wr && wr != end; wr = wr->next)
		n++;
	return n;
}

static void request_report_partial(const struct check_obj *qp, const struct tap_post *p)
{
	bool send = p->queue == TAP_SEND;
	u32 posted = send ? request_count_sends(p->send, p->bad_send)
			  : request_count_receives(p->recv, p->bad_recv);
	u32 left = send ? request_count_sends(p->bad_send, NULL)
			: request_count_receives(p->bad_recv, NULL);

	if (posted)
		check_report(FINDING_WR_POST_PARTIAL, (struct check_other){ NULL, 0 },
			     "qp%u: a list of %u %s requests is refused from wr_id 0x%llx on: the "
			     "%u before it are posted",
			     qp->ord, posted + left, send ? "send" : "receive",
			     (unsigned long long)(send ? p->bad_send->wr_id : p->bad_recv->wr_id),
			     posted);
}

void check_request_refused(const struct check_obj *qp, const struct tap_post *p)
{
	bool send = p->queue == TAP_SEND, known;
	char why[128];
	u64 wr_id;

	if (!p->bad)
		return;
	request_report_partial(qp, p);
	known = send ? request_explain_send(qp, p->bad_send, why, sizeof(why))
		     : request_explain_receive(qp, p->bad_recv, why, sizeof(why));
	wr_id = send ? p->bad_send->wr_id : p->bad_recv->wr_id;
	if (known)
		check_report(FINDING_WR_POST_INVALID,
			     (struct check_other){ "queue pair created", qp->stack },
			     "qp%u refuses wr_id 0x%llx: %s", qp->ord, (unsigned long long)wr_id,
			     why);
}

/* --- immediate data --- */

#define REQUEST_IMMS 8u /* different values that are no chance */

static bool request_has_imm(u32 opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/*
 * A small number has its zeros first in network byte order. Values whose zeros are last there, and
 * that change, are small numbers of a CPU with the lowest byte first.
 */
void check_request_imm(struct check_obj *qp, u64 wr_id, u32 opcode, u32 imm)
{
	struct check_imm *was = &qp->qp.imm;

	if (likely(!request_has_imm(opcode)) || htonl(1) == 1 || was->others ||
	    !check_report_is_on(FINDING_WR_IMM_ORDER))
		return;
	was->others = imm > UINT16_MAX;
	if (was->others || !imm || imm == was->latest)
		return;
	was->latest = imm;
	if (++was->small != REQUEST_IMMS)
		return;
	check_report(FINDING_WR_IMM_ORDER, (struct check_other){ NULL, 0 },
		     "qp%u, wr_id 0x%llx: imm_data is 0x%x in the byte order of this CPU, 0x%x in "
		     "that of the network, and %u others were like that",
		     qp->ord, (unsigned long long)wr_id, imm, ntohl(imm), REQUEST_IMMS - 1);
}

/* --- queues --- */

void check_request_unsignaled(struct check_obj *qp)
{
	const struct check_queue *q = &qp->qp.sq;
	bool full;

	pthread_mutex_lock(&qp->qp.lock);
	full = !q->lost && q->n >= q->cap && !q->n_signaled;
	pthread_mutex_unlock(&qp->qp.lock);
	if (full)
		check_report(FINDING_QP_SQ_UNSIGNALED, (struct check_other){ NULL, 0 },
			     "qp%u: all %u places of its send queue have unsignaled requests: no "
			     "completion will make room",
			     qp->ord, q->cap);
}

/* --- failures that the program does not notice --- */

/*
 * After a request has failed, all later ones are flushed. A program may post some before it
 * notices, or one that marks the end. A queue's depth of them says that it does not look.
 */
void check_request_ignores(const struct check_obj *qp, struct check_queue *q)
{
	if (likely(!q->failed) || ++q->posts_after != q->cap + 1)
		return;
	check_report(FINDING_WC_STATUS_IGNORED,
		     (struct check_other){ "failed completion polled", q->failed_stack },
		     "qp%u: %u %s requests were posted after a completion with %s was polled: "
		     "they are flushed",
		     qp->ord, q->posts_after, q == &qp->qp.sq ? "send" : "receive",
		     check_enum_name(&vnames_wc_status, q->failed));
}
