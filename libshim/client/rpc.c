/* SPDX-License-Identifier: MIT */
/**
 * DOC: requests to the fabric process and the descriptors that its replies carry.
 *
 * One socket carries one request at a time, under a lock whose holder waits for nothing but the
 * reply.
 */
#include "libshim/client/rpc.h"
#include "libshim/client/valgrind.h"

#include "libshim/client/client.h"
#include "libshim/interpose/own_fd.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/un.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_fd sock = { .fd = -1 };

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

int shim_rpc_open(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd, ret;

	if (len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, len + 1);
	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	fd = own_fd_move_high(fd);
	do
		ret = sys_connect(fd, &addr, sizeof(addr));
	while (ret == -EINTR);
	if (!ret)
		ret = own_fd_set(&sock, fd);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	shim.sock = fd;
	return 0;
}

void shim_rpc_close(void)
{
	own_fd_close(&sock);
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
		n = sys_sendmsg(sock.fd, &msg, MSG_NOSIGNAL);
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
				fds[got++] = own_fd_move_high(fd);
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
		n = sys_recvmsg(sock.fd, &msg, MSG_CMSG_CLOEXEC);
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
	ret = own_fd_is_open(&sock) ? rpc_send_request(m, send_fd) : -EIO;
	/* A fabric that could not take the connection may have said why. */
	if (!ret || ret == -EPIPE || ret == -ECONNRESET)
		ret = rpc_receive_reply(m, op, fds, max);
	shim_rpc_unlock();
	return ret;
}
