/* SPDX-License-Identifier: MIT */
/** DOC: connections of joined fabrics: sockets and buffers. */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define SMALL_READ 65536u
#define BULK_READ  16384u /* while large bursts come: a header, and some payload with it */

static u8 *jconn_map(u32 size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* --- output --- */

u32 jconn_pending(const struct jconn *c)
{
	const struct jbuf *t = &c->tx;

	return t->tail >= t->head ? t->tail - t->head : t->wrap - t->head + t->tail;
}

u8 *jconn_reserve(struct jconn *c, u32 len)
{
	struct jbuf *t = &c->tx;

	if (t->tail < t->head)
		return t->head - t->tail > len ? t->mem + t->tail : NULL;
	if (JOIN_TX_SIZE - t->tail >= len)
		return t->mem + t->tail;
	if (t->head <= len)
		return NULL;
	t->wrap = t->tail;
	t->tail = 0;
	return t->mem;
}

void jconn_commit(struct jconn *c, u32 len)
{
	c->tx.tail += len;
	c->committed += len;
}

u32 jconn_piece(struct jconn *c, const u8 **at)
{
	struct iovec v[JOIN_LOAN_PIECES];
	struct jbuf *t = &c->tx;
	u32 n;

	if (t->tail < t->head && t->head == t->wrap)
		t->head = 0;
	*at = t->mem + t->head;
	if (t->tail < t->head)
		return t->wrap - t->head;
	n = t->tail - t->head - jloan_left(c);
	if (n || !jloan_rest(c, v))
		return n;
	*at = v[0].iov_base;
	return (u32)v[0].iov_len;
}

void jconn_consume(struct jconn *c, u32 n)
{
	struct jbuf *t = &c->tx;
	u32 upper = t->tail < t->head ? t->wrap - t->head : 0;

	if (upper && n >= upper) {
		t->head = n - upper;
	} else {
		t->head += n;
	}
	if (t->head == t->tail)
		t->head = t->tail = 0;
}

bool jconn_idle(const struct jconn *c)
{
	return c->tx.head == c->tx.tail && (!c->seal || !jseal_pending(c));
}

/* All that is queued, as @v. Return: entries. */
static u32 jconn_lay_out(const struct jconn *c, struct iovec v[2 + JOIN_LOAN_PIECES])
{
	const struct jbuf *t = &c->tx;
	u32 low = t->head, n = 0, left = jloan_left(c);

	if (t->tail < t->head) {
		v[n++] = (struct iovec){ t->mem + t->head, t->wrap - t->head };
		low = 0;
	}
	v[n++] = (struct iovec){ t->mem + low, t->tail - low - left };
	return left ? n + jloan_rest(c, v + n) : n;
}

/* Write what the socket takes now. Return: bytes, or -1 with errno. */
static ssize_t jconn_write(struct jconn *c)
{
	struct iovec v[2 + JOIN_LOAN_PIECES];
	const u8 *at;
	ssize_t n;
	u32 len;

	if (c->seal) {
		len = jseal_output(c, &at);
		n = write(c->w.fd, at, len);
		if (n > 0)
			jseal_wrote(c, (u32)n);
		return n;
	}
	n = writev(c->w.fd, v, (int)jconn_lay_out(c, v));
	if (n > 0)
		jconn_consume(c, (u32)n);
	return n;
}

void jconn_flush(struct fabric *f, struct jconn *c)
{
	bool was_stuck = c->stuck, moved = false;
	ssize_t n;

	while (c->state > JC_CONNECTING && !jconn_idle(c)) {
		n = jconn_write(c);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			jconn_close(f, c, strerror(errno));
			return;
		}
		if (n <= 0)
			break;
		moved = true;
		c->sent_at = c->moved_at = real_ns();
		if (f->join->full) {
			f->join->full = false;
			wait_ring_all(f);
		}
	}
	c->stuck = !jconn_idle(c);
	c->full = c->stuck && (!was_stuck || (c->full && !moved));
	if (!c->stuck)
		c->moved_at = real_ns();
	jconn_update_events(f, c);
}

int jconn_send(struct fabric *f, struct jconn *c, u8 type, u64 src, u64 dst, const void *body,
	       u32 len)
{
	struct join_hdr h = { .len = JOIN_HDR + len, .type = type, .src = src, .dst = dst };
	u8 *p;

	(void)f;
	if (!c || c->state <= JC_CONNECTING)
		return -EAGAIN;
	p = jconn_reserve(c, h.len);
	if (!p)
		return -EAGAIN;
	join_hdr_put(p, &h);
	if (len)
		memcpy(p + JOIN_HDR, body, len);
	jconn_commit(c, h.len);
	return 0;
}

/* --- opening and closing --- */

/*
 * Outgoing connections that no one answers leave room for incoming ones; admission.c sees to the
 * reverse. An event of the connection that had the slot may wait until the next turn of the loop.
 */
static struct jconn *jconn_free_slot(struct join *j, bool out)
{
	u32 i, early = 0;
	struct jconn *slot = NULL;

	for (i = 0; i < JOIN_MAX_CONNS; i++) {
		early += j->conn[i].state != JC_FREE && j->conn[i].state != JC_UP && j->conn[i].out;
		if (j->conn[i].state == JC_FREE && !slot && j->conn[i].closed != j->n_ticks)
			slot = &j->conn[i];
	}
	return out && early >= JOIN_MAX_EARLIES ? NULL : slot;
}

static void jconn_name_peer(struct jconn *c, const struct sockaddr_storage *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;
	char ip[INET6_ADDRSTRLEN] = "?";

	if (sa->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		snprintf(c->who, sizeof(c->who), "%s:%u", ip, ntohs(in->sin_port));
		return;
	}
	inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
	snprintf(c->who, sizeof(c->who), "[%s]:%u", ip, ntohs(in6->sin6_port));
}

bool jconn_address(int fd, bool peer, u8 ip[16], u32 *scope)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} sa;
	socklen_t len = sizeof(sa);

	memset(&sa, 0, sizeof(sa));
	if (peer ? getpeername(fd, &sa.any, &len) : getsockname(fd, &sa.any, &len))
		return false;
	*scope = 0;
	if (sa.any.sa_family == AF_INET) {
		gid_map_v4(ip, &sa.in.sin_addr);
	} else {
		memcpy(ip, &sa.in6.sin6_addr, 16);
		*scope = sa.in6.sin6_scope_id;
	}
	return true;
}

bool jconn_is_loopback(const struct jconn *c)
{
	u8 us[16], peer[16];
	u32 scope;

	return jconn_address(c->w.fd, false, us, &scope) && gid_is_loopback(us) &&
	       jconn_address(c->w.fd, true, peer, &scope) && gid_is_loopback(peer);
}

/*
 * Traffic within the host meets no congestion: a congestion control that paces would only slow it
 * down. If it cannot be chosen, the host's default is good enough.
 */
static void jconn_set_congestion(int fd)
{
	static const char plain[] = "reno";
	u8 us[16], peer[16];
	u32 scope;

	if (jconn_address(fd, false, us, &scope) && jconn_address(fd, true, peer, &scope) &&
	    !memcmp(us, peer, sizeof(us)))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof(plain) - 1);
}

static void jconn_on_event(struct fabric *f, struct watch *w, u32 events);

struct jconn *jconn_new(struct fabric *f, int fd, bool out, const struct sockaddr_storage *sa)
{
	struct jconn *c = jconn_free_slot(f->join, out);
	const int one = 1;

	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->rx = jconn_map(JOIN_RX_SIZE);
	c->tx.mem = jconn_map(JOIN_TX_SIZE);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!c->rx || !c->tx.mem || loop_watch_add(f, &c->w, fd, jconn_on_event)) {
		if (c->rx)
			munmap(c->rx, JOIN_RX_SIZE);
		if (c->tx.mem)
			munmap(c->tx.mem, JOIN_TX_SIZE);
		c->w.fd = -1;
		return NULL;
	}
	f->join->n_conns = max_u32(f->join->n_conns, (u32)(c - f->join->conn) + 1);
	c->want_read = true;
	if (!out)
		jconn_set_congestion(fd);
	c->state = out ? JC_CONNECTING : JC_HELLO;
	c->out = out;
	c->since = c->heard_at = c->sent_at = c->moved_at = real_ns();
	admission_net(sa, c->net);
	jconn_name_peer(c, sa);
	return c;
}

void jconn_close(struct fabric *f, struct jconn *c, const char *why)
{
	if (c->state == JC_FREE)
		return;
	if (why && !c->out && c->state != JC_UP)
		admission_note(f, c->who, why);
	else if (why)
		fabric_note(f, "join: %s%s%s: %s", c->member ? c->member->name : "",
			    c->member ? " at " : "", c->who, why);
	loop_watch_close(&c->w);
	munmap(c->rx, JOIN_RX_SIZE);
	munmap(c->tx.mem, JOIN_TX_SIZE);
	jseal_free(c);
	explicit_bzero(c->secret, sizeof(c->secret));
	explicit_bzero(&c->keys, sizeof(c->keys));
	c->state = JC_FREE;
	c->closed = f->join->n_ticks;
	mesh_conn_down(f, c);
}

void jconn_refuse(struct fabric *f, struct jconn *c, const char *fmt, ...)
{
	char text[JOIN_TEXT + 1], why[JOIN_TEXT + 32];
	struct member *m = c->member;
	va_list ap;

	if (c->state == JC_FREE)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->join->n_turned_away++;
	if (c->target)
		snprintf(f->join->target[c->target - 1].refused, sizeof(f->join->target[0].refused),
			 "refused: %s", text);
	snprintf(why, sizeof(why), "turned away: %s", text);
	/* Frames queued before it are useless now, but part of one may have left already. */
	if (!jconn_send(f, c, JT_REFUSE, f->join->id, 0, text, (u32)strlen(text)))
		jconn_flush(f, c);
	jconn_close(f, c, why);
	if (m && !m->conn && m->next_try != NEVER)
		m->next_try = real_ns() + JOIN_REFUSED_NS;
}

void jconn_update_events(struct fabric *f, struct jconn *c)
{
	bool rd = JOIN_RX_SIZE - c->rx_tail >= SMALL_READ && c->state > JC_CONNECTING;
	bool wr = c->state == JC_CONNECTING || c->stuck;
	struct epoll_event ev = { .events = (rd ? EPOLLIN : 0u) | (wr ? EPOLLOUT : 0u),
				  .data.ptr = &c->w };

	if (c->state == JC_FREE || (rd == c->want_read && wr == c->want_write))
		return;
	c->want_read = rd;
	c->want_write = wr;
	epoll_ctl(f->loop.epoll, EPOLL_CTL_MOD, c->w.fd, &ev);
}

/* --- input --- */

/* Frames of the handshake need no token. */
static void jconn_early_frames(struct fabric *f, struct jconn *c)
{
	struct join_hdr h;
	const u8 *at;

	while (c->state == JC_HELLO || c->state == JC_PROOF) {
		at = c->rx + c->rx_head;
		if (c->rx_tail - c->rx_head < JOIN_HDR)
			return;
		if (join_hdr_get(at, JOIN_MAX_EARLY, &h)) {
			jconn_refuse(f, c, "this is not a fabric's greeting");
			return;
		}
		if (c->rx_tail - c->rx_head < h.len)
			return;
		c->rx_head += h.len;
		hello_input(f, c, &h, at + JOIN_HDR);
	}
}

bool jconn_open(struct fabric *f, struct jconn *c)
{
	int n = c->seal && c->state == JC_UP ? jseal_open(c) : 0;

	if (n < 0)
		jconn_close(f, c, "a record is not authentic: it was changed on its way");
	return n > 0;
}

/*
 * Leave input in the socket, from where stream.c takes it in this turn. If frames.c had no turn
 * since the last time, because another process has the token, it is read. Return: whether it stays.
 */
static bool jconn_leave(struct fabric *f, struct jconn *c)
{
	if (!c->bulk || c->seal || c->rx_head == c->rx_tail || c->left || c->few)
		return false;
	c->heard_at = real_ns();
	c->left = f->join->due = true;
	return true;
}

static void jconn_read(struct fabric *f, struct jconn *c)
{
	u32 room = JOIN_RX_SIZE - c->rx_tail;
	u8 *at = c->rx + c->rx_tail;
	ssize_t n;

	if (jconn_leave(f, c))
		return;
	/* An unproven peer gets no more room than a greeting needs. */
	if (c->state != JC_UP)
		room = min_u32(room, 2 * JOIN_MAX_EARLY);
	if (c->bulk && !c->left && !c->n_whole)
		room = min_u32(room, BULK_READ);
	c->few = false;
	if (c->seal)
		at = jseal_space(c, &room);
	if (!room)
		return;
	n = read(c->w.fd, at, room);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		jconn_close(f, c, n ? strerror(errno) : "the connection has ended");
		return;
	}
	if (c->seal)
		jseal_came(c, (u32)n);
	else
		c->rx_tail += (u32)n;
	c->heard_at = real_ns();
	if (c->state != JC_UP)
		jconn_early_frames(f, c);
	jconn_open(f, c);
	if (c->state == JC_UP) {
		f->join->due = true;
		jconn_update_events(f, c);
	}
}

static void jconn_connected(struct fabric *f, struct jconn *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(c->w.fd, SOL_SOCKET, SO_ERROR, &err, &len) || err) {
		jconn_close(f, c, NULL);
		return;
	}
	jconn_set_congestion(c->w.fd);
	c->state = JC_HELLO;
	hello_send(f, c);
	jconn_flush(f, c);
}

static void jconn_on_event(struct fabric *f, struct watch *w, u32 events)
{
	struct jconn *c = container_of(w, struct jconn, w);

	if (c->state == JC_CONNECTING) {
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			jconn_connected(f, c);
		return;
	}
	if (events & EPOLLOUT)
		jconn_flush(f, c);
	if (c->state != JC_FREE && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		jconn_read(f, c);
}
