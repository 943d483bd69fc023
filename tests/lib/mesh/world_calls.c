/* SPDX-License-Identifier: MIT */
/* The system calls of the fabric process in tests: sockets in memory. See world.h. */
#include "tests/lib/mesh/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <nettle/curve25519.h>
#include <sanitizer/asan_interface.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#define FD_LISTEN (1 << 20)
#define FD_SOCK	  (FD_LISTEN + 1)

/* Declares what the linker makes of a call: the real one, and ours. */
#define CALL(type, name, ...)                                                                      \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

static struct world_sock *sock_of(int fd)
{
	return fd >= FD_SOCK && fd < FD_SOCK + (int)WORLD_SOCKS ? &world.sock[fd - FD_SOCK] : NULL;
}

static int sock_fd(const struct world_sock *s)
{
	return FD_SOCK + (int)(s - world.sock);
}

static long call_fails(int error)
{
	errno = error;
	return -1;
}

static u32 buf_take(struct world_buf *b, u8 *to, u32 max)
{
	u32 n = min_u32(b->tail - b->head, max);

	memcpy(to, b->mem + b->head, n);
	b->head += n;
	if (b->head == b->tail)
		b->head = b->tail = 0;
	return n;
}

static u32 buf_put(struct world_buf *b, const u8 *from, u32 max)
{
	u32 n;

	if (b->head) {
		memmove(b->mem, b->mem + b->head, b->tail - b->head);
		b->tail -= b->head;
		b->head = 0;
	}
	n = min_u32(WORLD_BUF - b->tail, max);
	memcpy(b->mem + b->tail, from, n);
	b->tail += n;
	return n;
}

bool world_put(struct world_sock *s, const u8 *data, u32 len)
{
	if (WORLD_BUF - (s->in->tail - s->in->head) < len)
		return false;
	buf_put(s->in, data, len);
	return true;
}

static struct world_sock *sock_new(enum world_sock_state state)
{
	struct world_sock *s = world.sock;

	while (s < world.sock + WORLD_SOCKS && s->state != SOCK_FREE)
		s++;
	if (s == world.sock + WORLD_SOCKS)
		return NULL;
	*s = (struct world_sock){ .state = state,
				  .takes = WORLD_BUF,
				  .room = WORLD_BUF,
				  .gives = WORLD_BUF,
				  .in = s->in,
				  .from = s->from,
				  .peer = s->peer };
	s->in->head = s->in->tail = s->from->head = s->from->tail = 0;
	peer_reset(s->peer);
	return s;
}

struct world_sock *world_knock(u32 from)
{
	struct world_sock *s = sock_new(SOCK_KNOCKS);

	if (!s)
		return NULL;
	world_address(from, &s->them);
	world_address(from ? WORLD_REMOTES : 0, &s->us);
	return s;
}

void world_answer(struct world_sock *s, int error)
{
	if (s->state != SOCK_DIALS)
		return;
	s->state = SOCK_OPEN;
	s->error = error;
}

void world_hang_up(struct world_sock *s)
{
	if (s->state == SOCK_KNOCKS)
		s->state = SOCK_FREE;
	s->ended = true;
}

void world_close_all(void)
{
	struct world_sock *s;

	for (s = world.sock; s < world.sock + WORLD_SOCKS; s++)
		s->state = SOCK_FREE;
}

/* --- sockets --- */

CALL(ssize_t, read, int fd, void *buf, size_t len)
{
	struct world_sock *s = sock_of(fd);

	if (!s)
		return __real_read(fd, buf, len);
	WORLD_MUST(s->state == SOCK_OPEN);
	if (s->error)
		return call_fails(s->error);
	if (s->in->head == s->in->tail)
		return s->ended ? 0 : call_fails(EAGAIN);
	return buf_take(s->in, buf, (u32)min_u64(s->gives, len));
}

CALL(ssize_t, readv, int fd, const struct iovec *v, int n)
{
	struct world_sock *s = sock_of(fd);
	u32 done = 0, part;
	int i;

	if (!s)
		return __real_readv(fd, v, n);
	WORLD_MUST(s->state == SOCK_OPEN);
	if (s->error || s->in->head == s->in->tail)
		return s->ended ? 0 : call_fails(s->error ? s->error : EAGAIN);
	for (i = 0; i < n; i++) {
		part = buf_take(s->in, v[i].iov_base, (u32)v[i].iov_len);
		done += part;
		if (part < v[i].iov_len)
			break;
	}
	return done;
}

/* How many bytes can be read: FIONREAD, which is all that the fabric asks. */
CALL(int, ioctl, int fd, unsigned long op, void *arg)
{
	struct world_sock *s = sock_of(fd);

	if (!s)
		return __real_ioctl(fd, op, arg);
	WORLD_MUST(s->state == SOCK_OPEN && op == FIONREAD);
	*(int *)arg = s->error ? 0 : (int)(s->in->tail - s->in->head);
	return 0;
}

static ssize_t sock_write(struct world_sock *s, const struct iovec *v, int n)
{
	u32 done = 0, some, part;
	int i;

	WORLD_MUST(s->state == SOCK_OPEN);
	if (s->error || s->ended)
		return call_fails(s->error ? s->error : EPIPE);
	for (i = 0; i < n; i++) {
		some = (u32)min_u64(s->room, v[i].iov_len);
		part = buf_put(s->from, v[i].iov_base, some);
		done += part;
		s->room -= part;
		if (part < v[i].iov_len)
			break;
	}
	return done ? (ssize_t)done : call_fails(EAGAIN);
}

CALL(ssize_t, write, int fd, const void *buf, size_t len)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct world_sock *s = sock_of(fd);

	return s ? sock_write(s, &v, 1) : __real_write(fd, buf, len);
}

CALL(ssize_t, writev, int fd, const struct iovec *v, int n)
{
	struct world_sock *s = sock_of(fd);

	return s ? sock_write(s, v, n) : __real_writev(fd, v, n);
}

CALL(int, close, int fd)
{
	struct world_sock *s = sock_of(fd);

	if (!s)
		return __real_close(fd);
	WORLD_MUST(s->state == SOCK_OPEN || s->state == SOCK_DIALS);
	s->state = SOCK_FREE;
	return 0;
}

CALL(int, socket, int domain, int type, int protocol)
{
	struct world_sock *s;

	if (!world.on)
		return __real_socket(domain, type, protocol);
	s = sock_new(SOCK_DIALS);
	if (!s)
		return (int)call_fails(EMFILE);
	s->out = true;
	return sock_fd(s);
}

CALL(int, connect, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct world_sock *s = sock_of(fd);

	if (!s)
		return __real_connect(fd, sa, len);
	WORLD_MUST(len <= sizeof(s->them));
	memset(&s->them, 0, sizeof(s->them));
	memcpy(&s->them, sa, len);
	world_address(WORLD_REMOTES, &s->us);
	return (int)call_fails(EINPROGRESS);
}

CALL(int, accept4, int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	struct world_sock *s = world.sock;

	if (fd != FD_LISTEN)
		return __real_accept4(fd, sa, len, flags);
	while (s < world.sock + WORLD_SOCKS && s->state != SOCK_KNOCKS)
		s++;
	if (s == world.sock + WORLD_SOCKS)
		return (int)call_fails(EAGAIN);
	s->state = SOCK_OPEN;
	memcpy(sa, &s->them, *len);
	return sock_fd(s);
}

static int sock_name(const struct world_sock *s, const struct sockaddr_storage *from,
		     struct sockaddr *sa, socklen_t *len)
{
	if (s->error)
		return (int)call_fails(ENOTCONN);
	memcpy(sa, from, *len);
	return 0;
}

CALL(int, getsockname, int fd, struct sockaddr *sa, socklen_t *len)
{
	struct world_sock *s = sock_of(fd);

	return s ? sock_name(s, &s->us, sa, len) : __real_getsockname(fd, sa, len);
}

CALL(int, getpeername, int fd, struct sockaddr *sa, socklen_t *len)
{
	struct world_sock *s = sock_of(fd);

	return s ? sock_name(s, &s->them, sa, len) : __real_getpeername(fd, sa, len);
}

CALL(int, getsockopt, int fd, int level, int name, void *value, socklen_t *len)
{
	struct world_sock *s = sock_of(fd);

	if (!s)
		return __real_getsockopt(fd, level, name, value, len);
	memcpy(value, &s->error, sizeof(s->error));
	return 0;
}

CALL(int, setsockopt, int fd, int level, int name, const void *value, socklen_t len)
{
	return sock_of(fd) ? 0 : __real_setsockopt(fd, level, name, value, len);
}

CALL(int, epoll_ctl, int epoll, int op, int fd, struct epoll_event *ev)
{
	struct world_sock *s = sock_of(fd);

	if (fd == FD_LISTEN) {
		world.listener = ev->data.ptr;
		world.listener_events = ev->events;
		return 0;
	}
	if (!s)
		return __real_epoll_ctl(epoll, op, fd, ev);
	s->watch = ev->data.ptr;
	s->events = ev->events;
	return 0;
}

/* --- memory --- */

#define BUFFERS 64u

/* Buffers of connections and lanes that were unmapped: they are used again as they are. */
static struct {
	void *mem;
	size_t size;
} spare[BUFFERS];

static bool is_buffer(size_t size)
{
	return size == JOIN_RX_SIZE || size == JOIN_TX_SIZE || size == JOIN_LANE_SIZE;
}

CALL(void *, mmap, void *at, size_t size, int prot, int flags, int fd, off_t off)
{
	void *p;
	u32 i;

	for (i = 0; world.on && is_buffer(size) && i < BUFFERS; i++)
		if (spare[i].mem && spare[i].size == size) {
			p = spare[i].mem;
			spare[i].mem = NULL;
			return p;
		}
	return __real_mmap(at, size, prot, flags, fd, off);
}

CALL(int, munmap, void *mem, size_t size)
{
	u32 i;

	for (i = 0; world.on && is_buffer(size) && i < BUFFERS; i++)
		if (!spare[i].mem) {
			spare[i].mem = mem;
			spare[i].size = size;
			return 0;
		}
	return __real_munmap(mem, size);
}

/*
 * Large chunks of the heap that were freed are used again, too. A sanitizer maps and unmaps them
 * otherwise, which costs more than all else that a connection does. Poison takes its place: memory
 * that is used after free() is found all the same.
 */
#define CHUNKS	  128u
#define CHUNK_MIN (16u << 10)

static struct chunk {
	uintptr_t hidden; /* its address, inverted: a leak detector finds no reference here */
	void *spare; /* itself, if it is free */
	size_t size;
} chunk[CHUNKS];

void *__real_malloc(size_t size);

/* Return: NULL: memory of this size comes from the heap. */
static void *chunk_take(size_t size)
{
	struct chunk *c = chunk;
	void *mem;

	if (!world.on || !world.frozen || size < CHUNK_MIN)
		return NULL;
	while (c < chunk + CHUNKS && c->hidden && (!c->spare || c->size != size))
		c++;
	if (c == chunk + CHUNKS)
		return NULL;
	mem = c->hidden ? c->spare : __real_malloc(size);
	if (!mem)
		return NULL;
	ASAN_UNPOISON_MEMORY_REGION(mem, size);
	*c = (struct chunk){ .hidden = ~(uintptr_t)mem, .size = size };
	return mem;
}

CALL(void *, malloc, size_t size)
{
	void *p = chunk_take(size);

	return p ? p : __real_malloc(size);
}

CALL(void *, calloc, size_t n, size_t size)
{
	void *p = n == 1 ? chunk_take(size) : NULL;

	return p ? memset(p, 0, size) : __real_calloc(n, size);
}

CALL(void, free, void *mem)
{
	struct chunk *c = chunk;

	while (c < chunk + CHUNKS && c->hidden && c->hidden != ~(uintptr_t)mem)
		c++;
	if (c == chunk + CHUNKS || !c->hidden) {
		__real_free(mem);
		return;
	}
	WORLD_MUST(!c->spare);
	ASAN_POISON_MEMORY_REGION(mem, c->size);
	c->spare = mem;
}

/* --- time and numbers --- */

CALL(int, clock_gettime, clockid_t id, struct timespec *ts)
{
	if (!world.on || id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(world.clock / NSEC_PER_SEC);
	ts->tv_nsec = (long)(world.clock % NSEC_PER_SEC);
	return 0;
}

CALL(ssize_t, getrandom, void *to, size_t len, unsigned flags)
{
	u64 state = 1 + world.n_random;

	if (!world.on)
		return __real_getrandom(to, len, flags);
	world.n_random += len >= KEYS_LEN;
	emu_fill(to, len, emu_rnd(&state));
	return (ssize_t)len;
}

/* The same few keys meet again and again, and a product costs more than all else. */
#define PRODUCTS 1024u

struct product {
	u8 n[CURVE25519_SIZE], p[CURVE25519_SIZE], q[CURVE25519_SIZE];
};

CALL(void, nettle_curve25519_mul, u8 *q, const u8 *n, const u8 *p)
{
	static struct product all[PRODUCTS];
	u32 hash = (n[0] ^ (u32)n[1] << 8 ^ p[0] * 31u ^ p[1] * 997u) % PRODUCTS;
	struct product *k = &all[hash];

	if (memcmp(k->n, n, CURVE25519_SIZE) != 0 || memcmp(k->p, p, CURVE25519_SIZE) != 0) {
		__real_nettle_curve25519_mul(k->q, n, p);
		memcpy(k->n, n, CURVE25519_SIZE);
		memcpy(k->p, p, CURVE25519_SIZE);
	}
	memcpy(q, k->q, CURVE25519_SIZE);
}

CALL(void, nettle_curve25519_mul_g, u8 *q, const u8 *n)
{
	static const u8 base[CURVE25519_SIZE] = { 9 };

	__wrap_nettle_curve25519_mul(q, n, base);
}
