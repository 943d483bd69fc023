/* SPDX-License-Identifier: MIT */
/**
 * DOC: the responder (responder.c, resp_read.c), and what others who take requests need of it.
 */
#ifndef EMULATOR_TRANSPORT_RESPONDER_H
#define EMULATOR_TRANSPORT_RESPONDER_H

#include "emulator/engine.h"
#include "emulator/qp.h"

struct rx;

/** resp_input() - a request arrives at an RC or XRC QP. Return: as hca_input(). */
int resp_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** resp_start() - initialise a burst to the QP's peer: one packet, no payload. */
void resp_start(const struct hca_qp *qp, u32 psn, u8 op, u8 syndrome, struct burst *b);
/**
 * resp_invalidate() - SEND_WITH_INV: invalidate the key, after the payload was copied and before
 * the message is committed, so that a holder's death in between does not leave it valid.
 * Return: 0 or -EACCES.
 */
int resp_invalidate(struct hca *hca, const struct hca_qp *qp, const struct burst *b);
/**
 * resp_invalidate_refused() - the key is no window of the QP's: the receive ends in error, the QP
 * goes to ERR, and nothing is answered (IBTA 9.9.6.3, class J). Return: 0.
 */
int resp_invalidate_refused(struct engine *e, struct hca_qp *qp, struct rx *rx,
			    const struct burst *b);
/** resp_rnr() - no receive is posted: answer with an RNR NAK, with a journal entry. */
int resp_rnr(struct engine *e, struct hca_qp *qp, u32 psn);
/**
 * wire_send_rnr() - send an RNR NAK. @timer: RNR timer code (IBTA table 45). Return: as
 * wire_send_ack().
 */
int wire_send_rnr(struct engine *e, struct hca_qp *qp, u32 psn, u32 timer);
/**
 * resp_unreached() - a copy has returned -EAGAIN, or -ESRCH: the process of one side has died.
 * Return: -EAGAIN, or 0: the burst is dropped.
 */
__cold int resp_unreached(struct engine *e, const struct burst *b, int ret);
/** resp_ack_asked() - send an ACK if the burst requests one. Return: 0. */
int resp_ack_asked(struct engine *e, struct hca_qp *qp, const struct burst *b);
/**
 * resp_nak_fail() - refuse the request: NAK, QP to ERR, event.
 * @recv_status: status of the current receive's completion; WCS_SUCCESS: the receive stays
 */
int resp_nak_fail(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak,
		  u32 recv_status, u32 event, u32 cause, u32 info);
/**
 * resp_nak_by_rule() - refuse the request with that syndrome and all that goes with it, because
 * rule @rule wants it.
 * Return: as hca_input(); a syndrome that no request is refused with drops it.
 */
int resp_nak_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak, u32 rule);
/**
 * resp_recv_nak_by_rule() - end a receive that wc_fault_recv() fails, and NAK its request. Return:
 * as hca_input().
 */
int resp_recv_nak_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** resp_srq() - the SRQ that a request takes its receive from; NULL: the QP's own queue. */
static inline struct hca_srq *resp_srq(struct hca *hca, const struct hca_qp *qp,
				       const struct burst *b)
{
	return qp_recv_srq(hca, qp, b->srqn);
}
/** resp_pd() - the protection domain that the request's R_Key must belong to. */
u32 resp_pd(struct hca *hca, const struct hca_qp *qp, const struct burst *b);
/**
 * resp_fetch() - copy a request's payload. Return: 0, -EAGAIN, -ESRCH (its sender died), -EFAULT_*.
 */
int resp_fetch(struct engine *e, const struct hca_qp *qp, const struct burst *b,
	       const struct hca_mem *dst, u64 at);
/**
 * resp_length_ok() - whether a packet's length fits the path MTU (IBTA 9.7.4.1.6). If both sides
 * have set different ones, only single packets that fit both pass.
 */
bool resp_length_ok(const struct hca_qp *qp, const struct burst *b);
/** resp_comm_est() - the first packet has reached a QP in RTR: raise COMM_EST. */
void resp_comm_est(struct engine *e, struct hca_qp *qp);
/** resp_flush() - execute a FLUSH. Return: as hca_input(). */
int resp_flush(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** resp_read(), resp_atomic() - execute a READ, an atomic. @dup: the request is a duplicate. */
int resp_read(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup);
int resp_atomic(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup);
/** resp_allows_read() - whether the QP's rights and the key allow what a READ asks for. */
bool resp_allows_read(struct hca *hca, const struct hca_qp *qp, const struct burst *b);
/**
 * resp_empty() - answer with the READ response of 0 bytes that ATOMIC WRITE and FLUSH have (IBTA
 * annex A19). Return: as hca_input().
 */
int resp_empty(struct engine *e, struct hca_qp *qp, u32 psn);

#endif
