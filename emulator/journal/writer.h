/* SPDX-License-Identifier: MIT */
/**
 * DOC: writing the journal, for the files of the model. All of it is for rare branches, with the token held.
 *
 * @cause: enum journal_cause, @info what that says; for CAUSE_FAULT the rule's number
 */
#ifndef EMULATOR_JOURNAL_WRITER_H
#define EMULATOR_JOURNAL_WRITER_H

#include "emulator/engine.h"

/* --- writer.c --- */

/** journal_send() - a send work request fails with @status: enum ib_wc_status. @w: NULL: not known */
__cold void journal_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
			 u32 status, u32 cause, u32 info);
/** journal_recv() - a receive fails, on which @b has come. @wr_id: NULL: there is none */
__cold void journal_recv(struct engine *e, const struct hca_qp *qp, const struct burst *b,
			 const u64 *wr_id, u32 status, u32 cause, u32 info);
/** journal_tag() - the rendezvous of a tag fails. */
__cold void journal_tag(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag,
			u32 status, u32 cause, u32 info);
/** journal_qp_event() - an asynchronous event of a QP; the cause of some follows from the event. */
__cold void journal_qp_event(struct engine *e, const struct hca_qp *qp, u32 event, u32 cause,
			     u32 info);
/** journal_nak() - the responder answers @b (NULL: nothing in particular) at @psn with a NAK. */
__cold void journal_nak(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 psn,
			u8 syndrome, u32 cause, u32 info);
/** journal_retry() - the requester goes back to its oldest unacknowledged packet, or will after a wait. */
__cold void journal_retry(struct engine *e, struct hca_qp *qp, u32 cause, u32 info);
/** journal_flush() - the program has modified the QP to ERR with @n work requests on it. */
__cold void journal_flush(struct engine *e, const struct hca_qp *qp, u32 n);
/** journal_client() - what has happened to a client (@owner: index + 1) otherwise, on device @dev. */
__cold void journal_client(struct engine *e, u32 owner, u32 dev, u32 kind, u32 status, u32 cause,
			   u32 info);
/**
 * journal_of_call() - an entry about a call of a client that fault rule @rule makes fail with @err, to be
 * added; the token is not needed. @call: the function's name
 */
struct journal_entry journal_of_call(const struct hca *hca, u32 client, const char *call, u32 err,
				     u32 rule);
/**
 * journal_cm_errno() - an address, a route or a group is not to be had: enum cm_event_type with that status.
 * @on_purpose: a fault rule says so
 */
__cold void journal_cm_errno(struct engine *e, const struct hca_cmid *id, u32 event, s32 status,
			     bool on_purpose);
/** journal_port() - an event of a port. */
__cold void journal_port(struct engine *e, u32 dev, u32 port, u32 event);
/** journal_client_end() - a client has died, if it had connected QPs: before these are destroyed. */
__cold void journal_client_end(struct engine *e, u32 client);
/** journal_note_peer() - the QP is being connected: keep who is at the other end. */
__cold void journal_note_peer(struct hca *hca, struct hca_qp *qp);
/** journal_of_qp() - an entry about a QP and its peer, to be completed and added. */
struct journal_entry journal_of_qp(struct hca *hca, const struct hca_qp *qp, u32 kind, u32 status,
				   u32 cause, u32 info);
/** journal_peer() - the QP at the other end of a connected one, if it is one of this fabric. */
struct hca_qp *journal_peer(struct hca *hca, const struct hca_qp *qp);

/* --- why.c --- */

/** journal_why_send() - find out what has led to a send error: @why and what goes with it. */
__cold void journal_why_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
			     struct journal_entry *j);
/** journal_why_cm() - likewise, why nobody has answered an identifier's MAD. */
__cold void journal_why_cm(struct engine *e, const struct hca_cmid *id, struct journal_entry *j);

#endif
