/* SPDX-License-Identifier: MIT */
/**
 * DOC: requests to the fabric process and the descriptors that its replies carry.
 *
 * One socket carries one request at a time, under a lock whose holder waits for nothing but the
 * reply. Descriptors are moved to high numbers, because some programs expect the low ones for
 * themselves (select(2), tables indexed by descriptor, "the next one will be 3").
 */
#include "libshim/client/rpc.h"
#include "libshim/client/valgrind.h"

#include "libshim/client/client.h"
#include "libshim/interpose/syscall.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/un.h>

#define FD_HIGH 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sock = -1;
static dev_t sock_dev;
static ino_t sock_ino;

void shim_rpc_lock(void)
{
	pthread_mutex_lock(&lock);
}

void shim_rpc_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void shim_rpc_forked(void)
{
	pthread_mutex_unlock(&lock);
	shim_rpc_close();
}

int shim_fd_high(int fd)
{
	int at, high;

	if (fd < 0 || fd >= FD_HIGH)
		return fd;
	/* A low RLIMIT_NOFILE leaves less room: EINVAL when the wanted number is beyond it. */
	for (at = FD_HIGH; at > fd; at /= 2) {
		high = sys_fcntl(fd, F_DUPFD_CLOEXEC, at);
		if (high >= 0) {
			sys_close(fd);
			return high;
		}
	}
	return fd;
}

void *shim_map_shared(int fd, u64 size)
{
	struct stat st;
	void *map;

	if (sys_fstat(fd, &st) || st.st_size < 0 || (u64)st.st_size < size)
		return NULL;
	/*
	 * A program may have locked all its future mappings (mlockall()). That must not fill this
	 * sparse file, so it is unlocked before it becomes accessible.
	 */
	map = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (munlock(map, size) || mprotect(map, size, PROT_READ | PROT_WRITE)) {
		munmap(map, size);
		return NULL;
	}
	/* A core dump would read, and so fill, every page of it. */
	sys_madvise(map, size, MADV_DONTDUMP);
	shim_valgrind_exclude(map, size);
	return map;
}

/* A program that closes all its descriptors closes ours too, and may reuse the number. */
static bool rpc_is_open(void)
{
	struct stat st;

	return sock >= 0 && !sys_fstat(sock, &st) && st.st_dev == sock_dev && st.st_ino == sock_ino;
}

int shim_rpc_open(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	struct stat st;
	int fd, ret;

	if (len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, len + 1);
	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	fd = shim_fd_high(fd);
	do
		ret = sys_connect(fd, &addr, sizeof(addr));
	while (ret == -EINTR);
	if (!ret)
		ret = sys_fstat(fd, &st);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	sock_dev = st.st_dev;
	sock_ino = st.st_ino;
	sock = fd;
	shim.sock = fd;
	return 0;
}

void shim_rpc_close(void)
{
	if (rpc_is_open())
		sys_close(sock);
	sock = -1;
	shim.sock = -1;
}

union fd_cmsg {
	struct cmsghdr hdr;
	char buf[CMSG_SPACE(RPC_MAX_FDS * sizeof(int))];
};

static int rpc_send_request(const struct proto_msg *m, int send_fd)
{
	struct iovec iov = { (void *)m, sizeof(*m) };
	union fd_cmsg c = { .buf = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (send_fd >= 0) {
		msg.msg_control = c.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
		c.hdr.cmsg_level = SOL_SOCKET;
		c.hdr.cmsg_type = SCM_RIGHTS;
		c.hdr.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&c.hdr), &send_fd, sizeof(int));
	}
	do
		n = sys_sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	return n == sizeof(*m) ? 0 : -EIO;
}

/* Take the descriptors out of a message, and close those beyond @max. */
static int rpc_take_fds(struct msghdr *msg, int *fds, int max)
{
	struct cmsghdr *c;
	size_t i, n;
	int got = 0;
	int fd;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (got < max)
				fds[got++] = shim_fd_high(fd);
			else
				sys_close(fd);
		}
	}
	return got;
}

static int rpc_receive_reply(struct proto_msg *m, u32 op, int *fds, int max)
{
	struct iovec iov = { m, sizeof(*m) };
	union fd_cmsg c;
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = c.buf,
			      .msg_controllen = sizeof(c.buf) };
	ssize_t n;
	int got, ret = 0;

	do
		n = sys_recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	if (n <= 0)
		return n < 0 ? (int)n : -EIO;
	got = rpc_take_fds(&msg, fds, max);
	if ((size_t)n >= offsetof(struct proto_msg, release) && proto_is_other_version(m->magic))
		ret = -EPROTONOSUPPORT;
	/* Operation 0: the fabric refuses the connection. */
	else if (n != sizeof(*m) || m->magic != PROTO_MAGIC || (m->op != op && (m->op || !m->ret)))
		ret = -EPROTO;
	else if (m->ret)
		ret = m->ret < 0 ? m->ret : -EPROTO;
	else if (msg.msg_flags & MSG_CTRUNC)
		ret = -EMFILE; /* the descriptors did not fit under this process's limit */
	while (ret && got)
		sys_close(fds[--got]);
	return ret ? ret : got;
}

int shim_rpc_call(struct proto_msg *m, int send_fd, int *fds, int max)
{
	u32 op = m->op;
	int ret;

	m->magic = PROTO_MAGIC;
	m->ret = 0;
	shim_rpc_lock();
	ret = rpc_is_open() ? rpc_send_request(m, send_fd) : -EIO;
	/* A fabric that could not take the connection may have said why. */
	if (!ret || ret == -EPIPE || ret == -ECONNRESET)
		ret = rpc_receive_reply(m, op, fds, max);
	shim_rpc_unlock();
	return ret;
}
