/* SPDX-License-Identifier: MIT */
/**
 * DOC: the other end of a socket of world.h: a member, or somebody who wants to be taken for
 * one. It knows the token, and shows it when the test says so.
 */
#ifndef TESTS_LIB_MESH_PEER_H
#define TESTS_LIB_MESH_PEER_H

#include "fabric/join/seal.h"
#include "tests/lib/mesh/world.h"

#define PEER_QPN 0x12u /* of the QP that world_connect() connects with */

/* Errors of a greeting: peer_greet(). */
enum peer_odd {
	ODD_VERSION = 1 << 0,
	ODD_SPEED = 1 << 1,
	ODD_KEY = 1 << 2, /* of low order */
	ODD_NAME = 1 << 3,
	ODD_PORT = 1 << 4, /* nothing is wrong: it listens */
	ODD_ID = 1 << 5, /* the fabric's own */
};

enum peer_proof {
	PROOF_RIGHT,
	PROOF_NO_TOKEN,
	PROOF_REFLECTED, /* the fabric's own */
	PROOF_NOISE,
	PROOFS,
};

enum peer_record {
	RECORD_CHANGED,
	RECORD_AGAIN,
	RECORD_EMPTY,
	RECORD_HUGE,
	RECORD_OTHER_KEY,
	RECORDS,
};

/** struct peer - the other end of a socket. */
struct peer {
	u32 who;
	u8 flags, theirs_flags; /* of both HELLOs */
	bool deaf; /* it reads nothing */
	bool greeted, heard_hello;
	bool proved; /* it has shown the token */
	bool heard_proof;
	bool sealed; /* what follows is to be sealed */
	bool has_keys;
	bool noise; /* something has followed that is no record, and may be the head of a long one */
	u8 mine[JOIN_HDR + JOIN_HELLO], theirs[JOIN_HDR + JOIN_HELLO];
	struct join_keys keys;
	struct seal send, recv;
	u64 session; /* that it has begun last */
	u64 heard; /* the fabric's last */
	u32 n_asks, n_bursts, n_probes; /* frames of others that have come through the fabric */
	u32 n_queries, n_pieces; /* frames of the fabric's own about texts */
	struct join_query query; /* its last QUERY */
	struct join_piece piece; /* its last PIECE, whose bytes are in @piece_data */
	u32 text_len;
	u8 text[JOIN_MAX_FRAME + SEAL_MAX]; /* that was opened, and is no whole frame yet */
	u8 piece_data[JOIN_PIECE_MAX];
};

struct peer *peer_new(void);
/** peer_reset() - nobody yet. */
void peer_reset(struct peer *p);
/** peer_id() - the member's id of peer @who, below 32. */
u64 peer_id(u32 who);
/** peer_greet() - send HELLO. @odd: enum peer_odd */
void peer_greet(struct world_sock *s, u32 who, u8 flags, u32 odd);
/** peer_prove() - send PROOF. */
void peer_prove(struct world_sock *s, enum peer_proof how);
/** peer_put() - send bytes of the stream of frames, in records if it is sealed by now. */
bool peer_put(struct world_sock *s, const u8 *data, u32 len);
/** peer_send() - send a frame. @h: all but its length */
bool peer_send(struct world_sock *s, const struct join_hdr *h, const void *body, u32 len);
/** peer_say() - send the fabric a frame of its own. */
bool peer_say(struct world_sock *s, u8 type, const void *body, u32 len);
/** peer_bad_record() - send a record that the fabric must not open. Return: whether it could. */
bool peer_bad_record(struct world_sock *s, enum peer_record how);
/** peer_listen() - read what the fabric has sent, and check it. */
void peer_listen(struct world_sock *s);
/**
 * peer_join() - connect from world_address(@from) and become the member @who. Return: the socket,
 * or NULL: the fabric does not want it.
 */
struct world_sock *peer_join(u32 from, u32 who, u8 flags);
/** peer_begin() - begin a session. */
bool peer_begin(struct world_sock *s);
/** peer_device() - a device of node 0 with one port: @gid, in place of 0, and @lid of its port. */
struct hca_dev peer_device(u32 who, u32 index, u8 gid, u32 lid);
/** peer_tables() - node "peerWHO" with one device, and READY. */
bool peer_tables(struct world_sock *s);
/** peer_write() - a WRITE of a few bytes into the memory of client 0, for the world's QP. */
struct burst peer_write(u32 len);
/** peer_burst() - send a burst with @b->len bytes of payload, which are zeros. */
bool peer_burst(struct world_sock *s, const struct burst *b);

#endif
