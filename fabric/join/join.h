/* SPDX-License-Identifier: MIT */
/**
 * DOC: joined fabrics, as other modules use them.
 *
 * docs/reference/join-protocol.md describes the protocol, mesh.h the implementation.
 */
#ifndef FABRIC_JOIN_JOIN_H
#define FABRIC_JOIN_JOIN_H

#include "fabric/core/fabric.h"

struct opts;

/* --- start.c --- */

/**
 * join_start() - listen and connect as the settings say. Without such settings the starter learns
 * at once that the fabric is ready, otherwise join_tick() tells it.
 * Return: NULL, or why it cannot.
 */
const char *join_start(struct fabric *f, const struct opts *o);
/** join_end() - tell the other members that this fabric leaves. */
void join_end(struct fabric *f);

/* --- texts.c --- */

/**
 * join_make_text - make the text that answers a request (PROTO_STATUS, PROTO_LOG or
 * PROTO_FAULT_LIST), as for a process of this host. Return: a memfd or -errno.
 */
typedef int join_make_text(struct fabric *f, struct proto_msg *m);

/** join_answer_by() - the function that makes texts for other members. */
void join_answer_by(struct fabric *f, join_make_text *make);
/**
 * join_text_ask() - have the member @m->member answer a request that a text answers.
 * Return: -EINPROGRESS: the connection gets its answer later; other -errno: proto.h
 */
int join_text_ask(struct fabric *f, struct conn *c, const struct proto_msg *m);
/**
 * join_texts_tick() - make and send the texts that members ask for, and end questions without an
 * answer. Token not needed. Return: when to come back.
 */
u64 join_texts_tick(struct fabric *f);
/** join_conn_closed() - a connection is closed. */
void join_conn_closed(struct fabric *f, const struct conn *c);

/* --- mesh.c --- */

/** join_tick() - do what is due without the token. Return: when to come back. */
u64 join_tick(struct fabric *f);

/* --- frames.c --- */

/** join_due() - whether frames wait for the token. */
bool join_due(const struct fabric *f, u64 now);
/** join_next() - when frames will wait for the token, real time. */
u64 join_next(const struct fabric *f);
/** join_input() - take the frames that wait. Token held. */
void join_input(struct fabric *f);
/** join_tables_changed() - our devices or ports may have changed: tell the other members. */
void join_tables_changed(struct fabric *f);

/* --- stream.c --- */

/** join_burst_payload() - the payload of the burst that is being taken: the memory of HCA_JOIN. */
void *join_burst_payload(struct fabric *f);
/**
 * join_stream_copy() - as engine_ops.copy, if @src is such a payload and has not been read from its
 * socket. Return: false: it is memory: copy it as any other.
 */
bool join_stream_copy(struct fabric *f, const struct hca_mem *dst, u64 doff,
		      const struct hca_mem *src, u64 soff, u64 len, int *ret);

#endif
