/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections with members: their buffers, what is sealed, and payload that is lent.
 */
#ifndef FABRIC_JOIN_CONN_H
#define FABRIC_JOIN_CONN_H

#include "fabric/join/mesh.h"

/* --- conn.c --- */

/**
 * jconn_new() - a connection for a socket. @out: this side connects. Return: NULL: there are too
 * many.
 */
struct jconn *jconn_new(struct fabric *f, int fd, bool out, const struct sockaddr_storage *sa);
/**
 * jconn_address() - the IP address of one end; IPv4 as IPv4-mapped IPv6. Return: false: it has none
 * any more.
 */
bool jconn_address(int fd, bool peer, u8 ip[16], u32 *scope);
/** jconn_close() - close it. @why: for the log; NULL: log nothing */
void jconn_close(struct fabric *f, struct jconn *c, const char *why);
/** jconn_refuse() - close it, and tell the peer why. */
void jconn_refuse(struct fabric *f, struct jconn *c, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** jconn_reserve() - reserve @len contiguous bytes of output. Return: NULL: there is no room. */
u8 *jconn_reserve(struct jconn *c, u32 len);
/** jconn_commit() - write @len bytes of what was reserved. */
void jconn_commit(struct jconn *c, u32 len);
/** jconn_send() - queue a small frame. Return: 0 or -EAGAIN: there is no room. */
int jconn_send(struct fabric *f, struct jconn *c, u8 type, u64 src, u64 dst, const void *body,
	       u32 len);
/** jconn_flush() - write as much as the socket takes. This may close the connection. */
void jconn_flush(struct fabric *f, struct jconn *c);
/** jconn_pending() - bytes that are queued. */
u32 jconn_pending(const struct jconn *c);
/** jconn_piece() - the contiguous bytes that are queued first. */
u32 jconn_piece(struct jconn *c, const u8 **at);
/** jconn_consume() - @n bytes of that are done with. */
void jconn_consume(struct jconn *c, u32 n);
/**
 * jconn_update_events() - poll for input only while there is room, for output only while bytes are
 * queued.
 */
void jconn_update_events(struct fabric *f, struct jconn *c);

/** jconn_idle() - whether all output has been written. */
bool jconn_idle(const struct jconn *c);
/** jconn_is_loopback() - whether both ends have loopback addresses. */
bool jconn_is_loopback(const struct jconn *c);
/**
 * jconn_open() - take records that have come, as far as there is room, into the input. This may
 * close the connection. Return: whether there is more input than before.
 */
bool jconn_open(struct fabric *f, struct jconn *c);

/** jconn_side() - which side of a connection this fabric is; the peer is the other. */
static inline enum join_side jconn_side(const struct jconn *c)
{
	return c->out ? SIDE_CONNECTS : SIDE_ACCEPTS;
}

/* --- loan.c --- */

/**
 * jconn_flush_loan() - as jconn_flush(), for output whose last bytes, committed already, lie in
 * lent memory. Bytes that the socket does not take are copied into the buffer: no loan remains.
 * Token held.
 */
void jconn_flush_loan(struct fabric *f, struct jconn *c, const struct jloan *l);
/** jloan_left() - bytes of the loan that the socket has not taken. */
u32 jloan_left(const struct jconn *c);
/** jloan_rest() - where these bytes are, as @v. Return: entries, at most JOIN_LOAN_PIECES. */
u32 jloan_rest(const struct jconn *c, struct iovec *v);

/* --- sealed.c --- */

/**
 * jseal_start() - seal all output that follows, and take what follows in the input for records.
 * Return: 0 or -ENOMEM.
 */
int jseal_start(struct jconn *c);
/** jseal_free() - the connection is closed. */
void jseal_free(struct jconn *c);
/** jseal_cipher() - its name, or NULL: the connection is not sealed. */
const char *jseal_cipher(const struct jconn *c);
/** jseal_space() - where to read @len bytes of records at most. */
u8 *jseal_space(struct jconn *c, u32 *len);
/** jseal_came() - @len bytes of records have been read there. */
void jseal_came(struct jconn *c, u32 len);
/** jseal_open() - open records into @c->rx. Return: bytes of text, or -EBADMSG. */
int jseal_open(struct jconn *c);
/** jseal_output() - seal output, and say which bytes are next to be written. */
u32 jseal_output(struct jconn *c, const u8 **at);
/** jseal_wrote() - @len of these were written. */
void jseal_wrote(struct jconn *c, u32 len);
/** jseal_pending() - bytes of records that are not written yet. */
u32 jseal_pending(const struct jconn *c);

#endif
