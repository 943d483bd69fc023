/* SPDX-License-Identifier: MIT */
/* Instead of the system's: sockets that deliver what the world has put there, and its clock. */
#include "tests/lib/wire/wire_calls.h"

#include <netinet/udp.h>
#include <sys/epoll.h>

/* Declares what the linker makes of a call: the real one, and ours. */
#define CALL(type, name, ...)                                                                      \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

struct wire_arriving wire_arriving;

/* The fabric process has the first number, programs have the others. */
static bool fd_is_socket(int fd)
{
	return fd >= FD_SOCKET && fd < FD_SOCKET + FD_SOCKETS;
}

/* --- sockets ---------------------------------------------------------------------------------- */

CALL(int, egress_call_socket, int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return FD_SOCKET;
}

CALL(int, setsockopt, int fd, int level, int name, const void *value, socklen_t len)
{
	(void)level;
	(void)name;
	(void)value;
	(void)len;
	WIRE_MUST(fd_is_socket(fd));
	return 0;
}

CALL(int, egress_call_bind, int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)sa;
	(void)len;
	WIRE_MUST(fd_is_socket(fd));
	return 0;
}

/* Sockets that only receive are opened by libc's functions. */
CALL(int, socket, int domain, int type, int protocol)
{
	return __wrap_egress_call_socket(domain, type, protocol);
}

CALL(int, bind, int fd, const struct sockaddr *sa, socklen_t len)
{
	return __wrap_egress_call_bind(fd, sa, len);
}

/* roce_socket_cuts() sends two bytes to itself, which arrive as two datagrams. */
static u8 probe_next;

CALL(int, egress_call_setsockopt, int fd, int level, int name, const void *value, socklen_t len)
{
	return __wrap_setsockopt(fd, level, name, value, len);
}

CALL(int, getsockname, int fd, struct sockaddr *sa, socklen_t *len)
{
	(void)sa;
	(void)len;
	WIRE_MUST(fd_is_socket(fd));
	return 0;
}

CALL(ssize_t, sendto, int fd, const void *data, size_t len, int flags, const struct sockaddr *sa,
     socklen_t sa_len)
{
	(void)flags;
	(void)sa;
	(void)sa_len;
	WIRE_MUST(fd_is_socket(fd) && len == 2 && !memcmp(data, "\0\1", 2));
	probe_next = 0;
	return 2;
}

CALL(ssize_t, recv, int fd, void *data, size_t len, int flags)
{
	(void)flags;
	WIRE_MUST(fd_is_socket(fd) && len);
	*(u8 *)data = probe_next++;
	return 1;
}

CALL(int, close, int fd)
{
	return fd_is_socket(fd) ? 0 : __real_close(fd);
}

CALL(int, epoll_ctl, int epoll, int op, int fd, struct epoll_event *event)
{
	(void)op;
	(void)event;
	WIRE_MUST(epoll == FD_EPOLL && fd_is_socket(fd));
	return 0;
}

static void arriving_report(struct msghdr *h, int level, int type, const void *value, u32 len)
{
	struct cmsghdr *c = (void *)((u8 *)h->msg_control + h->msg_controllen);

	h->msg_controllen += CMSG_SPACE(len);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
}

/* The traffic class, and the length of datagrams, as the kernel reports them. */
static void arriving_report_all(struct msghdr *h)
{
	bool v4 = wire_arriving.from_len == sizeof(struct sockaddr_in);
	int tclass = wire_arriving.tclass, step = (int)wire_arriving.step;

	WIRE_MUST(h->msg_controllen >= 2 * CMSG_SPACE(sizeof(int)));
	h->msg_controllen = 0;
	if (v4)
		arriving_report(h, IPPROTO_IP, IP_TOS, &wire_arriving.tclass, 1);
	else
		arriving_report(h, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
	if (step)
		arriving_report(h, IPPROTO_UDP, UDP_GRO, &step, sizeof(step));
}

CALL(int, egress_call_recvmmsg, int fd, struct mmsghdr *m, unsigned int n)
{
	struct msghdr *h = &m->msg_hdr;
	size_t len;

	WIRE_MUST(fd_is_socket(fd) && n);
	if (!wire_arriving.data)
		return -EAGAIN;
	len = min_u64(wire_arriving.len, h->msg_iov->iov_len);
	memcpy(h->msg_iov->iov_base, wire_arriving.data, len);
	memcpy(h->msg_name, &wire_arriving.from, wire_arriving.from_len);
	arriving_report_all(h);
	h->msg_flags = wire_arriving.len > len ? MSG_TRUNC : 0;
	m->msg_len = (unsigned int)len;
	wire_arriving.data = NULL;
	return 1;
}

/**
 * struct leaving - a message that leaves: @at: the next of its parts, from byte @off on
 * @frame: the frame whose turn it is, with its Ethernet header, @len bytes
 */
struct leaving {
	const struct msghdr *h;
	size_t at, off;
	u8 frame[ROCE_ETH + ROCE_IP6_UDP + ROCE_DATAGRAM];
	u32 len;
};

static bool leaving_is_v4(const struct msghdr *h)
{
	return h->msg_namelen == sizeof(struct sockaddr_in);
}

static u32 leaving_headers(const struct msghdr *h)
{
	return ROCE_ETH + (leaving_is_v4(h) ? ROCE_IP4_UDP : ROCE_IP6_UDP);
}

/*
 * Put a frame of @step bytes, or of the rest, together from its parts. The headers that the kernel
 * writes stand at the head of frame number @nth of the wire's. Return: false: there is none.
 */
static bool leaving_next(struct leaving *l, u32 step, u32 nth)
{
	const u32 head = leaving_headers(l->h);
	const struct iovec *v;
	size_t n;

	if (l->at == l->h->msg_iovlen)
		return false;
	memcpy(l->frame, (wire.egress ? wire.egress : &wire.f->roce->egress)->frames[nth].head,
	       head);
	for (l->len = head; l->at < l->h->msg_iovlen && l->len - head < step;) {
		v = &l->h->msg_iov[l->at];
		n = min_u64(v->iov_len - l->off, step - (l->len - head));
		WIRE_MUST(n && n <= sizeof(l->frame) - l->len);
		memcpy(l->frame + l->len, (const u8 *)v->iov_base + l->off, n);
		l->len += (u32)n;
		l->off += n;
		if (l->off == v->iov_len) {
			l->at++;
			l->off = 0;
		}
	}
	return true;
}

/* Check that frame, number @i of its message. */
static void frame_check(const struct leaving *l, u32 i)
{
	WIRE_MUST(!roce_parse(ROCE_LINK_ETHERNET, l->frame, l->len, l->len, &wire.sent));
	WIRE_MUST(!wire.sent.wrong && !wire.sent.udp_csum);
	/* The kernel numbers them so, and the ICRC covers that. */
	WIRE_MUST(!leaving_is_v4(l->h) || wire.sent.ip_id == i);
	wire.n_sent++;
	wire.n_acks_asked += wire.sent.ack_req;
}

/* The length at which the kernel cuts a message; ~0: it does not. */
static u32 leaving_step(const struct msghdr *h)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	u16 step;

	while (c && (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_SEGMENT))
		c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)h, (struct cmsghdr *)(uintptr_t)c);
	if (!c)
		return ~0u;
	WIRE_MUST(c->cmsg_len == CMSG_LEN(sizeof(step)));
	memcpy(&step, CMSG_DATA(c), sizeof(step));
	return step;
}

/*
 * Check a message, whose first frame is number @nth. In one piece all but the last are as long as
 * the control message says. Return: how many frames it has.
 */
static u32 message_check(const struct msghdr *h, u32 nth)
{
	const u32 step = leaving_step(h);
	static struct leaving l;
	u32 i, len;

	l.h = h;
	l.at = l.off = 0;
	for (i = 0; leaving_next(&l, step, nth + i); i++) {
		len = l.len - leaving_headers(h);
		WIRE_MUST(l.at == h->msg_iovlen ? len <= step : len == step);
		frame_check(&l, i);
	}
	WIRE_MUST(step == ~0u ? i == 1 : i > 1 && i <= 64);
	wire.n_runs += i > 1;
	return i;
}

CALL(int, egress_call_sendmmsg, int fd, struct mmsghdr *m, unsigned int n)
{
	unsigned int i;
	u32 nth = 0;
	int ret;

	WIRE_MUST(fd_is_socket(fd));
	if (wire.full)
		return -EAGAIN;
	ret = leaving_step(&m->msg_hdr) == ~0u ? wire.frame_error : wire.piece_error;
	if (ret)
		return -ret;
	wire.sent_by = fd;
	for (i = 0; i < n; i++)
		nth += message_check(&m[i].msg_hdr, nth);
	return (int)n;
}

/* --- time ------------------------------------------------------------------------------------- */

CALL(int, clock_gettime, clockid_t id, struct timespec *ts)
{
	if (!wire.on)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(wire.m->clock / NSEC_PER_SEC);
	ts->tv_nsec = (long)(wire.m->clock % NSEC_PER_SEC);
	return 0;
}
