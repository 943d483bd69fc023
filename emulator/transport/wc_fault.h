/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions that fail on purpose.
 *
 * Theory of operation
 * -------------------
 * Where there are rules about work requests, all their QPs' packets pass through the fabric process
 * (relay_port()), whose host has hca_host.fault. It is asked of each work request once: of a WQE when it is
 * about to be begun, of a receive when a message is about to take it. The answer is a completion status,
 * and is kept in the QP (struct hca_qp_fault), since a WQE may have to wait for its turn.
 *
 * What then happens is what happens where that status comes by itself:
 *
 *  - A status of the requester's own (LOC_*, MW_BIND, RETRY_EXC, ...) ends the WQE when those before it
 *    are complete. Nothing of it is sent; to the peer it looks as if all of it had been lost.
 *  - One that the responder has found (REM_*): the request is sent, with the AETH syndrome in
 *    burst.aeth, and the responder refuses it with that NAK, goes to ERR and has its event.
 *  - BAD_RESP_ERR: the request is executed, and its response is not taken.
 *  - One of a receive ends that, and the requester is sent the NAK that belongs to it.
 *
 * The WQEs behind one that is to fail are not begun before it has: they will be flushed.
 */
#ifndef EMULATOR_TRANSPORT_FAULT_H
#define EMULATOR_TRANSPORT_FAULT_H

#include "emulator/engine.h"
#include "emulator/transport/rxq.h"

/** wc_fault_nak() - the NAK by which the requester comes to @status; 0: it comes to it by itself. */
u8 wc_fault_nak(u32 status);
/**
 * wc_fault_wqe() - see to the faults of the WQE that *s has come to, of @len bytes.
 * Return: 0: go on with it; 1: it fails with qp->fault.status, by rule qp->fault.rule; -EAGAIN: it waits.
 */
int wc_fault_wqe(struct engine *e, struct hca_qp *qp, const struct req_state *s,
		 const struct sq_wqe *w, u64 len);
/** wc_fault_mark_burst() - @b is of the WQE that *s has come to: the responder is to refuse it, if it is so. */
void wc_fault_mark_burst(const struct hca_qp *qp, const struct req_state *s, struct burst *b);
/** wc_fault_is_bad_resp() - the response to the oldest WQE has come: whether it is a bad one. */
static inline bool wc_fault_is_bad_resp(const struct hca_qp *qp, const struct req_state *s)
{
	return unlikely(qp->fault.late) && qp->fault.wqe == s->una + 1;
}
/**
 * wc_fault_recv() - whether the receive that a message is about to take, with its first packet, fails. It has
 * room for @room bytes.
 * Return: the status that it is to end with, 0: none.
 */
u32 wc_fault_recv(struct engine *e, struct hca_qp *qp, const struct rx *rx, const struct burst *b,
		  u64 wr_id, u64 room);
/** wc_fault_recv_error() - wc_fault_recv() of unreliable QPs. Return: whether it fails; then that is done. */
bool wc_fault_recv_error(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
			 const struct rq_wqe *w);

#endif
