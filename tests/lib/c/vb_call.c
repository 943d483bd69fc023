/* SPDX-License-Identifier: MIT */
/* Running functions on a side, in this process or in another. See tests/lib/c/vb.h. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	vb_fn fn; /* NULL: leave */
	int ret;
	size_t len;
	uint8_t arg[VB_ARG];
};

static struct vb_side *side_new(void)
{
	struct vb_side *s = calloc(1, sizeof(*s));

	if (!s)
		die("out of memory");
	s->fd = -1;
	s->buf = mmap(NULL, VB_BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->buf == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return s;
}

struct vb_side *vb_local(void)
{
	return side_new();
}

static bool transfer(int fd, void *buf, size_t len, bool out)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = out ? send(fd, (char *)buf + done, len - done, MSG_NOSIGNAL)
				: recv(fd, (char *)buf + done, len - done, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			done += (size_t)n;
	}
	return true;
}

static void serve(struct vb_side *s, int fd)
{
	static struct call c;

	while (transfer(fd, &c, sizeof(c), false) && c.fn) {
		c.ret = c.fn(s, c.arg);
		if (!transfer(fd, &c, sizeof(c), true))
			break;
	}
	_exit(0);
}

struct vb_side *vb_fork(void)
{
	struct vb_side *s = side_new();
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die("socketpair: %s", strerror(errno));
	s->pid = fork();
	if (s->pid < 0)
		die("fork: %s", strerror(errno));
	if (s->pid == 0) {
		close(sv[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		s->pid = 0;
		peer_enter();
		serve(s, sv[1]);
	}
	close(sv[1]);
	s->fd = sv[0];
	return s;
}

static void call_send(struct vb_side *s, struct call *c, vb_fn fn, const void *arg, size_t len)
{
	if (len > VB_ARG)
		die("an argument of %zu bytes", len);
	c->fn = fn;
	c->len = len;
	if (len)
		memcpy(c->arg, arg, len);
	if (!transfer(s->fd, c, sizeof(*c), true))
		die("the other side has gone");
}

int vb_call(struct vb_side *s, vb_fn fn, void *arg, size_t len)
{
	static struct call c;

	if (s->fd < 0)
		return fn(s, arg);
	call_send(s, &c, fn, arg, len);
	if (!transfer(s->fd, &c, sizeof(c), false))
		die("the other side has gone");
	if (len)
		memcpy(arg, c.arg, len);
	return c.ret;
}

static int do_open(struct vb_side *s, void *arg)
{
	struct vb_info *info = arg;

	s->ctx = rc_open_first();
	s->gid_index = rc_gid(s->ctx, &info->gid);
	if (s->gid_index < 0)
		return ENODATA;
	if (ibv_query_port(s->ctx, 1, &info->port))
		return errno;
	if (ibv_query_device_ex(s->ctx, NULL, &info->dev))
		return errno;
	s->pd = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	if (!s->pd || !s->chan)
		return errno;
	s->mr = ibv_reg_mr(s->pd, s->buf, VB_BUF,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_MW_BIND);
	if (!s->mr)
		return errno;
	info->lkey = s->mr->lkey;
	info->rkey = s->mr->rkey;
	s->info = *info;
	return 0;
}

void vb_open(struct vb_side *s)
{
	static struct vb_info info;
	int ret = vb_call(s, do_open, &info, sizeof(info));

	if (ret)
		die("cannot set up the device: %s", strerror(ret));
	s->info = info;
}

void vb_close(struct vb_side *s)
{
	static struct call c;

	if (s->fd >= 0) {
		transfer(s->fd, &c, sizeof(c), true);
		waitpid(s->pid, NULL, 0);
		close(s->fd);
	}
	munmap(s->buf, VB_BUF);
	free(s);
}

int vb_call_last(struct vb_side *s, vb_fn fn, void *arg, size_t len)
{
	static struct call c;
	int status;

	call_send(s, &c, fn, arg, len);
	if (waitpid(s->pid, &status, 0) != s->pid)
		die("waitpid: %s", strerror(errno));
	close(s->fd);
	munmap(s->buf, VB_BUF);
	free(s);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *vb_addr(const struct vb_side *s, bool v6)
{
	return s->fd < 0 ? here_addr(v6) : peer_addr(v6);
}

void vb_open_two(int argc, char **argv, struct vb_side **a, struct vb_side **b)
{
	*b = argc > 1 && !strcmp(argv[1], "remote") ? vb_fork() : vb_local();
	*a = vb_local();
	vb_open(*a);
	vb_open(*b);
}

void vb_close_two(struct vb_side *a, struct vb_side *b)
{
	vb_close(b);
	vb_close(a);
}
