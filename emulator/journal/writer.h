/* SPDX-License-Identifier: MIT */
/**
 * DOC: writing the journal, for the files of the engine. All of it is for rare branches, with the
 * token held.
 *
 * @cause: enum journal_cause; @info: see there; for CAUSE_FAULT the rule's number
 */
#ifndef EMULATOR_JOURNAL_WRITER_H
#define EMULATOR_JOURNAL_WRITER_H

#include "emulator/engine.h"

/* --- writer.c --- */

/** journal_add() - put *j into its ring; @ts, @seq and @nth are filled in here. Token held. */
__cold void journal_add(struct engine *e, const struct journal_entry *j);
/**
 * journal_drop() - a burst does not arrive. Token held.
 * @cause: enum journal_cause; @info: what that says, of CAUSE_FAULT the number of the rule
 */
__cold void journal_drop(struct engine *e, const struct burst *b, u32 cause, u32 info);
/**
 * journal_cm_refused() - a message of connection management, @mad, is answered by fault rule @rule.
 * Token held.
 */
__cold void journal_cm_refused(struct engine *e, const struct burst *b, const u8 *mad, u32 rule);
/** journal_send() - a send work request fails with @status: enum ib_wc_status. @w: NULL: unknown */
__cold void journal_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
			 u32 status, u32 cause, u32 info);
/** journal_recv() - a receive fails when @b arrives. @wr_id: NULL: there is none */
__cold void journal_recv(struct engine *e, const struct hca_qp *qp, const struct burst *b,
			 const u64 *wr_id, u32 status, u32 cause, u32 info);
/** journal_tag() - the rendezvous of a tag fails. */
__cold void journal_tag(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag,
			u32 status, u32 cause, u32 info);
/**
 * journal_qp_event() - an asynchronous event of a QP; for some events the cause follows from the
 * event.
 */
__cold void journal_qp_event(struct engine *e, const struct hca_qp *qp, u32 event, u32 cause,
			     u32 info);
/** journal_nak() - the responder answers @b (NULL: no particular burst) at @psn with a NAK. */
__cold void journal_nak(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 psn,
			u8 syndrome, u32 cause, u32 info);
/**
 * journal_retry() - the requester goes back to its oldest packet without ACK, now or after a wait.
 */
__cold void journal_retry(struct engine *e, struct hca_qp *qp, u32 cause, u32 info);
/** journal_flush() - the program has modified the QP to ERR with @n work requests on it. */
__cold void journal_flush(struct engine *e, const struct hca_qp *qp, u32 n);
/** journal_note_peer() - the QP is being connected: remember its peer. */
__cold void journal_note_peer(struct hca *hca, struct hca_qp *qp);
/**
 * journal_of_qp() - prepare an entry about a QP and its peer, for the caller to complete and add.
 */
struct journal_entry journal_of_qp(struct hca *hca, const struct hca_qp *qp, u32 kind, u32 status,
				   u32 cause, u32 info);
/** journal_peer() - the peer of a connected QP, if it is on this fabric. */
struct hca_qp *journal_peer(struct hca *hca, const struct hca_qp *qp);

/** journal_who_client() - describe a client; an index that is none: only that. */
void journal_who_client(const struct hca *hca, u32 client, struct journal_who *w);
/** journal_who_none() - no program is known: a QP number on device @dev, which may not exist. */
struct journal_who journal_who_none(const struct hca *hca, u32 dev, u32 qpn);
/** journal_who_qp() - describe a QP and its program. */
void journal_who_qp(const struct hca *hca, const struct hca_qp *qp, struct journal_who *w);

/* --- program.c --- */

/** journal_client() - any other entry about a client (@owner: index + 1), on device @dev. */
__cold void journal_client(struct engine *e, u32 owner, u32 dev, u32 kind, u32 status, u32 cause,
			   u32 info);
/**
 * journal_of_client() - prepare an entry about a client's QP (@qpn: 0: none), of which the model
 * knows nothing; needs no token. @kind: enum journal_kind; @rule: the fault rule that is its cause,
 * 0: none is known
 */
struct journal_entry journal_of_client(const struct hca *hca, u32 client, u32 qpn, u32 kind,
				       u32 status, u32 rule);
/**
 * journal_of_call() - prepare an entry about a client's call that fault rule @rule makes fail with
 * @err, or that fails by itself if that is 0; needs no token. @call: the function's name; @args:
 * what a process says of its arguments, "": nothing
 */
struct journal_entry journal_of_call(const struct hca *hca, u32 client, const char *call,
				     const char *args, u32 err, u32 rule);
/**
 * journal_cm_errno() - an address, a route or a group cannot be resolved: enum cm_event_type with
 * that status.
 * @on_purpose: by a fault rule
 */
__cold void journal_cm_errno(struct engine *e, const struct hca_cmid *id, u32 event, s32 status,
			     bool on_purpose);
/** journal_cm() - record why an attempt to connect has failed. */
void journal_cm(struct engine *e, const struct hca_cmid *id, const struct cm_event *ev, u32 cause,
		u32 info);
/** journal_port() - an event of a port. */
__cold void journal_port(struct engine *e, u32 dev, u32 port, u32 event);
/**
 * journal_client_end() - a client has died: record it if it had connected QPs. Call it before these
 * are destroyed.
 */
__cold void journal_client_end(struct engine *e, u32 client);

/* --- alike.c --- */

/**
 * journal_count_alike() - count a notice in the first one like it, if there are many already.
 * Return: false: it is to be written. Token held.
 */
__cold bool journal_count_alike(struct hca *hca, const struct journal_entry *j, u64 now);

/* --- why.c --- */

/** journal_why_send() - find out what has led to a send error: sets @why and its data. */
__cold void journal_why_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
			     struct journal_entry *j);
/** journal_why_cm() - likewise for an identifier's MAD without answer. */
__cold void journal_why_cm(struct engine *e, const struct hca_cmid *id, struct journal_entry *j);

#endif
