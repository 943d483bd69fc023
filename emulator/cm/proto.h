/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of the connection protocol share.
 *
 * Theory of operation
 * -------------------
 * Each side of a connection has a state of its own (enum cm_proto). A message that expects an
 * answer is kept in the identifier and retransmitted at its deadline, until the answer comes or the
 * retries are used up; answers are not kept, but made again when a request is repeated. The
 * protocol's state decides which events the program receives, enum cm_state which calls it may
 * make: the two correspond to the kernel's ib_cm and rdma_cm.
 *
 * The holder of the token can be killed anywhere in here. The content of a message is written to
 * the identifier first; then state and event change as one (cm_event_raise()), then tables and
 * deadline follow. If the holder dies before that step, the message looks lost; if it dies after
 * it, cm_peers_rebuild() derives the content of the tables from the state, and a deadline that is
 * obsolete expires without effect. The deadline of TIMEWAIT is set before the state.
 */
#ifndef EMULATOR_CM_PROTO_H
#define EMULATOR_CM_PROTO_H

#include "emulator/cm/model.h"
#include "emulator/deadline.h"
#include "emulator/engine.h"

#define CM_RESPONSE_TIMEOUT 20u /* 4.096 us * 2^n, as all of these */
#define CM_MRA_TIMEOUT	    24u
#define CM_MAX_RETRIES	    15u
#define CM_MAX_TIMEOUT	    31u

#define CM_UDP_QKEY   0x01234567u
#define CM_IPOIB_QKEY 0x00000b1bu

/**
 * cm_time_ns() - a time in the encoding of messages, rounded to milliseconds as in the kernel. A
 * value beyond the encoding (RDMA_OPTION_ID_ACK_TIMEOUT takes any byte) counts as its maximum.
 */
static inline u64 cm_time_ns(u32 t)
{
	return 1000000ULL << (t > 8 ? min_u32(CM_MAX_TIMEOUT, t) - 8 : 0);
}

/** cm_ack_timeout() - how long a QP waits for an ACK, given the responder's delay and the path. */
u32 cm_ack_timeout(u32 ack_delay, u32 lifetime);

/* --- lookup.c --- */

/**
 * cm_conn_begin() - start a new connection of the identifier: new ids and starting PSN, nothing of
 * the previous one.
 */
void cm_conn_begin(struct hca *hca, struct hca_cmid *id);
/** cmid_by_local_id() - the identifier with these communication ids, or NULL. */
struct hca_cmid *cmid_by_local_id(struct hca *hca, u32 local_id, u32 remote_id);
/** cmid_by_remote_id(), cmid_by_remote_qpn() - the identifier of that peer, or NULL. */
struct hca_cmid *cmid_by_remote_id(struct hca *hca, u64 guid, u32 remote_id);
struct hca_cmid *cmid_by_remote_qpn(struct hca *hca, u64 guid, u32 qpn);
/** cm_peer_link() - add the identifier to the tables in @how (enum cm_linked). */
void cm_peer_link(struct hca *hca, struct hca_cmid *id, u32 how);
void cm_peer_unlink(struct hca *hca, struct hca_cmid *id);

/* --- send.c --- */

/** cm_send_mad() - send a message to the identifier's peer. */
void cm_send_mad(struct engine *e, const struct hca_cmid *id, const u8 mad[MAD_SIZE]);
/** cm_reply_mad() - send a message to the sender of @b. */
void cm_reply_mad(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);
/** cm_reply_av() - the address of the sender of @b. */
void cm_reply_av(const struct hca *hca, const struct burst *b, struct hca_av *av);
/**
 * cm_send_with_retries() - send @id->mad and retransmit it until its answer comes; @proto is the
 * state until then.
 */
void cm_send_with_retries(struct engine *e, struct hca_cmid *id, u32 proto);
/** cm_send_rej() - send a REJ for a request that has no identifier. */
void cm_send_rej(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE], u32 reason,
		 u32 about, const void *info, u32 info_len);
/** cm_send_mra(), cm_send_rtu(), cm_send_drep(), cm_send_dreq() - send that message. */
void cm_send_mra(struct engine *e, const struct hca_cmid *id, u32 about);
void cm_send_rtu(struct engine *e, const struct hca_cmid *id);
void cm_send_drep(struct engine *e, const struct hca_cmid *id);
void cm_send_dreq(struct engine *e, struct hca_cmid *id, bool keep);

/* --- conn.c --- */

/** cm_disconnect() - start to end an established connection. Return: 0 or -EINVAL. */
int cm_disconnect(struct engine *e, struct hca_cmid *id);
/**
 * cm_reject() - reject the peer's last message.
 * @info: additional information of @info_len bytes
 * Return: 0 or -EINVAL.
 */
int cm_reject(struct engine *e, struct hca_cmid *id, u32 reason, const void *info, u32 info_len,
	      const struct cm_param *p);
/**
 * cm_proto_report() - set the protocol's state to @proto; if the program's state is @when, set it
 * to @state and queue the event.
 */
void cm_proto_report(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev);
/**
 * cm_proto_finish() - cm_proto_report() at the end of the connection: @proto is CMP_IDLE or
 * CMP_TIMEWAIT.
 */
void cm_proto_finish(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev);

/* --- req.c --- */

/**
 * cm_request_listener() - the identifier that receives a request for a service.
 * @data: the request's private data; @type: enum ib_qp_type
 * Return: the listener, with the addresses of both ends; NULL, with the reason in *reason (enum
 * cm_reject).
 */
struct hca_cmid *cm_request_listener(struct engine *e, const struct burst *b, const u8 *data,
				     u64 service, u32 type, struct cm_addr *local,
				     struct cm_addr *peer, u32 *reason);

void cm_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);

/* --- timer.c --- */

/** cm_timer_arm() - set the identifier's deadline; 0: none. */
static inline void cm_timer_arm(struct engine *e, struct hca_cmid *id, u64 deadline)
{
	id->deadline = deadline;
	deadline_set(e, e->hca->cm_bits, e->hca->cm_sum, cmid_slot(e->hca, id), deadline);
}
/**
 * cm_timer_expire() - let the identifier's timer expire now: CM_EV_UNREACHABLE if it waits for an
 * answer, or CM_EV_TIMEWAIT_EXIT. Return: whether its state allows that.
 */
bool cm_timer_expire(struct engine *e, struct hca_cmid *id, u32 event);

/* --- lookup.c --- */

/** cm_gid_index() - index of a GID in a port's table, or -1. */
int cm_gid_index(const struct hca_port *port, const u8 gid[16]);

/* --- sidr.c --- */

int sidr_connect(struct engine *e, struct hca_cmid *id, const struct cm_param *p);
/** sidr_answer() - answer a SIDR_REQ with @status; @p: the program's parameters, or NULL. */
int sidr_answer(struct engine *e, struct hca_cmid *id, u32 status, const struct cm_param *p);
void sidr_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);
void sidr_rep_input(struct engine *e, const u8 mad[MAD_SIZE]);

/* --- qp_attr.c --- */

/** cm_default_qkey() - give a datagram identifier the Q_Key of its port space. */
void cm_default_qkey(struct hca_cmid *id);
/** cm_set_qkey() - give it this Q_Key. Return: 0, -EINVAL when it has a different one. */
int cm_set_qkey(struct hca_cmid *id, u32 qkey);

#endif
