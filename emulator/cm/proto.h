/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of the connection protocol share.
 *
 * Theory of operation
 * -------------------
 * Each side of a connection is in a state of its own (enum cm_proto). A message that wants an answer
 * is kept in the identifier and sent again at its deadline, until the answer comes or its retries are
 * used up; answers are made anew when a request comes again. What a program is told follows from the
 * protocol's state, and what it may do is decided by enum cm_state: the two are the kernel's ib_cm and
 * rdma_cm.
 *
 * A holder of the token can be killed anywhere in here. What a message brings is written into the
 * identifier first; then state and event change as one (cm_event_raise()), then tables and deadline follow.
 * Killed before, the message looks lost; killed behind, cm_peers_rebuild() finds from the state what
 * the tables must have, and a deadline that means nothing any more is let pass. TIMEWAIT's deadline
 * is set before the state.
 */
#ifndef EMULATOR_CM_PROTO_H
#define EMULATOR_CM_PROTO_H

#include "emulator/cm/mad.h"
#include "emulator/cm/model.h"

#define CM_RESPONSE_TIMEOUT 20u /* 4.096 us * 2^n, as all of these */
#define CM_MRA_TIMEOUT	    24u
#define CM_MAX_RETRIES	    15u
#define CM_MAX_TIMEOUT	    31u

#define CM_UDP_QKEY   0x01234567u
#define CM_IPOIB_QKEY 0x00000b1bu

/**
 * cm_time_ns() - a time as messages have it, in whole milliseconds as the kernel has it. What they cannot
 * have (RDMA_OPTION_ID_ACK_TIMEOUT takes any byte) is the longest that they can.
 */
static inline u64 cm_time_ns(u32 t)
{
	return 1000000ULL << (t > 8 ? min_u32(CM_MAX_TIMEOUT, t) - 8 : 0);
}

/** cm_ack_timeout() - what a QP waits for an ACK, given the responder's delay and the path. */
u32 cm_ack_timeout(u32 ack_delay, u32 lifetime);

/* --- lookup.c --- */

/** cm_conn_begin() - a new connection of the identifier: ids, starting PSN, nothing of the last one. */
void cm_conn_begin(struct hca *hca, struct hca_cmid *id);
/** cmid_by_local_id() - who has these communication ids, or NULL. */
struct hca_cmid *cmid_by_local_id(struct hca *hca, u32 local_id, u32 remote_id);
/** cmid_by_remote_id(), cmid_by_remote_qpn() - by what the peer has told of itself, or NULL. */
struct hca_cmid *cmid_by_remote_id(struct hca *hca, u64 guid, u32 remote_id);
struct hca_cmid *cmid_by_remote_qpn(struct hca *hca, u64 guid, u32 qpn);
/** cm_peer_link() - into the tables that @how (enum cm_linked) names. */
void cm_peer_link(struct hca *hca, struct hca_cmid *id, u32 how);
void cm_peer_unlink(struct hca *hca, struct hca_cmid *id);

/* --- send.c --- */

/** cm_send_mad() - send a message to the identifier's peer. */
void cm_send_mad(struct engine *e, const struct hca_cmid *id, const u8 mad[MAD_SIZE]);
/** cm_reply_mad() - send a message to where @b came from. */
void cm_reply_mad(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);
/** cm_reply_av() - the address that it came from. */
void cm_reply_av(const struct hca *hca, const struct burst *b, struct hca_av *av);
/** cm_send_with_retries() - send what is in @id->mad, again and again until its answer comes; @proto until then. */
void cm_send_with_retries(struct engine *e, struct hca_cmid *id, u32 proto);
/** cm_send_rej() - a REJ for a request that there is no identifier for. */
void cm_send_rej(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE], u32 reason,
		 u32 about, const void *info, u32 info_len);
/** cm_send_mra(), cm_send_rtu(), cm_send_drep(), cm_send_dreq() - as their names say. */
void cm_send_mra(struct engine *e, const struct hca_cmid *id, u32 about);
void cm_send_rtu(struct engine *e, const struct hca_cmid *id);
void cm_send_drep(struct engine *e, const struct hca_cmid *id);
void cm_send_dreq(struct engine *e, struct hca_cmid *id, bool keep);

/* --- conn.c --- */

/** cm_disconnect() - begin to end an established connection. Return: 0 or -EINVAL. */
int cm_disconnect(struct engine *e, struct hca_cmid *id);
/**
 * cm_reject() - refuse what the peer has sent last.
 * @info: additional information of @info_len bytes
 * Return: 0 or -EINVAL.
 */
int cm_reject(struct engine *e, struct hca_cmid *id, u32 reason, const void *info, u32 info_len,
	      const struct cm_param *p);
/**
 * cm_proto_report() - the protocol's state becomes @proto; the program is told, and its state becomes @state,
 * if that is @when.
 */
void cm_proto_report(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev);
/** cm_proto_finish() - cm_proto_report(), and with it the connection is over: @proto is CMP_IDLE or CMP_TIMEWAIT. */
void cm_proto_finish(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev);

/** journal_cm() - why an attempt to connect has failed. */
void journal_cm(struct engine *e, const struct hca_cmid *id, const struct cm_event *ev, u32 cause,
		u32 info);

/* --- req.c --- */

/**
 * cm_request_listener() - who is to get a request for a service.
 * @data: its private data; @type: enum ib_qp_type
 * Return: who listens, with the addresses of both ends; NULL, with *reason (enum cm_reject) why not.
 */
struct hca_cmid *cm_request_listener(struct engine *e, const struct burst *b, const u8 *data,
				     u64 service, u32 type, struct cm_addr *local,
				     struct cm_addr *peer, u32 *reason);

void cm_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);

/* --- input.c --- */

/** cm_event_set_data() - the private data of a message, from byte @skip on, for an event. */
void cm_event_set_data(struct cm_param *p, const u8 mad[MAD_SIZE], u32 skip);
/** cm_gid_index() - where a GID stands in a port's table, or -1. */
int cm_gid_index(const struct hca_port *port, const u8 gid[16]);

/* --- timer.c --- */

/** cm_timer_arm() - set the identifier's deadline; 0: none. */
void cm_timer_arm(struct engine *e, struct hca_cmid *id, u64 deadline);
/**
 * cm_timer_expire() - what time would bring comes now: CM_EV_UNREACHABLE to who waits for an answer,
 * CM_EV_TIMEWAIT_EXIT. Return: whether the identifier is in a state for that.
 */
bool cm_timer_expire(struct engine *e, struct hca_cmid *id, u32 event);

/* --- sidr.c --- */

int sidr_connect(struct engine *e, struct hca_cmid *id, const struct cm_param *p);
/** sidr_answer() - answer a SIDR_REQ with @status; @p: the program's parameters, or NULL. */
int sidr_answer(struct engine *e, struct hca_cmid *id, u32 status, const struct cm_param *p);
void sidr_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE]);
void sidr_rep_input(struct engine *e, const u8 mad[MAD_SIZE]);

/* --- qp_attr.c --- */

/** cm_default_qkey() - give a datagram identifier the key of its port space. */
void cm_default_qkey(struct hca_cmid *id);
/** cm_set_qkey() - or this one. Return: 0, -EINVAL when it has another. */
int cm_set_qkey(struct hca_cmid *id, u32 qkey);

#endif
