/* SPDX-License-Identifier: MIT */
/**
 * DOC: identifiers and event channels that stand for one of each library.
 *
 * A program creates an identifier before it says which device it means. So each identifier of the
 * program is one of the dispatcher's, with one of each library below it, until an address decides
 * (bind.c). Its public fields are copies of those of the library's identifier, and what the program
 * writes there goes to the library (fields.c). The context of a library's identifier is the
 * dispatcher's, which is how events find it (event.c).
 */
#ifndef LIBDISPATCH_CM_CM_H
#define LIBDISPATCH_CM_CM_H

#include "libdispatch/cm/known.h"
#include "libshim/interpose/export.h"

#include <pthread.h>

/**
 * struct cm_both_channel - an event channel of the program. @ch.fd is an epoll descriptor over the
 * channels of the libraries.
 * @side: NULL: the library has no connection management
 * @first: the library whose events are taken first, in turns
 */
struct cm_both_channel {
	struct rdma_event_channel ch;
	struct rdma_event_channel *side[SIDES];
	u32 first;
	struct cm_known known;
};

/** enum cm_bound - the libraries that an identifier is bound with, as bits. */
enum cm_bound {
	CM_UNBOUND = 0,
	CM_BOUND_REAL = 1u << SIDE_REAL,
	CM_BOUND_EMULATED = 1u << SIDE_EMULATED,
	CM_BOUND_BOTH = CM_BOUND_REAL | CM_BOUND_EMULATED, /* to a wildcard address */
};

/**
 * struct cm_both_event - an event of the program, @ev.
 * @below: that of the library @side; NULL: there is none, or the program has acknowledged it
 * @of: the synchronous identifier that it is part of; NULL: it is one of a channel
 */
struct cm_both_event {
	struct rdma_cm_event ev;
	struct rdma_cm_event *below;
	enum cm_side side;
	struct cm_both_id *of;
	struct cm_known known;
};

/**
 * struct cm_both_id - an identifier of the program, @id.
 * @shown: what the fields of @id have been set to. A field that is different is the program's own,
 *	and goes to the library.
 * @side: those of the libraries; NULL: it has none there
 * @own: the channel of a synchronous identifier, over the libraries'. A program may destroy
 *	its own channel before the identifiers on it, so this says whose it is.
 * @bound: enum cm_bound
 * @request: of a listener with both libraries, the one that the latest rdma_get_request() called
 * @event: of a synchronous identifier, what @id.event points to
 * @lock: of @shown and @event, and of writing the fields of @id
 */
struct cm_both_id {
	struct rdma_cm_id id;
	struct rdma_cm_id shown;
	struct rdma_cm_id *side[SIDES];
	struct cm_both_channel *own;
	u32 bound;
	enum cm_side request;
	struct cm_both_event event;
	pthread_mutex_t lock;
	struct cm_known known;
};

static inline struct cm_both_id *cm_both_id_of(struct rdma_cm_id *id)
{
	return (struct cm_both_id *)id;
}

static inline struct cm_both_channel *cm_both_channel_of(struct rdma_event_channel *channel)
{
	return (struct cm_both_channel *)channel;
}

/**
 * CM_EXPORT() - declare both_@name(), which the program calls as @name.
 */
#define CM_EXPORT(type, name, ...) SHIM_EXPORT type both_##name(__VA_ARGS__) __asm__(#name)

/* --- channel.c --- */

/**
 * cm_both_channel_of_id() - make a channel over those of a synchronous identifier, @b->own.
 * Return: NULL with errno
 */
struct rdma_event_channel *cm_both_channel_of_id(struct cm_both_id *b);
/** cm_channel_is_gone() - the program has destroyed it. With errno EBADF then */
bool cm_channel_is_gone(const struct rdma_event_channel *channel);
/** cm_both_channel_set() - a synchronous identifier has another channel. 0, or -1 with errno */
int cm_both_channel_set(struct cm_both_channel *c, enum cm_side side,
			struct rdma_event_channel *below);
/** cm_both_channel_free() - the channels below stay. */
void cm_both_channel_free(struct cm_both_channel *c);

/* --- id.c --- */

/** cm_both_id_side() - the library that a call on the identifier is for. */
enum cm_side cm_both_id_side(const struct cm_both_id *b);
/**
 * cm_both_id_wrap() - an identifier for one that a library has created, bound.
 * @channel: NULL: it is synchronous. Return: NULL with errno
 */
struct cm_both_id *cm_both_id_wrap(struct rdma_cm_id *below, enum cm_side side,
				   struct rdma_event_channel *channel, void *context);
/** cm_both_id_free() - free the identifier alone. */
void cm_both_id_free(struct cm_both_id *b);
/** cm_both_id_unbind() - make the library's identifier anew. Return: 0, or -1 with errno */
int cm_both_id_unbind(struct cm_both_id *b, enum cm_side side);

/* --- fields.c --- */

/** cm_both_id_push() - the library gets the fields that the program has written. Keeps errno. */
void cm_both_id_push(struct cm_both_id *b);
/**
 * cm_both_id_pull() - push, and copy the public fields of the library's identifier. Keeps errno.
 */
void cm_both_id_pull(struct cm_both_id *b);
/**
 * cm_both_id_ack() - acknowledge the event of a synchronous identifier.
 * Return: 0; -1 with errno, EINVAL: it has none
 */
int cm_both_id_ack(struct cm_both_id *b);

/* --- bind.c --- */

/** cm_both_id_bind() - as rdma_bind_addr(3). */
int cm_both_id_bind(struct cm_both_id *b, struct sockaddr *addr);
/**
 * cm_destination_side() - the library that reaches an address.
 */
enum cm_side cm_destination_side(const struct sockaddr *dst);
/** cm_addr_is_wildcard() - no address, or the loopback one, which means any device, too. */
bool cm_addr_is_wildcard(const struct sockaddr *addr);

/* --- event.c --- */

/** cm_event_translate() - the event as the program shall see it: with its own identifiers. */
void cm_event_translate(struct rdma_cm_event *to, const struct rdma_cm_event *below);
/** cm_event_brings_id() - whether the event is a request, which has an identifier of its own. */
bool cm_event_brings_id(const struct rdma_cm_event *below);

#endif
