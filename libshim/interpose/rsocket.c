/* SPDX-License-Identifier: MIT */
/*
 * rsockets: the installed librdmacm's own code, which runs on top of our rdma_* and ibv_* functions
 * because it calls them through its PLT. Programs that link librdmacm find its functions there;
 * programs that dlopen() it get the shim's handle and find these forwarders.
 */
#include "emulator/types.h"
#include "libshim/interpose/export.h"
#include "libshim/interpose/interpose.h"

#include <rdma/rsocket.h>
#include <stdarg.h>
#include <sys/epoll.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists */
#define REAL(name)                                                                                 \
	({                                                                                         \
		static void *slot_;                                                                \
		void *fn_ = real_symbol(&slot_, REAL_CM, #name);                                   \
                                                                                                   \
		if (unlikely(!fn_))                                                                \
			errno = ENOSYS;                                                            \
		(__typeof__(&name))fn_;                                                            \
	})

#define FORWARD(type, name, params, args)                                                          \
	SHIM_EXPORT type name params                                                               \
	{                                                                                          \
		__typeof__(&name) fn = REAL(name);                                                 \
                                                                                                   \
		return fn ? fn args : (type)-1;                                                    \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

FORWARD(int, rsocket, (int domain, int type, int protocol), (domain, type, protocol))
FORWARD(int, rbind, (int socket, const struct sockaddr *addr, socklen_t len), (socket, addr, len))
FORWARD(int, rlisten, (int socket, int backlog), (socket, backlog))
FORWARD(int, raccept, (int socket, struct sockaddr *addr, socklen_t *len), (socket, addr, len))
FORWARD(int, rconnect, (int socket, const struct sockaddr *addr, socklen_t len),
	(socket, addr, len))
FORWARD(int, rshutdown, (int socket, int how), (socket, how))
FORWARD(int, rclose, (int socket), (socket))
FORWARD(ssize_t, rrecv, (int socket, void *buf, size_t len, int flags), (socket, buf, len, flags))
FORWARD(ssize_t, rrecvfrom,
	(int socket, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addrlen),
	(socket, buf, len, flags, addr, addrlen))
FORWARD(ssize_t, rrecvmsg, (int socket, struct msghdr *msg, int flags), (socket, msg, flags))
FORWARD(ssize_t, rsend, (int socket, const void *buf, size_t len, int flags),
	(socket, buf, len, flags))
FORWARD(ssize_t, rsendto,
	(int socket, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	 socklen_t addrlen),
	(socket, buf, len, flags, addr, addrlen))
FORWARD(ssize_t, rsendmsg, (int socket, const struct msghdr *msg, int flags), (socket, msg, flags))
FORWARD(ssize_t, rread, (int socket, void *buf, size_t count), (socket, buf, count))
FORWARD(ssize_t, rreadv, (int socket, const struct iovec *iov, int n), (socket, iov, n))
FORWARD(ssize_t, rwrite, (int socket, const void *buf, size_t count), (socket, buf, count))
FORWARD(ssize_t, rwritev, (int socket, const struct iovec *iov, int n), (socket, iov, n))
FORWARD(int, rpoll, (struct pollfd * fds, nfds_t nfds, int timeout), (fds, nfds, timeout))
FORWARD(int, rselect,
	(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout),
	(nfds, readfds, writefds, exceptfds, timeout))
FORWARD(int, rgetpeername, (int socket, struct sockaddr *addr, socklen_t *len), (socket, addr, len))
FORWARD(int, rgetsockname, (int socket, struct sockaddr *addr, socklen_t *len), (socket, addr, len))
FORWARD(int, rsetsockopt,
	(int socket, int level, int optname, const void *optval, socklen_t optlen),
	(socket, level, optname, optval, optlen))
FORWARD(int, rgetsockopt, (int socket, int level, int optname, void *optval, socklen_t *optlen),
	(socket, level, optname, optval, optlen))
FORWARD(off_t, riomap, (int socket, void *buf, size_t len, int prot, int flags, off_t offset),
	(socket, buf, len, prot, flags, offset))
FORWARD(int, riounmap, (int socket, void *buf, size_t len), (socket, buf, len))
FORWARD(size_t, riowrite, (int socket, const void *buf, size_t count, off_t offset, int flags),
	(socket, buf, count, offset, flags))

SHIM_EXPORT int rfcntl(int socket, int cmd, ...)
{
	__typeof__(&rfcntl) fn = REAL(rfcntl);
	va_list ap;
	long arg;

	if (!fn)
		return -1;
	/* As in fcntl() itself: an absent argument is garbage that no command reads. */
	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return fn(socket, cmd, arg);
}

/* Like epoll's; newer than the oldest rdma-core that we build with, hence names of our own. */

#define FORWARD_NEW(name, params, args)                                                            \
	SHIM_EXPORT int fwd_##name params __asm__(#name);                                          \
	int fwd_##name params                                                                      \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&fwd_##name) fn = (__typeof__(fn))real_symbol(&slot, REAL_CM, #name);   \
                                                                                                   \
		if (fn)                                                                            \
			return fn args;                                                            \
		errno = ENOSYS;                                                                    \
		return -1;                                                                         \
	}

FORWARD_NEW(repoll_create, (int flags), (flags))
FORWARD_NEW(repoll_ctl, (int epfd, int op, int fd, struct epoll_event *event),
	    (epfd, op, fd, event))
FORWARD_NEW(repoll_wait, (int epfd, struct epoll_event *events, int maxevents, int timeout),
	    (epfd, events, maxevents, timeout))
