/* SPDX-License-Identifier: MIT */
/**
 * DOC: joined fabrics, inside: docs/reference/join-protocol.md describes the protocol.
 *
 * A connection (struct jconn) is a TCP socket with two buffers: bytes that were read and not
 * handled yet, and bytes to be written. A member is another fabric of the mesh; its frames take its
 * own connection, or that of the hub it is connected with.
 *
 * The loop reads and writes sockets without the token, except for large payloads: loan.c, stream.c.
 * Frames of established connections are handled with the token (join_input(), from work_run()):
 * bursts go into the engine, tables into HCA memory. A burst that the engine cannot take now is
 * copied into its member's lane, and later frames of that lane wait there, too; other lanes and
 * members continue. Credit bounds the lanes. Bursts that the engine sends (join_send()) are encoded
 * into the connection's buffer, with the payload gathered from the program's memory, and written
 * when the token has been released, or sooner when they are many.
 *
 * Buffers are mapped once, at their largest size, and take only the memory that is touched.
 */
#ifndef FABRIC_JOIN_MESH_H
#define FABRIC_JOIN_MESH_H

#include "fabric/core/fabric.h"
#include "fabric/common/host_port.h"
#include "fabric/join/flow.h"
#include "fabric/join/join.h"
#include "fabric/join/keys.h"
#include "fabric/join/proto.h"
#include "fabric/join/texts.h"
#include "fabric/link/link.h"

#include <netinet/in.h>
#include <sys/uio.h>

#define JOIN_MAX_MEMBERS 128u
/* The member of devices and nodes whose member is forgotten, since another has its slot. */
#define JOIN_FORGOTTEN	 (JOIN_MAX_MEMBERS + 1)
#define JOIN_MAX_CONNS	 224u
#define JOIN_MAX_EARLIES 32u /* connections of strangers before JC_UP; as many of our own */
#define JOIN_MAX_KNOWN	 16u /* the same for addresses of members */
#define JOIN_MAX_TARGETS HOST_PORT_MAX
#define JOIN_MAX_ADDRS	 4u
#define JOIN_MAX_TOKEN	 4096u
#define JOIN_WINDOW	 (4u << 20)
#define JOIN_RX_SIZE	 ((3u << 20) + JOIN_MAX_FRAME)
#define JOIN_TX_SIZE	 (208u << 20)
#define JOIN_TX_SHARED	 (44u << 20) /* of which members may take more than their own: forward.c */
#define JOIN_LANE_SIZE	 (JOIN_WINDOW + 2 * JOIN_MAX_FRAME)

#define JOIN_EARLY_NS	(5 * NSEC_PER_SEC) /* the handshake takes at most this long */
#define JOIN_PING_NS	NSEC_PER_SEC
#define JOIN_SILENT_NS	(5 * NSEC_PER_SEC)
#define JOIN_DEAD_NS	(10 * NSEC_PER_SEC)
#define JOIN_REFUSED_NS (10 * NSEC_PER_SEC) /* a refused fabric asks again after that */
#define JOIN_READY_NS	(5 * NSEC_PER_SEC) /* how long a starter waits for the mesh */
#define JOIN_RETRY_NS	(20 * NSEC_PER_MSEC) /* between the first two attempts to connect */
#define JOIN_RETRIES_NS NSEC_PER_SEC /* between later ones, to targets and lost members */

#define JOIN_NOWHERE (~0u)

struct member;
struct jseal;
struct jstream;

enum jconn_state {
	JC_FREE,
	JC_CONNECTING,
	JC_HELLO, /* HELLO was sent, that of the peer has not come */
	JC_PROOF, /* PROOF of the peer has not come */
	JC_UP,
};

/** struct jbuf - output: a ring whose pieces do not wrap. */
struct jbuf {
	u8 *mem;
	u32 head; /* next byte to write */
	u32 tail; /* next byte to fill */
	u32 wrap; /* where the upper part ends when @tail is below @head */
};

#define JOIN_LOAN_PIECES 8u

/**
 * struct jloan - the last bytes of the output, which are not in the buffer yet, but in memory that
 * a program lends: loan.c.
 * @len: bytes; 0: there is no loan
 */
struct jloan {
	u32 len;
	u32 n;
	struct iovec v[JOIN_LOAN_PIECES];
};

/** struct allowance - how many of something there may be now: admission_allows(). All 0: full. */
struct allowance {
	u64 at; /* real time when it was counted last */
	u64 left; /* in thousandths */
};

/** struct jconn - a connection. All times are real time. */
struct jconn {
	struct watch w;
	u8 state; /* enum jconn_state */
	bool out; /* this side has connected */
	bool want_write;
	bool want_read;
	bool stuck; /* the socket has not taken all of @tx */
	bool full; /* it has taken nothing since then */
	u32 target; /* it was made for that target: index + 1; 0: none */
	struct member *member; /* at the other end, from JC_UP on */
	u64 wanted; /* id of the member that it was made for; 0: any */
	u64 peer; /* id that the other end has named */
	struct join_hello hello;
	u8 net[16]; /* address of the other end, of IPv6 the first 64 bits */
	bool known; /* a member has that address */
	struct join_peer behind[JOIN_MAX_PEERS]; /* members that the other end is connected with */
	u32 n_behind;
	struct join_peer told[JOIN_MAX_PEERS]; /* the last PEERS, if @news: @behind soon */
	u32 n_told;
	bool news;
	struct allowance tells; /* PEERS that count at once */
	u8 greeting[JOIN_HDR + JOIN_HELLO]; /* our HELLO */
	u8 secret[KEYS_LEN]; /* of the fresh key in it */
	struct join_keys keys; /* from JC_PROOF on, until JC_UP */
	u8 flags; /* of it: enum join_flag */
	bool sealed; /* both sides have agreed on that */
	struct jseal *seal; /* what is sealed and opened; NULL: nothing yet */
	u64 since; /* when it was made */
	u64 closed; /* in which join.n_ticks */
	u64 heard_at, sent_at;
	u64 moved_at; /* when the socket last took bytes, or none were queued */
	u8 *rx;
	u32 rx_head, rx_tail; /* bytes in @rx that are not handled yet */
	u32 bulk; /* so many other frames may come until large bursts are over; 0: they are */
	bool left; /* payload was left in the socket for stream.c, since frames.c had its last turn */
	bool few; /* it was too little */
	u32 n_whole; /* so many large bursts are not to be taken in parts */
	struct jbuf tx;
	struct jloan loan; /* the end of @tx, during jconn_flush_loan() */
	u64 committed; /* bytes that were queued since it was made */
	char who[72]; /* address of the other end, as text */
};

/** struct jlane - credit in both directions, and frames that wait for the engine. */
struct jlane {
	u64 sent, limit; /* bytes sent to the member, and those it has granted */
	u64 dry_at; /* since when a QP waits for credit; 0: none does */
	u64 taken, granted; /* bytes taken from the member, and those granted to it */
	u8 *mem;
	u32 head, tail;
};

/** struct join_node - a node of a member, as far as it has come. */
struct join_node {
	char name[JOIN_NAME];
	u32 index;
	u32 n_devs; /* 0: no node is coming */
	u32 got; /* devices that have come */
	struct hca_dev dev[JOIN_NODE_DEVS];
};

/** struct member - another fabric. All times are real time. */
struct member {
	u64 id;
	u32 number; /* as in struct hca_dev.member */
	char name[JOIN_NAME];
	struct jconn *conn; /* its own connection, or NULL */
	struct jconn *via; /* the one that its frames take: @conn, or a hub's; NULL: unreachable */
	u64 session; /* number of the session to it */
	u64 heard; /* number of the session from it; 0: it has not begun on this route */
	u64 asked_at; /* when it was last asked to begin */
	bool told; /* it has our tables */
	bool ready; /* its tables are complete */
	bool met; /* they have been complete once */
	bool dead; /* its addresses were taken back */
	bool proven; /* it has been connected directly, and has proved that it has the token */
	u64 teller; /* id of the member that named it first, if it is not proven */
	u64 lost_at; /* when its route was lost */
	u64 refused_until; /* what comes from it through a hub is passed over until then */
	struct allowance asks; /* sessions that it may ask for */
	struct allowance queries; /* texts that it may ask for */
	struct text_answer answer;
	struct jlane lane[LANES];
	struct flow flow[JOIN_MAX_MEMBERS]; /* to others, by their numbers */
	u16 dev_slot[HCA_MAX_DEVS]; /* our slot + 1 of its devices, by its numbers */
	struct join_node incoming;
	u8 net[16]; /* jconn.net of its last connection */
	struct join_peer addr; /* where it listens, as its handshake has shown; port 0: nowhere */
	u64 next_try; /* when to connect again, or NEVER */
	u64 backoff;
	u32 n_dials; /* which of the addresses that others tell is next */
	u64 tx_bursts, tx_bytes, rx_bursts, rx_bytes; /* with their frames, of all sessions */
	u64 dropped;
};

/** struct target - a fabric that --join names. */
struct target {
	char host[256];
	char port[8];
	struct watch resolve; /* pipe from the process that resolves the name */
	s32 resolver; /* its pid */
	struct sockaddr_storage addr[JOIN_MAX_ADDRS];
	u32 n_addrs, next_addr;
	u64 id; /* of the fabric that was found there */
	bool up;
	u64 next_try, backoff;
	char refused[JOIN_TEXT + 32]; /* who refuses, and why; "": nobody does */
	bool unknown; /* the name could not be resolved the last time */
};

/** struct join - the mesh. */
struct join {
	u64 id;
	u16 port;
	bool plaintext; /* --plaintext */
	struct watch listen;
	u64 accept_at; /* no descriptors are left: accept again then; NEVER: it does so now */
	u64 starved_at; /* when that was so last; 0: it never was */
	u8 token[JOIN_MAX_TOKEN];
	u32 token_len;
	struct target target[JOIN_MAX_TARGETS];
	u32 n_targets;
	struct jconn conn[JOIN_MAX_CONNS];
	u32 n_conns; /* later ones were never used */
	struct member *member[JOIN_MAX_MEMBERS];
	u32 n_members;
	u64 ready_by; /* the starter gets its report at the latest then; NEVER: it has got it */
	u64 ticked_at; /* when join_tick() was last called */
	u64 n_ticks;
	bool due; /* frames wait for the token */
	bool full; /* a buffer had no room for a burst */
	u64 retry_at; /* when to retry frames that could not be taken */
	u64 asks_at; /* when to look for flows to ask for BEGIN; 0: there are none */
	const u8 *data; /* payload of the burst that is being taken */
	struct jstream *stream; /* if it is a part of a burst: what of it is still in the socket */
	u32 n_probes; /* questions that QPs have asked: probe.c */
	u64 node_hash[HCA_MAX_NODES]; /* of each node as it was last sent */
	u32 far_index[HCA_MAX_DEVS]; /* devices of members: their owner's number, or JOIN_NOWHERE */
	bool tell; /* nodes may have changed */
	struct text_query query[JOIN_MAX_QUERIES];
	u32 n_queries; /* that processes have asked so far */
	join_make_text *make_text;
	u64 n_turned_away;
	struct allowance dials; /* attempts at addresses that members told */
	struct allowance lines; /* log lines about strangers */
	u64 lines_unsaid;
};

/* --- member.c --- */

/** mesh_member() - the member with that id, or NULL. */
struct member *mesh_member(struct fabric *f, u64 id);
/**
 * mesh_member_prove() - the member with that id, which has proved that it has the token. It takes
 * the place of one that is only told of if the table is full. Return: NULL: there is no room.
 */
struct member *mesh_member_prove(struct fabric *f, u64 id);
/**
 * mesh_member_tell() - the member with that id, of which @teller has told. A teller gets no more
 * than its share of the table. Return: NULL: there is no room.
 */
struct member *mesh_member_tell(struct fabric *f, u64 id, u64 teller);
/** mesh_members_sweep() - forget members of which no other tells any more, and that never came. */
void mesh_members_sweep(struct fabric *f);
/** mesh_reroute() - choose the route to each member anew. */
void mesh_reroute(struct fabric *f);
/** jconn_has_route_to() - whether the peer is connected with that member. */
bool jconn_has_route_to(const struct jconn *c, u64 id);

/* --- mesh.c --- */

/** mesh_conn_up() - the handshake of a connection is done. This may close it. */
void mesh_conn_up(struct fabric *f, struct jconn *c);
/** mesh_conn_down() - a connection is being closed. */
void mesh_conn_down(struct fabric *f, struct jconn *c);
/**
 * mesh_peer_found() - the peer has named its id. Return: whether the connection is wanted.
 * Another fabric may be at the address of one that has died.
 */
bool mesh_peer_found(struct fabric *f, const struct jconn *c);
/**
 * mesh_conn_refused() - the peer refuses the connection. Before it has proved that it has the
 * token, it may be anybody who listens there, and the report says so.
 */
void mesh_conn_refused(struct fabric *f, struct jconn *c, const char *why);

/* --- dial.c --- */

/** mesh_dial_target() - connect with a fabric that --join names, and say when to do so again. */
void mesh_dial_target(struct fabric *f, struct target *t);
/** mesh_target_retry() - connect with it in @wait ns; 0: as its backoff says. */
void mesh_target_retry(struct target *t, u64 wait);
/** mesh_dial_member() - connect with a member, and say when to do so again. */
void mesh_dial_member(struct fabric *f, struct member *m, u64 now);
/** mesh_member_retry() - connect with it again soon. */
void mesh_member_retry(struct member *m, u64 now);

/* --- peers.c --- */

/** mesh_peers_send() - tell all neighbours which members this fabric is connected with. */
void mesh_peers_send(struct fabric *f);
/**
 * mesh_peers_input() - PEERS of a neighbour has come. It counts at once, or soon if they come too
 * fast. Return: 0 or -EPROTO.
 */
int mesh_peers_input(struct fabric *f, struct jconn *c, const u8 *body, u32 len);
/** mesh_peers_apply() - believe the last PEERS of a neighbour, if it is time. */
void mesh_peers_apply(struct fabric *f, struct jconn *c);
/** mesh_peer_is_coming() - whether PEERS names a member, but does not count yet. */
bool mesh_peer_is_coming(const struct jconn *c, u64 id);
/** mesh_peers_forget() - @c, which told of others, is closed: believe it no more. */
void mesh_peers_forget(struct fabric *f, struct jconn *c);
/**
 * mesh_peer_address() - an address of @m to dial: its own, or one that a neighbour tells; another
 * one each time. Return: false: there is none.
 */
bool mesh_peer_address(struct fabric *f, struct member *m, struct join_peer *addr);
/** mesh_peer_is_told() - whether a neighbour tells of @m. */
bool mesh_peer_is_told(const struct fabric *f, const struct member *m);

/* --- admission.c --- */

/** join_accept() - the listening socket's event handler. */
void join_accept(struct fabric *f, struct watch *w, u32 events);
/** admission_tick() - accept again, if it is time. Return: when to come back. */
u64 admission_tick(struct fabric *f, u64 now);
/** admission_net() - what counts as one address: IPv4 the whole, IPv6 the first 64 bits. */
void admission_net(const struct sockaddr_storage *sa, u8 net[16]);
/**
 * admission_note() - a log line about somebody of whom there may be many: strangers, and members
 * that hubs tell of. @who: the address, or name and address
 */
void admission_note(struct fabric *f, const char *who, const char *why);
/** admission_allows() - take one of what refills by @per_s a second and holds at most @burst. */
bool admission_allows(struct allowance *a, u32 per_s, u32 burst);

/* --- forward.c --- */

/**
 * forward_input() - forward a frame from the neighbour @src to another member, if that is connected
 * with this fabric. Return: NULL, or what is wrong with the frame.
 */
const char *forward_input(struct fabric *f, struct member *src, const struct join_hdr *h,
			  const u8 *frame);
/**
 * forward_has_left() - whether frames of @m wait for other members. They count for @m's room, so no
 * other member may have its place.
 */
bool forward_has_left(struct fabric *f, struct member *m);
/** forward_begin() - @m has a new connection: what others send it has to begin anew. */
void forward_begin(struct fabric *f, const struct member *m);
/** forward_tick() - ask members for sessions that have to begin. Return: when to come back. */
u64 forward_tick(struct fabric *f, u64 now);

/* --- session.c --- */

/** session_route() - @m->via is a new route: begin a session in both directions. */
void session_route(struct fabric *f, struct member *m);
/** session_input() - handle ASK or BEGIN of @m. Return: NULL, or what is wrong with it. */
const char *session_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);
/**
 * session_accepts() - whether a frame of this type belongs to a session of @m that began on this
 * route.
 */
bool session_accepts(const struct member *m, u8 type);
/**
 * session_refuse() - @m, which is reached through a hub, violates the protocol. The hub is not to
 * blame, so its connection stays: @m gets a REFUSE, and nothing from it counts for 10 seconds.
 */
void session_refuse(struct fabric *f, struct member *m, const char *why);
/** session_refused() - @m, which is reached through a hub, refuses what this fabric sends. */
void session_refused(struct fabric *f, struct member *m, const char *why);
/** session_tick() - handle what is overdue. Return: when to come back. */
u64 session_tick(struct fabric *f, struct member *m, u64 now);

/* --- hello.c --- */

/** join_token_load() - read a token file. Return: NULL, or why not. */
const char *join_token_load(const char *path, u8 *token, u32 *len);
/** hello_send() - begin the handshake. */
void hello_send(struct fabric *f, struct jconn *c);
/** hello_input() - handle a frame before JC_UP. This may close the connection. */
void hello_input(struct fabric *f, struct jconn *c, const struct join_hdr *h, const u8 *body);

/* --- tables.c --- */

/** tables_send_all() - send a member all our nodes and devices. */
void tables_send_all(struct fabric *f, struct member *m);
/** tables_send_news() - send all members the nodes that have changed. Token held. */
void tables_send_news(struct fabric *f);
/**
 * tables_input() - handle NODE, DEV or READY of @m. Token held. Return: NULL, or why it is refused.
 */
const char *tables_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);
/** tables_withdraw() - take back the addresses of @m. Token held. */
void tables_withdraw(struct fabric *f, struct member *m);

/* --- bursts.c --- */

/** join_carrier - takes bursts to devices of members from the links. */
extern const struct link_carrier join_carrier;

/**
 * join_burst_translate() - translate the member's device numbers to ours. Return: whether the burst
 * may name both devices.
 */
bool join_burst_translate(const struct fabric *f, const struct member *m, struct burst *b);
/**
 * join_burst_take() - take a burst from @m. Token held.
 * @next: the frame after it, if that is complete and between the same QPs, or NULL
 * Return: 0, -EAGAIN: not now, -EPROTO.
 */
int join_burst_take(struct fabric *f, struct member *m, const struct join_hdr *h, const u8 *body,
		    const u8 *next);
/**
 * join_burst_train() - take small WRITEs that have come together, in the frames from @at on, of
 * which @have bytes have come. Token held.
 * Return: bytes of the frames that were taken; 0: take the first by join_burst_take().
 */
u32 join_burst_train(struct fabric *f, struct member *m, const u8 *at, u32 have);
/**
 * join_burst_next() - @next of join_burst_take() for the frame at @at, of which and after which
 * @have bytes have come.
 */
const u8 *join_burst_next(const u8 *at, u32 have);
/** join_credit_send() - grant @m more credit, if it is time. */
void join_credit_send(struct fabric *f, struct member *m);

/* --- stream.c --- */

/**
 * join_stream_take() - take packets of the first burst of the input, whose end has not come. Token
 * held. @done: receives the bytes that were taken. Return: NULL, or what is wrong with the frame.
 */
const char *join_stream_take(struct fabric *f, struct jconn *c, struct member *m,
			     const struct join_hdr *h, u32 *done);

/* --- probe.c --- */

/** join_under_way() - as link_carrier.under_way. */
bool join_under_way(struct fabric *f, u32 member, struct hca_qp *qp);
/** probe_input() - PROBE or PROBED has come from @m. Return: NULL, or what is wrong with it. */
const char *probe_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);

/* --- resolve.c --- */

/** resolve_start() - look a target's name up, in a child process if that may take time. */
void resolve_start(struct fabric *f, struct target *t);

#endif
