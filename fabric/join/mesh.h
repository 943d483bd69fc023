/* SPDX-License-Identifier: MIT */
/**
 * DOC: joined fabrics, inside: docs/reference/join-protocol.md has the protocol.
 *
 * Theory of operation
 * -------------------
 * A connection (struct jconn) is a TCP socket with two buffers: what was read and not yet looked at,
 * and what is to be written. A member is another fabric of the mesh; its frames take its own
 * connection, or that of the hub it is behind.
 *
 * Reading and writing sockets happens in the loop and needs no token. Frames of established connections
 * are looked at with the token (join_input(), from work_run()): bursts go into the engine, tables into
 * HCA memory. A burst that the engine cannot take now is copied into its member's lane, and what comes
 * after it in that lane waits there, too; other lanes and members go on. Lanes are bounded by the credit
 * that was given. What the engine sends (join_send()) is encoded into the connection's buffer, payload
 * gathered from the program's memory on the way, and written when the token has been given back, or
 * sooner when it is much.
 *
 * Buffers are mapped once, as large as they can get, and take memory only for what was really used.
 */
#ifndef FABRIC_JOIN_MESH_H
#define FABRIC_JOIN_MESH_H

#include "fabric/core/fabric.h"
#include "fabric/common/host_port.h"
#include "fabric/join/join.h"
#include "fabric/join/proto.h"
#include "fabric/link/link.h"

#include <netinet/in.h>

#define JOIN_MAX_MEMBERS 64u
/* As a device's or node's member: one that is forgotten, whose place another has. */
#define JOIN_FORGOTTEN	 (JOIN_MAX_MEMBERS + 1)
#define JOIN_MAX_CONNS	 128u
#define JOIN_MAX_EARLIES 32u
#define JOIN_MAX_TARGETS HOST_PORT_MAX
#define JOIN_MAX_ADDRS	 4u
#define JOIN_MAX_TOKEN	 4096u
#define JOIN_WINDOW	 (4u << 20)
#define JOIN_RX_SIZE	 ((3u << 20) + JOIN_MAX_FRAME)
#define JOIN_TX_SIZE	 (64u << 20)
#define JOIN_LANE_SIZE	 (JOIN_WINDOW + 2 * JOIN_MAX_FRAME)

#define JOIN_EARLY_NS	(5 * NSEC_PER_SEC) /* the handshake takes at most this long */
#define JOIN_PING_NS	NSEC_PER_SEC
#define JOIN_SILENT_NS	(5 * NSEC_PER_SEC)
#define JOIN_DEAD_NS	(10 * NSEC_PER_SEC)
#define JOIN_REFUSED_NS (10 * NSEC_PER_SEC) /* who was refused asks again after that */
#define JOIN_READY_NS	(5 * NSEC_PER_SEC) /* how long a starter waits for the mesh */

#define JOIN_NOWHERE (~0u)

struct member;

enum jconn_state {
	JC_FREE,
	JC_CONNECTING,
	JC_HELLO, /* HELLO was sent, the peer's is waited for */
	JC_PROOF, /* the peer's PROOF is waited for */
	JC_UP,
};

/**
 * struct jbuf - bytes on their way out: a ring whose pieces do not wrap.
 * @head: next to be written; @tail: next to be filled; @wrap: where the upper part ends when
 *        tail is below head
 */
struct jbuf {
	u8 *mem;
	u32 head, tail, wrap;
};

/**
 * struct jconn - a connection.
 * @target: that it was made for + 1; 0: none
 * @member: who is at the other end, from JC_UP on
 * @wanted: id of the member that it was made for; 0: whoever is there
 * @peer: id of who says to be there
 * @rx_head, @rx_tail: what was read into @rx and not looked at
 * @behind: whom the other end is connected with
 * @moved_at: when bytes were last taken by the socket, or there were none
 */
struct jconn {
	struct watch w;
	u8 state; /* enum jconn_state */
	bool out; /* made by this side */
	bool want_write;
	bool want_read;
	bool stuck; /* the socket has not taken all of @tx */
	u32 target;
	struct member *member;
	u64 wanted, peer;
	struct join_hello hello;
	u64 behind[JOIN_MAX_PEERS];
	u32 n_behind;
	u8 nonce[JOIN_NONCE];
	u64 since, heard_at, sent_at, moved_at;
	u8 *rx;
	u32 rx_head, rx_tail;
	struct jbuf tx;
	char who[72];
};

/**
 * struct jlane - credit both ways, and frames that wait for the engine.
 * @dry_at: since when @limit has been reached and somebody waits; 0: nobody does
 */
struct jlane {
	u64 sent, limit; /* to the member */
	u64 dry_at;
	u64 taken, granted; /* from it */
	u8 *mem;
	u32 head, tail;
};

/** struct join_node - a node of a member, as far as it has come. @n_devs: 0: none is coming */
struct join_node {
	char name[JOIN_NAME];
	u32 index;
	u32 n_devs, got;
	struct hca_dev dev[JOIN_NODE_DEVS];
};

/**
 * struct member - another fabric.
 * @conn: to it; @via: that its frames take: @conn, or a hub's; NULL: it cannot be reached
 * @session: of what is sent to it: its number; @told: that has our tables
 * @heard: of what comes from it; 0: it has not begun on this route; @asked_at: when it was to
 * @ready: its tables are complete; @met: they have been once
 * @lost_at: when its route was lost; @dead: its addresses were taken back
 * @dev_slot: its devices as they are numbered here + 1
 * @incoming: the node that is being told of
 * @addr: where it listens; @next_try: when to connect again, or NEVER
 * @tx_bursts, @tx_bytes, @rx_bursts, @rx_bytes: bursts with their frames, of all sessions
 */
struct member {
	u64 id;
	u32 number; /* as in struct hca_dev.member */
	char name[JOIN_NAME];
	struct jconn *conn, *via;
	u64 session, heard, asked_at;
	bool told, ready, met, dead;
	u64 lost_at;
	struct jlane lane[LANES];
	u16 dev_slot[HCA_MAX_DEVS];
	struct join_node incoming;
	struct join_peer addr;
	u64 next_try, backoff;
	u64 tx_bursts, tx_bytes, rx_bursts, rx_bytes;
	u64 dropped;
};

/**
 * struct target - who --join names.
 * @resolve: pipe from the process that looks the name up
 * @refused: why it does not want us; "" if it does
 * @unknown: there is no host of that name, as far as is known
 */
struct target {
	char host[256];
	char port[8];
	struct watch resolve;
	s32 resolver;
	struct sockaddr_storage addr[JOIN_MAX_ADDRS];
	u32 n_addrs, next_addr;
	u64 id; /* of who was found there */
	bool up;
	u64 next_try, backoff;
	char refused[JOIN_TEXT + 1];
	bool unknown;
};

/**
 * struct join - all of it.
 * @ready_by: the starter is told at the latest then; NEVER: it has been
 * @ticked_at: when join_tick() was called last
 * @due: frames wait for the token; @retry_at: or will, for those that could not be taken
 * @data: payload of the burst that is being taken
 * @node_hash: what was last told of each node; @tell: look whether there is news
 */
struct join {
	u64 id;
	u16 port;
	struct watch listen;
	u8 token[JOIN_MAX_TOKEN];
	u32 token_len;
	struct target target[JOIN_MAX_TARGETS];
	u32 n_targets;
	struct jconn conn[JOIN_MAX_CONNS];
	u32 n_conns; /* those behind were never used */
	struct member *member[JOIN_MAX_MEMBERS];
	u32 n_members;
	u64 ready_by;
	u64 ticked_at;
	bool due;
	bool full; /* a buffer had no room for a burst */
	u64 retry_at;
	const u8 *data;
	u64 node_hash[HCA_MAX_NODES];
	u32 far_index[HCA_MAX_DEVS]; /* of others' devices: their owner's number, or JOIN_NOWHERE */
	bool tell;
	u64 n_turned_away;
};

/* --- mesh.c: the mesh ------------------------------------------------------------------------ */

/** mesh_member() - the member with that id, made if @make and there is room; or NULL. */
struct member *mesh_member(struct fabric *f, u64 id, bool make);
/** mesh_conn_up() - a connection has been proven. It may be closed by this. */
void mesh_conn_up(struct fabric *f, struct jconn *c);
/** mesh_conn_down() - a connection of a member is being closed. */
void mesh_conn_down(struct fabric *f, struct jconn *c);
/**
 * mesh_peer_found() - who is there has said its id. Return: whether the connection is wanted. At the address of one
 * that has died there may be another.
 */
bool mesh_peer_found(struct fabric *f, const struct jconn *c);
/** mesh_conn_refused() - the other side of a connection will not have us. */
void mesh_conn_refused(struct fabric *f, struct jconn *c, const char *why);
/** jconn_leads_to() - whether the other end is connected with that member. */
bool jconn_leads_to(const struct jconn *c, u64 id);
/** mesh_peers_input() - PEERS of a neighbour. Return: 0 or -EPROTO. */
int mesh_peers_input(struct fabric *f, struct jconn *c, const u8 *body, u32 len);

/** join_accept() - the listening socket's event handler. */
void join_accept(struct fabric *f, struct watch *w, u32 events);

/* --- session.c: when credits are counted anew --------------------------------------------- */

/** session_route() - @m->via is another way than before: both directions begin anew on it. */
void session_route(struct fabric *f, struct member *m);
/** session_input() - ASK or BEGIN of @m. Return: NULL, or what is wrong with it. */
const char *session_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);
/** session_accepts() - whether a frame of this type is of a session of @m that began on this way. */
bool session_accepts(const struct member *m, u8 type);
/** session_tick() - what has been waited for too long. Return: when to come back. */
u64 session_tick(struct fabric *f, struct member *m, u64 now);

/* --- conn.c: sockets and buffers ---------------------------------------------------------- */

/** jconn_new() - a connection for a socket. @out: it is being connected. NULL: too many. */
struct jconn *jconn_new(struct fabric *f, int fd, bool out, const struct sockaddr_storage *sa);
/** jconn_address() - one end's IP address, an IPv4 one mapped. Return: false: it has none any more. */
bool jconn_address(int fd, bool peer, u8 ip[16], u32 *scope);
/** jconn_close() - end it; @why: for the log, NULL: nothing is said. */
void jconn_close(struct fabric *f, struct jconn *c, const char *why);
/** jconn_refuse() - the same, and the other side is told. */
void jconn_refuse(struct fabric *f, struct jconn *c, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** jconn_reserve() - room for @len bytes to be written in one piece; NULL: there is none. */
u8 *jconn_reserve(struct jconn *c, u32 len);
/** jconn_commit() - @len bytes of what was reserved are to be written. */
void jconn_commit(struct jconn *c, u32 len);
/** jconn_send() - a small frame. Return: 0 or -EAGAIN: there was no room. */
int jconn_send(struct fabric *f, struct jconn *c, u8 type, u64 src, u64 dst, const void *body,
	       u32 len);
/** jconn_flush() - write as much as the socket takes. It may be closed by this. */
void jconn_flush(struct fabric *f, struct jconn *c);
/** jconn_pending() - bytes that wait to be written. */
u32 jconn_pending(const struct jconn *c);
/** jconn_interest() - read only while there is room, write only while there is something. */
void jconn_interest(struct fabric *f, struct jconn *c);

/* --- hello.c: handshake ------------------------------------------------------------------- */

/** join_token_load() - read a token file. Return: NULL, or why not. */
const char *join_token_load(const char *path, u8 *token, u32 *len);
/** hello_send() - begin the handshake. */
void hello_send(struct fabric *f, struct jconn *c);
/** hello_input() - a frame before JC_UP. The connection may be closed by this. */
void hello_input(struct fabric *f, struct jconn *c, const struct join_hdr *h, const u8 *body);

/* --- tables.c: tables ------------------------------------------------------------------------ */

/** tables_send_all() - send a member our nodes and devices. */
void tables_send_all(struct fabric *f, struct member *m);
/** tables_send_news() - send all members what has changed. Token held. */
void tables_send_news(struct fabric *f);
/** tables_input() - NODE, DEV or READY of @m. Token held. Return: NULL, or why it is refused. */
const char *tables_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);
/** tables_bury() - nobody has the addresses of @m any more. Token held. */
void tables_bury(struct fabric *f, struct member *m);

/* --- bursts.c: bursts ----------------------------------------------------------------------- */

/** join_carrier - bursts to devices of members, as links hand them over. */
extern const struct link_carrier join_carrier;

/**
 * join_burst_take() - a burst from @m. Token held.
 * @next: the frame behind it if that is whole and goes the same way, or NULL
 * Return: 0, -EAGAIN: not now, -EPROTO.
 */
int join_burst_take(struct fabric *f, struct member *m, const struct join_hdr *h, const u8 *body,
		    const u8 *next);
/**
 * join_burst_train() - small WRITEs that have come together, in the frames from @at on, of which @have bytes are
 * there. Token held. Return: bytes of the frames that are done with; 0: take the first by join_burst_take().
 */
u32 join_burst_train(struct fabric *f, struct member *m, const u8 *at, u32 have);
/** join_burst_next() - as @next of join_burst_take(): the frame behind the one at @at of which @have bytes are there. */
const u8 *join_burst_next(const u8 *at, u32 have);
/** join_credit_send() - tell @m how much more it may send, if it is time. */
void join_credit_send(struct fabric *f, struct member *m);

/* --- resolve.c --------------------------------------------------------------------------------- */

/** resolve_start() - look a target's name up, in a process of its own when that may take time. */
void resolve_start(struct fabric *f, struct target *t);

#endif
