/* SPDX-License-Identifier: MIT */
/**
 * DOC: connection management: identifiers, event channels and events of the rdma_cm in HCA memory,
 * and the commands on them.
 *
 * Theory of operation
 * -------------------
 * This is what the kernel does for librdmacm, in the kernel's two layers: the connection protocol
 * of IBTA volume 1, chapter 12, whose messages (MADs) go to QP 1 of the other port like any
 * datagram, and above it the addresses, ports, states and events of the rdma_cm. The program's own
 * process runs both with the token held, as it runs everything else; the fabric process runs the
 * timers.
 *
 *  - An identifier (struct hca_cmid) is an rdma_cm_id: addresses, port, state, and one connection
 *    with the MAD that awaits an answer. Programs refer to it by its handle.
 *  - A channel (struct hca_cmch) is an rdma_event_channel. Events queue on it in the order in which
 *    they occurred, and stay in HCA memory until CMD_CM_GET_EVENT takes them; its descriptor (an
 *    event channel number of the segment) gets one count for each.
 *  - An event (struct hca_cmev) belongs to the client that is to read it. One store creates it, and
 *    it carries the new state of the identifier: a holder of the token that dies after that store
 *    has done both.
 *
 * Identifiers that their program has destroyed, and those of a program that has died, live on as
 * long as the protocol needs them: a DREQ without its DREP, TIMEWAIT.
 */
#ifndef EMULATOR_CM_CM_H
#define EMULATOR_CM_CM_H

#include "emulator/obj.h"

#define HCA_MAX_CMID 65536u
#define HCA_MAX_CMEV (1u << 17)
#define HCA_MAX_CMCH 8192u
#define HCA_MAX_CMMC 16384u
#define HCA_CM_MADS  4096u

/*
 * Private data as programs have it in struct rdma_conn_param, per message (IBTA 12.6), without the
 * CMA header.
 */
#define CM_REQ_DATA	 56u
#define CM_REP_DATA	 196u
#define CM_REJ_DATA	 148u
#define CM_RTU_DATA	 224u
#define CM_DREQ_DATA	 220u
#define CM_DREP_DATA	 224u
#define CM_SIDR_REQ_DATA 180u
#define CM_SIDR_REP_DATA 136u
#define CM_MAX_DATA	 224u

#define MAD_SIZE 256u

/** enum cm_port_space - RDMA_PS_*. */
enum cm_port_space {
	CM_PS_IPOIB = 0x0002,
	CM_PS_TCP = 0x0106,
	CM_PS_UDP = 0x0111,
	CM_PS_IB = 0x013f,
};
#define CM_PORT_SPACES 4u

/** enum cm_event_type - RDMA_CM_EVENT_*, numbers as in rdma_cma.h. */
enum cm_event_type {
	CM_EV_ADDR_RESOLVED,
	CM_EV_ADDR_ERROR,
	CM_EV_ROUTE_RESOLVED,
	CM_EV_ROUTE_ERROR,
	CM_EV_CONNECT_REQUEST,
	CM_EV_CONNECT_RESPONSE,
	CM_EV_CONNECT_ERROR,
	CM_EV_UNREACHABLE,
	CM_EV_REJECTED,
	CM_EV_ESTABLISHED,
	CM_EV_DISCONNECTED,
	CM_EV_DEVICE_REMOVAL,
	CM_EV_MULTICAST_JOIN,
	CM_EV_MULTICAST_ERROR,
	CM_EV_ADDR_CHANGE,
	CM_EV_TIMEWAIT_EXIT,
};

/** enum cm_reject - the reasons of IBTA 12.6.7.2, enum ib_cm_rej_reason, that are used here. */
enum cm_reject {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_COMM_ID = 6,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_INVALID_TRANSPORT = 9,
	CM_REJ_STALE_CONN = 10,
	CM_REJ_INVALID_GID = 12,
	CM_REJ_CONSUMER_DEFINED = 28,
	CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
};

/* Linux' AF_INET, AF_INET6. */
#define CM_AF_INET  2u
#define CM_AF_INET6 10u

/**
 * struct cm_addr - a socket address.
 * @family: CM_AF_INET, CM_AF_INET6; 0: none
 * @port: host order
 * @ip: IPv4: mapped into IPv6 (::ffff:a.b.c.d)
 */
struct cm_addr {
	u16 family;
	u16 port;
	u32 scope; /* sin6_scope_id */
	u8 ip[16];
};

/**
 * struct cm_param - struct rdma_conn_param, and rdma_ud_param's counterpart in events.
 * @data_len: bytes of @data. In an event it is the size of the message's field, as the kernel
 *	reports it: bytes that the peer did not fill are zero.
 */
struct cm_param {
	u32 qpn; /* 24 bits */
	u32 qkey; /* UD */
	u32 ece_vendor, ece_options;
	u8 responder_resources;
	u8 initiator_depth;
	u8 flow_control;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 srq;
	u8 data_len;
	u8 pad;
	u8 data[CM_MAX_DATA];
};

/**
 * enum cm_state - state of an identifier as in rdma_cm(7): decides which calls are valid (EINVAL
 * otherwise).
 */
enum cm_state {
	CM_IDLE,
	CM_ADDR_BOUND,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_CONNECT,
	CM_DISCONNECT,
	CM_LISTEN,
	CM_DESTROYING, /* the program has no handle any more, the protocol still needs it */
};

/** enum cm_proto - the connection protocol's state (IBTA 12.9.6, 12.9.7, 12.11). */
enum cm_proto {
	CMP_IDLE,
	CMP_LISTEN,
	CMP_REQ_SENT,
	CMP_REQ_RCVD,
	CMP_MRA_REQ_SENT,
	CMP_MRA_REQ_RCVD,
	CMP_REP_SENT,
	CMP_REP_RCVD,
	CMP_MRA_REP_SENT,
	CMP_MRA_REP_RCVD,
	CMP_ESTABLISHED,
	CMP_DREQ_SENT,
	CMP_DREQ_RCVD,
	CMP_TIMEWAIT,
	CMP_SIDR_REQ_SENT,
	CMP_SIDR_REQ_RCVD,
};

enum cm_opt {
	CM_OPT_REUSEADDR = 1 << 0,
	CM_OPT_AFONLY_SET = 1 << 1,
	CM_OPT_AFONLY = 1 << 2,
	CM_OPT_TOS_SET = 1 << 3,
	CM_OPT_ACK_TIMEOUT_SET = 1 << 4,
};

/** enum cm_linked - the tables that find a connection by the peer's id or QP number. */
enum cm_linked {
	CM_BY_ID = 1 << 0,
	CM_BY_QPN = 1 << 1,
};

/**
 * struct hca_cmid - an identifier. dev (of struct hca_obj) counts it; see @bound.
 * @uid: the program's name for it; 0 on the passive side until it is accepted
 * @ch: channel that its events go to
 * @bound: device + 1 that it is bound to, with @port and @sgid_index; 0: none (wildcard, or
 *	unbound)
 * @state, @proto: @states is both, for the one store that changes them
 * @next: next + 1 among the port numbers with the same hash in the same port space (port.c)
 * @listener: identifier + 1 whose backlog it is in: a request that its program has not received yet
 * @backlog, @pending: LISTEN: requests that may wait, and that do
 * @local_id, @remote_id: communication ids; the local one is slot | generation << 16
 * @remote_guid: CA GUID of the peer
 * @next_remote, @next_qpn: next + 1 in the tables of peers' ids and QPs
 * @linked: enum cm_linked, the tables it is in
 * @tid: transaction id of the current exchange
 * @av: destination of its MADs and its QP's packets: in HCA memory, where bursts need it
 * @psn: the first PSN that its own QP expects, as sent to the peer; @remote_psn: the peer's
 * @timeout: ACK timeout of its QP, from the path and the peer's ack delay; TIMEWAIT lasts as long
 * @retries: retransmissions of @mad that are left; @max_retries: their initial number
 * @mtu: of the path; 0: there is no path yet
 * @lifetime: packet lifetime of the path: 4.096 us * 2^n
 * @deadline: fabric clock, ns; 0: none
 * @wait: added to the deadline at each retry, ns; @response: its value before an MRA changed it
 * @reported: events that were taken from its channel, for its destruction
 * @waiting: events that name it and have not been taken
 * @ev_seq: of the latest event that has changed it
 * @first, @last: of the events that its program will receive for it, + 1: includes a listener's
 *	requests
 * @groups: the first of its memberships + 1
 * @mad: the last message sent, for retransmission
 * @drops: how often it was dropped, with the last @drop_cause (enum journal_cause) and its
 *	@drop_info
 * @refused_by: fault rule that answers it instead of its addressee; 0: none
 */
struct hca_cmid {
	u32 client;
	u32 dev;
	u32 gen;
	u32 node;
	u64 uid;
	u32 ch;
	u32 ps; /* enum cm_port_space */
	union {
		struct {
			u32 state; /* enum cm_state */
			u32 proto; /* enum cm_proto */
		};
		u64 states;
	};
	u32 qp_type; /* enum ib_qp_type */
	u32 opt; /* enum cm_opt */
	u32 bound;
	u8 port;
	u8 sgid_index;
	u8 tos;
	u8 ack_timeout;
	struct cm_addr src, dst;
	u32 port_held; /* @src.port is in the port table */
	u32 next;
	u32 listener;
	u32 backlog;
	u32 pending;

	u32 local_id;
	u32 remote_id;
	u32 next_remote;
	u32 remote_qpn;
	u64 remote_guid;
	u64 tid;
	u64 service_id;
	u32 qpn;
	u32 qkey;
	u32 psn;
	u32 remote_psn;
	u32 srq; /* its QP uses an SRQ */
	u32 pkey;
	u32 mtu; /* enum ibv_mtu */
	u32 ece_vendor, ece_options;
	struct hca_av av;
	u8 responder_resources;
	u8 initiator_depth;
	u8 flow_control;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 timeout;
	u8 passive;
	u8 retries;
	u8 max_retries;
	u8 linked;
	u8 lifetime;
	u8 drop_cause;
	u32 drops;
	u32 drop_info;
	u32 refused_by;
	u32 next_qpn;
	u64 deadline;
	u64 wait;
	u64 response;
	u32 reported;
	u32 waiting;
	u64 ev_seq;
	u32 first, last;
	u32 groups;
	u8 mad[MAD_SIZE];
};

/**
 * struct hca_cmmad - a MAD under way, with its address: a wire that delays it refers to both. It
 * stays unchanged until HCA_CM_MADS more were sent.
 * @waits: a program sent it, and only the fabric process can use its link: cm_send_deferred()
 */
struct hca_cmmad {
	u32 dev;
	u32 port;
	u32 psn;
	u16 pkey;
	u16 waits;
	struct hca_av av;
	u8 mad[MAD_SIZE];
};

/** struct hca_cmch - an event channel. @chan: event channel of the client's segment. */
struct hca_cmch {
	u32 client;
	u32 dev;
	u32 chan;
	u32 refs; /* identifiers */
	u32 head; /* event + 1, oldest */
	u32 tail;
};

/** struct cm_event - the answer of CMD_CM_GET_EVENT: the content of struct rdma_cm_event. */
struct cm_event {
	u64 uid; /* of the identifier; CONNECT_REQUEST: of the listener */
	u32 id; /* handle of the identifier; CONNECT_REQUEST: of the new one */
	u32 listen_id; /* CONNECT_REQUEST: handle of the listener */
	u32 type; /* enum cm_event_type */
	s32 status;
	u64 context; /* multicast: as given when the group was joined */
	u32 ud; /* @param is that of a datagram event, with @av */
	u32 pad;
	struct hca_av av;
	struct cm_param param;
};

/**
 * struct hca_cmev - a queued event.
 * @seq: order on its channel
 * @next, @prev: in its channel + 1
 * @next_own: next of its identifier's + 1
 * @state, @proto: the new states of its identifier
 * @mc: membership + 1 that it is about; 0: none
 * @due: with chaos: not visible before this time of the fabric clock; 0: visible
 */
struct hca_cmev {
	u32 client;
	u32 dev;
	u32 ch;
	u32 next;
	u64 seq;
	u32 state;
	u32 proto;
	u32 mc;
	u32 prev;
	u32 next_own;
	u32 pad;
	u64 due;
	struct cm_event ev;
};

/**
 * struct hca_cmmc - an identifier's membership in a multicast group.
 * @id: slot of the identifier
 * @mlid: InfiniBand link layer
 * @reported: events about it that were taken
 * @next: next + 1 of its identifier's memberships
 * @context: as given when the group was joined
 */
struct hca_cmmc {
	u32 client;
	u32 dev;
	u32 id;
	u32 mlid;
	u32 reported;
	u32 next;
	u64 context;
	struct cm_addr addr;
	u8 mgid[16];
};

#endif
