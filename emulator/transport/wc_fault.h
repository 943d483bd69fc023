/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions that fail on purpose, and work requests that are deferred.
 *
 * Theory of operation
 * -------------------
 * Where there are rules about work requests, all their QPs' packets pass through the fabric process
 * (relay_port()), whose engine has engine_ops.fault. The engine asks it once for each work request:
 * for a WQE before it begins that, for a receive before a message takes it. The answer is a
 * completion status, which the QP keeps (struct hca_qp_fault), since a WQE may have to wait for its
 * turn. It is also for how long the WQE is deferred.
 *
 * What then happens is what happens where that status comes by itself:
 *
 *  - A status of the requester's own (LOC_*, MW_BIND, RETRY_EXC, ...) ends the WQE when those
 *    before it are complete. Nothing of it is sent; to the peer it looks as if all of it had been
 *    lost.
 *  - One that the responder has found (REM_*): the request is sent, with the AETH syndrome in
 *    burst.aeth, and the responder refuses it with that NAK, goes to ERR and has its event.
 *  - BAD_RESP_ERR: the request is executed, and its response is not taken.
 *  - One of a receive ends that, and the requester is sent the NAK that belongs to it.
 *
 * The WQEs behind one that is to fail are not begun before it has: they will be flushed.
 *
 * To the peer and to the program, a deferred WQE is one whose doorbell the HCA has not seen yet:
 * those before it go on and complete, those after it wait, and the queue fills up. Its hold counts
 * from when it would have begun, and ends at a time, or when so many WQEs were posted after it.
 * When nothing before it is outstanding the QP waits as in an RNR wait, since the QP's one timer is
 * free then. ERR and RESET treat the WQE like any other that was not begun.
 */
#ifndef EMULATOR_TRANSPORT_WC_FAULT_H
#define EMULATOR_TRANSPORT_WC_FAULT_H

#include "emulator/engine.h"
#include "emulator/transport/rxq.h"

/**
 * wc_fault_nak() - the NAK syndrome that makes the requester complete with @status; 0: no NAK does.
 */
u8 wc_fault_nak(u32 status);
/**
 * wc_fault_wqe() - ask engine_ops.fault whether the WQE at s->next, of @len bytes, fails.
 * Return: 0: go on with it; 1: it fails with qp->fault.status, by rule qp->fault.rule; -EAGAIN: it
 * waits.
 */
int wc_fault_wqe(struct engine *e, struct hca_qp *qp, const struct req_state *s,
		 const struct sq_wqe *w, u64 len);
/**
 * wc_fault_mark_burst() - mark @b, a burst of the WQE at s->next, if the responder is to refuse it.
 */
void wc_fault_mark_burst(const struct hca_qp *qp, const struct req_state *s, struct burst *b);
/** wc_fault_posted() - WQEs before @posted are there. Return: whether this ends the QP's wait. */
bool wc_fault_posted(struct engine *e, struct hca_qp *qp, u32 posted);
/** wc_fault_is_bad_resp() - whether the response to the oldest WQE counts as a bad one. */
static inline bool wc_fault_is_bad_resp(const struct hca_qp *qp, const struct req_state *s)
{
	return unlikely(qp->fault.late) && qp->fault.wqe == s->una + 1;
}
/**
 * wc_fault_recv() - ask engine_ops.fault whether the receive that a message takes with its first
 * packet fails. The receive has room for @room bytes.
 * Return: its completion status, 0: it does not fail.
 */
u32 wc_fault_recv(struct engine *e, struct hca_qp *qp, const struct rx *rx, const struct burst *b,
		  u64 wr_id, u64 room);
/**
 * wc_fault_recv_error() - wc_fault_recv() for unreliable QPs, and complete the receive. Return:
 * whether it failed.
 */
bool wc_fault_recv_error(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
			 const struct rq_wqe *w);

#endif
