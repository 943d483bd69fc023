/* SPDX-License-Identifier: MIT */
/**
 * DOC: scalable reliable datagrams (SRD): docs/design/srd.md.
 */
#ifndef EMULATOR_TRANSPORT_SRD_H
#define EMULATOR_TRANSPORT_SRD_H

#include "emulator/engine.h"
#include "emulator/queue/srd_flow.h"

/**
 * enum srd_status - what became of a work request, as an EFA device reports it: ibv_wc.vendor_err.
 * The numbers are those of efa_io_comp_status in rdma-core.
 */
enum srd_status {
	SRD_OK,
	SRD_FLUSHED,
	SRD_LOCAL_QP_ERROR,
	SRD_LOCAL_UNSUPPORTED_OP,
	SRD_LOCAL_INVALID_AH,
	SRD_LOCAL_INVALID_LKEY,
	SRD_LOCAL_BAD_LENGTH,
	SRD_REMOTE_BAD_ADDRESS,
	SRD_REMOTE_ABORT,
	SRD_REMOTE_BAD_DEST_QPN,
	SRD_REMOTE_RNR,
	SRD_REMOTE_BAD_LENGTH,
	SRD_REMOTE_BAD_STATUS,
	SRD_LOCAL_UNRESP_REMOTE,
};

/* The RNR timer of every QP: SRD has no attribute for it. 0.64 ms (IBTA table 45). */
#define SRD_RNR_TIMER 12u
/* How often an RNR NAK is answered, if the program does not say: always (IBTA 9.7.5.2.8). */
#define SRD_RNR_RETRY 7u

/* --- srd_window.c --- */

/** srd_source() - a QP's number with its epoch: a QP that was reset begins its flows anew. */
u32 srd_source(const struct hca_qp *qp);
/** srd_active() - WQEs that were begun and are not complete, a bit each from s->una on. */
u64 srd_active(const struct req_state *s);
/** srd_msg_of() - the entry of a WQE. */
struct srd_msg *srd_msg_of(struct hca *hca, const struct hca_qp *qp, u32 wqe);
/** srd_msg_ready() - the message is to be sent, or sent again. */
void srd_msg_ready(struct hca *hca, const struct hca_qp *qp, u32 wqe);
/** srd_msg_wait() - the message is not sent for @ns. */
void srd_msg_wait(struct engine *e, const struct hca_qp *qp, u32 wqe, u64 ns);
/** srd_retire() - *s has WQE @wqe complete: @una moves past all that are. */
void srd_retire(struct req_state *s, u32 wqe);
/** srd_is_idle() - whether no message is under way. */
bool srd_is_idle(const struct hca_qp *qp);

/* --- srd_send.c --- */

/** srd_step() - send the next message. Return: whether it is worth while to call again. */
bool srd_step(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);
/** srd_timer_arm() - set the QP's timer to the earliest deadline of its messages. */
void srd_timer_arm(struct engine *e, struct hca_qp *qp);
/** srd_timeout() - the QP's timer has fired. */
void srd_timeout(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);
/** srd_recover() - a holder died: send again whatever has no answer. */
void srd_recover(struct hca *hca, struct hca_qp *qp);
/** srd_segment_end() - the segment of message @wqe has arrived: the next one, or it is complete. */
void srd_segment_end(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe);
/** srd_complete() - message @wqe ends. @status: enum srd_status */
void srd_complete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe,
		  enum srd_status status, u32 cause, u32 info);

/* --- srd_fault.c --- */

/**
 * srd_fault_ask() - ask engine_ops.fault about message @wqe, once, before it begins.
 * @status: out: it ends with this completion status, by fault rule *rule; 0: it does not
 * Return: whether it ends, or waits.
 */
bool srd_fault_ask(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 wqe,
		   u32 *status, u32 *rule);
/** srd_fault_posted() - WQEs before @posted are there: deferred messages may wait for no more. */
void srd_fault_posted(struct hca *hca, const struct hca_qp *qp, u32 posted);

/* --- srd_answer.c --- */

/** srd_answer_input() - an answer arrives: ACK, NAK or READ response. Return: as hca_input(). */
int srd_answer_input(struct engine *e, struct hca_qp *qp, const struct burst *b);

/* --- srd_recv.c --- */

/** srd_input() - a request arrives. Return: as hca_input(). */
int srd_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** srd_refuse() - answer a request to a QP that does not exist. */
void srd_refuse(struct engine *e, const struct burst *b);
/** srd_accepts() - whether the QP would take a burst now: a request that has not arrived before. */
bool srd_accepts(struct engine *e, const struct hca_qp *qp, const struct burst *b);
/**
 * srd_refuse_by_rule() - answer a request, which srd_accepts(), as fault rule @rule says.
 * @aeth: the syndrome of an RNR NAK with its timer, or of a NAK
 * Return: as hca_input().
 */
int srd_refuse_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 aeth,
		       u32 rule);
/** srd_is_answer() - whether a burst is for the requester. */
static inline bool srd_is_answer(const struct burst *b)
{
	return b->op == BOP_ACK || b->op == BOP_READ_RESP;
}

#endif
