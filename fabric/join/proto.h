/* SPDX-License-Identifier: MIT */
/**
 * DOC: the protocol between joined fabrics, see docs/reference/join-protocol.md: layouts, encoding,
 * decoding.
 *
 * All of this is pure: no state, no I/O. Everything that is read is checked here, except for what
 * depends on the members (which devices exist): bursts.c and tables.c check that.
 */
#ifndef FABRIC_JOIN_PROTO_H
#define FABRIC_JOIN_PROTO_H

#include "emulator/burst.h"

#define JOIN_VERSION   6u
#define JOIN_MAGIC     "rdmaemuJ"
#define JOIN_HDR       24u
#define JOIN_MAX_DATA  (1u << 20) /* payload of a burst, and what a READ request asks for */
#define JOIN_MAX_FRAME (JOIN_MAX_DATA + 512u)
#define JOIN_MAX_EARLY 512u /* a frame before the handshake is done */
#define JOIN_SMALL     512u /* a burst up to here has no payload that needs credit */
#define JOIN_NONCE     32u
#define JOIN_MAC       32u
#define JOIN_TEXT      160u
#define JOIN_NAME      48u
#define JOIN_HELLO     136u
#define JOIN_KEY       32u
#define JOIN_NODE      (8u + JOIN_NAME)
#define JOIN_BEGIN     8u
#define JOIN_CREDIT    (8u + 8u * LANES)
#define JOIN_PROBE     16u
#define JOIN_PROBED    16u
#define JOIN_QUERY     152u
#define JOIN_PIECE     64u /* before the piece's bytes */
#define JOIN_PIECE_MAX (32u << 10) /* bytes of a piece */
#define JOIN_TEXT_MAX  (64ull << 20) /* bytes of a text that answers a QUERY */
#define JOIN_NODE_DEVS 8u /* devices of a node */
#define JOIN_BURST     112u
#define JOIN_AV	       32u
#define JOIN_MAX_PEERS 128u
#define JOIN_PEER      32u /* bytes of one entry of PEERS */
#define JOIN_MAX_DEV   2048u /* bytes of a DEV's body */
#define JOIN_MCAST     (~0u) /* as destination device */

/* The client of a MEM_SEG that is the payload of the burst being taken, in the fabric process. */
#define HCA_JOIN 0xfffffffbu

enum join_type {
	JT_HELLO = 1,
	JT_PROOF,
	JT_REFUSE,
	JT_NODE,
	JT_DEV,
	JT_READY,
	JT_PEERS,
	JT_BURST,
	JT_CREDIT,
	JT_PING,
	JT_BYE,
	JT_ASK,
	JT_BEGIN,
	JT_PROBE,
	JT_PROBED,
	JT_QUERY,
	JT_PIECE,
	JT_LAST = JT_PIECE,
};

enum join_lane {
	LANE_REQUEST,
	LANE_ANSWER,
	LANES,
};

/** struct join_hdr - a frame's header. @len: of the frame, header included */
struct join_hdr {
	u32 len;
	u8 type;
	u8 lane;
	u64 src, dst;
};

/**
 * struct join_probe - a question about requests of a queue pair.
 * @number: of the question, not 0; @qpn: of the queue pair that asks
 * @dev, @peer: device, by its owner's number, and number of the queue pair that it talks to
 */
struct join_probe {
	u32 number;
	u32 qpn;
	u32 dev;
	u32 peer;
};

/** struct join_probed - its answer. @waits: 1: something of the queue pair waits, 0: nothing */
struct join_probed {
	u32 number;
	u32 qpn;
	u32 waits;
};

enum join_query_what {
	JQ_STATUS = 1,
	JQ_LOG,
	JQ_FAULTS,
};

enum join_query_flag {
	JQ_F_JSON = 1,
	JQ_F_LINES = 2, /* JQ_LOG: an object per line, instead of an array */
	JQ_F_VERBOSE = 4, /* JQ_STATUS, as text: all details */
};

/** struct join_position - up to where a journal was read: as in struct proto_log */
struct join_position {
	u64 errors, notices, notes, floods;
};

/**
 * struct join_query - a question that a text answers, piece by piece.
 * @number: of the question, not 0; the same in each QUERY for a further piece of its text
 * @what, @flags: enum join_query_what, join_query_flag
 * @from: where the piece begins; 0: the text is made now
 * @qpn, @program, @node: JQ_LOG: as struct proto_log; @position: from which on entries are new
 */
struct join_query {
	u32 number;
	u32 what;
	u32 flags;
	u32 qpn;
	u64 from;
	struct join_position position;
	char program[JOIN_NAME];
	char node[JOIN_NAME];
};

/**
 * struct join_piece - a piece of the text.
 * @err: errno: there is no text, 0: there is
 * @total: bytes of the text; @from: where this piece begins
 * @position, @lost: JQ_LOG: as struct proto_log, after the query
 * @data: its bytes, @len of them
 */
struct join_piece {
	u32 number;
	u32 err;
	u64 total, from;
	struct join_position position;
	u64 lost;
	const u8 *data;
	u32 len;
};

/* Flags of HELLO. */
enum join_flag {
	JOIN_F_SEAL = 1, /* the connection is to be sealed: an address of it is not loopback */
	JOIN_F_PLAIN = 2, /* it is not to be sealed: --plaintext */
	JOIN_F_AES = 4, /* the sender has instructions for AES-GCM */
};

struct join_hello {
	u32 version;
	u16 port; /* where it listens; 0: nowhere */
	u32 ppm; /* speed of its clock, in millionths of real time; 0: not given */
	u8 nonce[JOIN_NONCE];
	char name[JOIN_NAME];
	u8 key[JOIN_KEY]; /* fresh public key */
	u8 flags; /* enum join_flag */
};

struct join_peer {
	u64 id;
	u8 ip[16]; /* IPv4 as IPv4-mapped IPv6 */
	u32 scope; /* of a link-local address */
	u16 port;
};

/** join_hdr_put() - write a header. */
void join_hdr_put(u8 *p, const struct join_hdr *h);
/** join_hdr_get() - read and check a header. @max: of a frame's length. Return: 0 or -EPROTO. */
int join_hdr_get(const u8 *p, u32 max, struct join_hdr *h);

/**
 * join_text_get() - the text of REFUSE, as far as it can be printed. @text: room for JOIN_TEXT + 1
 */
void join_text_get(const u8 *p, u32 len, char *text);

void join_hello_put(u8 *p, const struct join_hello *h);
/**
 * join_hello_get() - Return: 0, -EPROTO, or -EPROTONOSUPPORT: another version; only @h->version is
 * set.
 */
int join_hello_get(const u8 *p, u32 len, struct join_hello *h);

/** join_name_ok() - whether a node may have that name: [A-Za-z0-9._-]{1,40}. */
bool join_name_ok(const char *name, u32 size);

/** join_node_put() - Return: bytes written. */
u32 join_node_put(u8 *p, u32 index, u32 n_devs, const char *name);
/** join_node_get() - Return: 0 or -EPROTO. @name: receives JOIN_NAME bytes */
int join_node_get(const u8 *p, u32 len, u32 *index, u32 *n_devs, char *name);

/**
 * join_dev_put() - write a device as other members need it. Return: bytes written, at most
 * JOIN_MAX_DEV.
 */
u32 join_dev_put(u8 *p, const struct hca_dev *d);
/**
 * join_dev_get() - read a device, with the sender's @index and @node; fields that are not sent are
 * zero.
 * Return: 0 or -EPROTO.
 */
int join_dev_get(const u8 *p, u32 len, struct hca_dev *d);

/** join_peers_put() - Return: bytes written. @n: at most JOIN_MAX_PEERS */
u32 join_peers_put(u8 *p, const struct join_peer *peer, u32 n);
/** join_peers_get() - Return: number of peers, or -EPROTO. @peer: room for JOIN_MAX_PEERS */
int join_peers_get(const u8 *p, u32 len, struct join_peer *peer);

/** join_probe_put(), join_probe_get() - PROBE. join_probe_get() returns 0 or -EPROTO. */
void join_probe_put(u8 *p, const struct join_probe *q);
int join_probe_get(const u8 *p, u32 len, struct join_probe *q);
/** join_probed_put(), join_probed_get() - PROBED. join_probed_get() returns 0 or -EPROTO. */
void join_probed_put(u8 *p, const struct join_probed *r);
int join_probed_get(const u8 *p, u32 len, struct join_probed *r);

/** join_query_put(), join_query_get() - QUERY. join_query_get() returns 0 or -EPROTO. */
void join_query_put(u8 *p, const struct join_query *q);
int join_query_get(const u8 *p, u32 len, struct join_query *q);
/** join_piece_put() - PIECE. Return: bytes written. @p: room for JOIN_PIECE + JOIN_PIECE_MAX */
u32 join_piece_put(u8 *p, const struct join_piece *t);
/** join_piece_get() - Return: 0 or -EPROTO. @t->data points into @p. */
int join_piece_get(const u8 *p, u32 len, struct join_piece *t);

/** join_u64_put(), join_u64_get() - a number of 8 bytes. */
void join_u64_put(u8 *p, u64 v);
u64 join_u64_get(const u8 *p);

/** join_lane_of() - the lane that a burst takes. */
static inline enum join_lane join_lane_of(u8 op)
{
	return op == BOP_ACK || op == BOP_READ_RESP || op == BOP_ATOMIC_ACK ? LANE_ANSWER
									    : LANE_REQUEST;
}

/** join_burst_size() - bytes of a burst's body before its payload. */
static inline u32 join_burst_size(const struct burst *b)
{
	return JOIN_BURST + (b->av ? JOIN_AV : 0);
}

/** join_data_len() - bytes of payload that go with a burst. */
static inline u32 join_data_len(const struct burst *b)
{
	return b->op == BOP_READ_REQ ? 0 : (u32)b->len;
}

/** join_burst_has_av() - whether the address of a datagram follows the JOIN_BURST bytes at @p. */
static inline bool join_burst_has_av(const u8 *p)
{
	return p[29] != 0;
}

/**
 * join_burst_needs_credit() - whether a frame of @len bytes may only be sent while credit is left.
 * A response without payload needs none: there is at most one for each request.
 */
static inline bool join_burst_needs_credit(u8 lane, u32 len)
{
	return lane == LANE_REQUEST || len > JOIN_SMALL;
}

/** join_burst_put() - write all but the payload. @src_dev, @dst_dev: numbers for the receiver */
void join_burst_put(u8 *p, const struct burst *b, u32 src_dev, u32 dst_dev);
/**
 * join_burst_void() - mark a burst that was written: its payload cannot be read, and does not
 * follow.
 */
void join_burst_void(u8 *p);
/**
 * join_burst_get() - read and check a body. @lane: that it came in
 * @av: receives the address of a datagram, to which b->av then points
 * @data: receives the position of the payload, join_data_len() bytes, or NULL: it could not be read
 * Return: 0 or -EPROTO. b->src_dev and b->dst_dev are the sender's numbers and unchecked.
 */
int join_burst_get(const u8 *p, u32 len, u8 lane, struct burst *b, struct hca_av *av,
		   const u8 **data);

/**
 * join_burst_same_flow() - whether the bursts in frames @a and @b, both complete, are between the
 * same QPs, in the same direction and lane.
 */
bool join_burst_same_flow(const u8 *a, const u8 *b);
/**
 * join_burst_shares_ack() - whether the ACK of the request in frame @next, if it is one, covers @b.
 */
bool join_burst_shares_ack(const struct burst *b, const u8 *next);

#endif
