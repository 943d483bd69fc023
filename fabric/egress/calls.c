/* SPDX-License-Identifier: MIT */
/** DOC: raw system calls: see calls.h. */
#include "fabric/egress/calls.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* syscall(2) sets errno, which a call of the program's must not change if it succeeds. */
#define CALL_RET(call)                                                                             \
	({                                                                                         \
		const int was_ = errno;                                                            \
		long ret_ = (call);                                                                \
		ret_ = ret_ < 0 ? -(long)errno : ret_;                                             \
		errno = was_;                                                                      \
		(int)ret_;                                                                         \
	})

int egress_call_socket(int domain, int type, int protocol)
{
	return CALL_RET(syscall(SYS_socket, domain, type, protocol));
}

int egress_call_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return CALL_RET(syscall(SYS_setsockopt, fd, level, name, value, len));
}

int egress_call_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return CALL_RET(syscall(SYS_bind, fd, sa, len));
}

int egress_call_sendmmsg(int fd, struct mmsghdr *m, unsigned int n)
{
	return CALL_RET(syscall(SYS_sendmmsg, fd, m, n, 0));
}

int egress_call_recvmmsg(int fd, struct mmsghdr *m, unsigned int n)
{
	return CALL_RET(syscall(SYS_recvmmsg, fd, m, n, MSG_DONTWAIT, NULL));
}

int egress_call_close(int fd)
{
	return CALL_RET(syscall(SYS_close, fd));
}
