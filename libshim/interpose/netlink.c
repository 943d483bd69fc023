/* SPDX-License-Identifier: MIT */
/*
 * Netlink sockets of the family NETLINK_RDMA, which rdma(8), libibverbs and test suites open to ask
 * ib_core for devices, ports and resources.
 *
 * Theory of operation
 * -------------------
 * The program gets a connection to the fabric process instead, which speaks netlink on it from then
 * on (PROTO_NLDEV, fabric/nldev/). It is a real descriptor on which datagrams come and go, so that
 * send(), recv(), poll(), fcntl(), fork() and close() need nothing from us. What differs is that
 * it is a socket of AF_UNIX: the wrappers here take addresses from what is sent, add the kernel's
 * address to what is received, and answer for options and addresses.
 *
 * An entry of a table by descriptor holds what the socket is bound to, with the inode of the
 * socket, so that a descriptor that was closed and is now something else is recognised. A program
 * without such a socket pays one load per call. Unknown are copies by dup(), and descriptors
 * inherited across exec(): they work, without addresses.
 *
 * The wrappers may run in a signal handler or after vfork(): nothing allocates or locks.
 */
#include "libshim/interpose/netlink.h"

#include "libshim/interpose/interpose.h"
#include "libshim/interpose/rpc_signal.h"
#include "libshim/interpose/syscall.h"

#include <linux/netlink.h>
#include <stdlib.h>

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

#define FDS	   1024
#define OPTION_MAX NETLINK_GET_STRICT_CHK

HOOK(int, socket, int domain, int type, int protocol);
HOOK(ssize_t, send, int fd, const void *buf, size_t len, int flags);
HOOK(ssize_t, sendto, int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
     socklen_t alen);
HOOK(ssize_t, sendmsg, int fd, const struct msghdr *msg, int flags);
HOOK(ssize_t, recvfrom, int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
     socklen_t *alen);
HOOK(ssize_t, __recvfrom_chk, int fd, void *buf, size_t len, size_t size, int flags,
     struct sockaddr *addr, socklen_t *alen);
HOOK(ssize_t, recvmsg, int fd, struct msghdr *msg, int flags);
HOOK(int, getsockname, int fd, struct sockaddr *addr, socklen_t *alen);
HOOK(int, getpeername, int fd, struct sockaddr *addr, socklen_t *alen);
HOOK(int, getsockopt, int fd, int level, int name, void *value, socklen_t *len);
HOOK(int, setsockopt, int fd, int level, int name, const void *value, socklen_t len);

/** struct entry - a descriptor. @ino: of its socket; 0: it is none of ours */
struct entry {
	u64 ino;
	u32 portid;
	u32 type; /* SOCK_* that the program asked for */
};

static struct entry table[FDS];
static u32 has_any;

static struct entry *entry_find(int fd)
{
	struct stat st;
	u64 ino;

	if (likely(!load_acquire(&has_any)) || fd < 0 || fd >= FDS)
		return NULL;
	ino = load_acquire(&table[fd].ino);
	if (!ino)
		return NULL;
	if (!sys_fstat(fd, &st) && S_ISSOCK(st.st_mode) && st.st_ino == ino)
		return &table[fd];
	store_release(&table[fd].ino, 0);
	return NULL;
}

bool netlink_is_ours(int fd)
{
	return entry_find(fd) != NULL;
}

static int errno_fail(int err)
{
	errno = err;
	return -1;
}

/* Connect to the fabric process and have it speak netlink. Return: descriptor or -errno. */
static int netlink_open(u32 portid)
{
	struct proto_msg m = { .op = PROTO_NLDEV };
	const char *node = secure_getenv(PROTO_NODE_ENV);
	struct timeval never = { 0 };
	struct stat st;
	int fd = rpc_signal_open();

	if (fd < 0)
		return fd;
	m.nldev.portid = portid;
	m.nldev.pidns = sys_stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
	if (node)
		strncpy(m.nldev.node, node, sizeof(m.nldev.node) - 1);
	if (!rpc_signal_call(fd, &m)) {
		sys_close(fd);
		return -EPROTONOSUPPORT;
	}
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never));
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof(never));
	return fd;
}

static int netlink_socket(int type)
{
	int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), fd, saved = errno;
	u32 portid = (u32)sys_getpid();
	struct stat st;

	if (kind != SOCK_RAW && kind != SOCK_DGRAM)
		return errno_fail(ESOCKTNOSUPPORT);
	fd = netlink_open(portid);
	if (fd < 0)
		return errno_fail(EPROTONOSUPPORT);
	if (fd >= FDS || sys_fstat(fd, &st)) {
		sys_close(fd);
		return errno_fail(EMFILE);
	}
	if (!(type & SOCK_CLOEXEC))
		sys_fcntl(fd, F_SETFD, 0);
	if (type & SOCK_NONBLOCK)
		sys_fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	table[fd].portid = portid;
	table[fd].type = (u32)kind;
	store_release(&table[fd].ino, st.st_ino);
	store_release(&has_any, 1);
	errno = saved;
	return fd;
}

int hook_socket(int domain, int type, int protocol)
{
	if (unlikely(domain == AF_NETLINK && protocol == NETLINK_RDMA) && secure_getenv(PROTO_ENV))
		return netlink_socket(type);
	return libc_next(socket)(domain, type, protocol);
}

/* Groups of multicast: the kernel lets CAP_NET_ADMIN listen. Nothing is sent to them here. */
static int groups_check(void)
{
	return syscall(SYS_geteuid) ? errno_fail(EPERM) : 0;
}

int netlink_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = PROTO_NLDEV };
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct entry *e = entry_find(fd);
	struct sockaddr_nl nl;
	ssize_t n;

	if (!e)
		return errno_fail(EBADF);
	if (len < sizeof(nl))
		return errno_fail(EINVAL);
	memcpy(&nl, addr, sizeof(nl));
	if (nl.nl_family != AF_NETLINK)
		return errno_fail(EINVAL);
	if (nl.nl_groups && groups_check())
		return -1;
	if (!nl.nl_pid || nl.nl_pid == e->portid)
		return 0;
	m.nldev.portid = nl.nl_pid;
	n = sys_sendmsg(fd, &msg, MSG_NOSIGNAL);
	if (n < 0)
		return errno_fail((int)-n);
	e->portid = nl.nl_pid;
	return 0;
}

/* Only the kernel can be reached. */
static int dest_check(const void *addr, socklen_t len)
{
	struct sockaddr_nl nl;

	if (!addr)
		return 0;
	if (len < sizeof(nl))
		return errno_fail(EINVAL);
	memcpy(&nl, addr, sizeof(nl));
	if (nl.nl_family != AF_NETLINK)
		return errno_fail(EINVAL);
	return nl.nl_pid ? errno_fail(ECONNREFUSED) : 0;
}

int netlink_connect(const struct sockaddr *addr, socklen_t len)
{
	if (addr && len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return 0;
	return addr ? dest_check(addr, len) : errno_fail(EFAULT);
}

ssize_t hook_send(int fd, const void *buf, size_t len, int flags)
{
	if (unlikely(entry_find(fd)))
		flags |= MSG_NOSIGNAL;
	return libc_next(send)(fd, buf, len, flags);
}

ssize_t hook_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		    socklen_t alen)
{
	if (likely(!entry_find(fd)))
		return libc_next(sendto)(fd, buf, len, flags, addr, alen);
	if (dest_check(addr, alen))
		return -1;
	return libc_next(sendto)(fd, buf, len, flags | MSG_NOSIGNAL, NULL, 0);
}

ssize_t hook_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct msghdr bare;

	if (likely(!entry_find(fd)))
		return libc_next(sendmsg)(fd, msg, flags);
	bare = *msg;
	if (dest_check(bare.msg_name, bare.msg_namelen))
		return -1;
	bare.msg_name = NULL;
	bare.msg_namelen = 0;
	return libc_next(sendmsg)(fd, &bare, flags | MSG_NOSIGNAL);
}

/* Store an address as the kernel does: cut to the caller's room, with its whole length. */
static void addr_store(u32 portid, void *addr, socklen_t *len)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = portid };

	if (!len)
		return;
	if (addr)
		memcpy(addr, &nl, min_u64(*len, sizeof(nl)));
	*len = addr ? sizeof(nl) : 0;
}

ssize_t hook_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		      socklen_t *alen)
{
	ssize_t n;

	if (likely(!entry_find(fd)))
		return libc_next(recvfrom)(fd, buf, len, flags, addr, alen);
	n = libc_next(recvfrom)(fd, buf, len, flags, NULL, NULL);
	if (n >= 0)
		addr_store(0, addr, alen);
	return n;
}

ssize_t hook___recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
			    struct sockaddr *addr, socklen_t *alen)
{
	if (likely(!entry_find(fd)) || len > size)
		return libc_next(__recvfrom_chk)(fd, buf, len, size, flags, addr, alen);
	return hook_recvfrom(fd, buf, len, flags, addr, alen);
}

ssize_t hook_recvmsg(int fd, struct msghdr *msg, int flags)
{
	socklen_t room;
	void *name;
	ssize_t n;

	if (likely(!entry_find(fd)))
		return libc_next(recvmsg)(fd, msg, flags);
	name = msg->msg_name;
	room = msg->msg_namelen;
	msg->msg_name = NULL;
	msg->msg_namelen = 0;
	n = libc_next(recvmsg)(fd, msg, flags);
	msg->msg_name = name;
	msg->msg_namelen = room;
	if (n < 0)
		return n;
	msg->msg_flags &= ~MSG_EOR;
	addr_store(0, name, &msg->msg_namelen);
	return n;
}

int hook_getsockname(int fd, struct sockaddr *addr, socklen_t *alen)
{
	struct entry *e = entry_find(fd);

	if (likely(!e) || !addr || !alen)
		return libc_next(getsockname)(fd, addr, alen);
	addr_store(e->portid, addr, alen);
	return 0;
}

int hook_getpeername(int fd, struct sockaddr *addr, socklen_t *alen)
{
	if (likely(!entry_find(fd)) || !addr || !alen)
		return libc_next(getpeername)(fd, addr, alen);
	addr_store(0, addr, alen);
	return 0;
}

static int option_store(int option, void *value, socklen_t *len)
{
	*len = (socklen_t)min_u64(*len, sizeof(option));
	memcpy(value, &option, *len);
	return 0;
}

int hook_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct entry *e = entry_find(fd);

	if (likely(!e) || !value || !len)
		return libc_next(getsockopt)(fd, level, name, value, len);
	if (level == SOL_NETLINK)
		return name > 0 && name <= OPTION_MAX ? option_store(0, value, len)
						      : errno_fail(ENOPROTOOPT);
	if (level == SOL_SOCKET && name == SO_DOMAIN)
		return option_store(AF_NETLINK, value, len);
	if (level == SOL_SOCKET && name == SO_PROTOCOL)
		return option_store(NETLINK_RDMA, value, len);
	if (level == SOL_SOCKET && name == SO_TYPE)
		return option_store((int)e->type, value, len);
	return libc_next(getsockopt)(fd, level, name, value, len);
}

int hook_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (likely(level != SOL_NETLINK) || !entry_find(fd))
		return libc_next(setsockopt)(fd, level, name, value, len);
	if (name <= 0 || name > OPTION_MAX)
		return errno_fail(ENOPROTOOPT);
	return name == NETLINK_ADD_MEMBERSHIP ? groups_check() : 0;
}
