/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric process that is joined with others, alone in a test: the sources of fabric/join,
 * fabric/link and the engine, with sockets, a clock and random numbers that the test makes.
 *
 * The linker replaces the system calls of these sources (WORLD_CALLS in mk/tests.mk). A socket is
 * two buffers; its other end is a peer (peer.h), or nobody. Nothing waits: world_turn() moves
 * the clock and runs one turn of the fabric process's loop.
 *
 * All memory that the process keeps is compared with copies that were made once, so that
 * world_reset() brings it back to its first moment in some 50 microseconds.
 */
#ifndef TESTS_LIB_MESH_WORLD_H
#define TESTS_LIB_MESH_WORLD_H

#include "fabric/join/mesh.h"
#include "tests/lib/engine/emu.h"

#include <stdlib.h>
#include <sys/socket.h>

#define WORLD_SOCKS   48u
#define WORLD_BUF     (5u << 18) /* more than a frame */
#define WORLD_FABRIC  4u /* the fabric's id: that of some peers is lower, that of others higher */
#define WORLD_PORT    7471u
#define WORLD_TOKEN   "a token of the mesh"
#define WORLD_REMOTES 8u /* addresses of peers: world_address() */

/** struct world_buf - bytes on their way through a socket, in one direction. */
struct world_buf {
	u32 head, tail;
	u8 mem[WORLD_BUF];
};

enum world_sock_state {
	SOCK_FREE,
	SOCK_KNOCKS, /* waits until the fabric accepts it */
	SOCK_DIALS, /* the fabric waits for an answer */
	SOCK_OPEN,
};

struct peer;

/** struct world_sock - a socket of the fabric. */
struct world_sock {
	enum world_sock_state state;
	bool out; /* the fabric has connected */
	bool ended; /* the other end has closed it */
	int error; /* of the connection: its next use fails so */
	u32 takes; /* bytes that it takes at a time, until the fabric's next turn */
	u32 room; /* that are left of these */
	u32 gives; /* bytes that one read() gets */
	struct watch *watch;
	u32 events; /* EPOLL* bits that the fabric waits for */
	struct sockaddr_storage us, them;
	struct world_buf *in, *from; /* to the fabric, and from it */
	struct peer *peer; /* at the other end */
};

/** struct world - the fabric process and its surroundings. */
struct world {
	struct emu *m; /* the engine with its clients; their clock is the world's */
	struct fabric *f;
	struct link *link; /* the fabric's, where leak sanitizers look */
	struct world_sock sock[WORLD_SOCKS];
	struct watch *listener;
	u32 listener_events;
	u64 clock; /* real time, ns */
	u64 next; /* when join_tick() wants to be called again, at the latest */
	u32 n_random; /* random numbers drawn */
	u64 proven; /* a bit for each id that has shown the token */
	u64 n_notes;
	char note[160]; /* the fabric's last line */
	bool on; /* calls are the world's, not the system's */
	bool frozen; /* world_reset() puts back what is there */
	struct emu_qp qp; /* a reliable QP of client 0, for world_connect() */
};

extern struct world world;

/* As assert(), for what the fabric must never do, whatever it gets. */
#define WORLD_MUST(cond)                                                                           \
	do {                                                                                       \
		if (!(cond))                                                                       \
			world_fail(#cond, __FILE__, __LINE__);                                     \
	} while (0)

void world_fail(const char *what, const char *file, int line) __attribute__((noreturn));

/** world_make() - make it, once. */
void world_make(void);
/** world_reset() - its first moment again: no connections, no members. */
void world_reset(void);
/** world_turn() - @ns pass, and the fabric process's loop turns once. Checks with world_check(). */
void world_turn(u64 ns);
/** world_check() - the fabric's state is sound, and nobody is a member without the token. */
void world_check(void);
/** world_audit() - as `rdmaemu status --audit`. Return: whether HCA memory is sound. */
bool world_audit(void);
/**
 * world_knock() - somebody connects from world_address(@from). Return: the socket, or NULL: there
 * are too many.
 */
struct world_sock *world_knock(u32 from);
/** world_answer() - the other end answers a socket that dials. @error: errno; 0: it accepts */
void world_answer(struct world_sock *s, int error);
/** world_hang_up() - the other end closes it. */
void world_hang_up(struct world_sock *s);
/** world_put() - bytes for the fabric. Return: false: they do not fit. */
bool world_put(struct world_sock *s, const u8 *data, u32 len);
/** world_address() - an IP address, of loopback for @n 0, and port. */
void world_address(u32 n, struct sockaddr_storage *sa);
/** world_conn() - the fabric's connection of a socket, or NULL. */
struct jconn *world_conn(const struct world_sock *s);
/** world_connect_to() - connect the world's QP with QP PEER_QPN at a GID. Return: whether it is. */
bool world_connect_to(const u8 gid[16]);
/** world_connect() - the same with the @nth member's device that has a GID. */
bool world_connect(u32 nth);

/* --- world_calls.c --- */

/** world_close_all() - forget all sockets. */
void world_close_all(void);

#endif
