/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that stand for those of asynchronous events, and the calls to libc that use them:
 * async_file.h. The table is read without a lock, by calls on any descriptor.
 */
#include "libtap/async_file.h"
#include "libshim/interpose/own_fd.h"
#include "libtap/memory_use.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/**
 * struct async_file - an entry of the table.
 * @ctx: whose descriptor it is
 * @shown: what the program has, plus one; 0: the entry is free
 * @kernel: for which it stands; @bell: an eventfd of ours
 */
struct async_file {
	const struct ibv_context *ctx;
	int shown;
	int kernel;
	int bell;
};

#define FILES 64u

TAP_HOOK(int, ioctl, int fd, unsigned long request, ...);
TAP_HOOK(int, close, int fd);

u32 tap_async_files;
static struct async_file files[FILES];
static pid_t owner; /* of the table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct async_file *file_find(int shown)
{
	u32 i;

	for (i = 0; shown >= 0 && i < FILES; i++)
		if (load_acquire(&files[i].shown) == shown + 1)
			return &files[i];
	return NULL;
}

static struct async_file *file_of(const struct ibv_context *ctx)
{
	u32 i;

	for (i = 0; i < FILES; i++)
		if (load_acquire(&files[i].shown) && load_relaxed(&files[i].ctx) == ctx)
			return &files[i];
	return NULL;
}

int tap_async_find(int fd)
{
	const struct async_file *f = file_find(fd);

	return f ? f->kernel : fd;
}

/* --- making and dropping ---------------------------------------------------------------------- */

/* Return: an epoll instance with both descriptors, or -errno */
static int file_watch(int kernel, int bell)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	if (!epoll_ctl(fd, EPOLL_CTL_ADD, kernel, &ev) && !epoll_ctl(fd, EPOLL_CTL_ADD, bell, &ev))
		return fd;
	ret = -errno;
	sys_close(fd);
	return ret;
}

/* Under the lock. Return: 0 or -errno */
static int file_fill(struct async_file *f, const struct ibv_context *ctx)
{
	const int kernel = ctx->async_fd;
	int flags = sys_fcntl(kernel, F_GETFL, 0);
	int bell = sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), shown;

	if (bell < 0)
		return bell;
	bell = own_fd_move_high(bell);
	shown = flags < 0 ? flags : file_watch(kernel, bell);
	if (shown < 0) {
		sys_close(bell);
		return shown;
	}
	sys_fcntl(kernel, F_SETFL, flags | O_NONBLOCK);
	store_relaxed(&f->ctx, ctx);
	f->kernel = kernel;
	f->bell = bell;
	store_release(&f->shown, shown + 1);
	return 0;
}

int tap_async_make(struct ibv_context *ctx)
{
	struct async_file *f = NULL;
	int ret = -ENOSPC;
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FILES && !f; i++)
		if (!files[i].shown)
			f = &files[i];
	if (f)
		ret = file_fill(f, ctx);
	if (!ret) {
		owner = getpid();
		ctx->async_fd = f->shown - 1;
		store_release(&tap_async_files, tap_async_files + 1);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Under the lock */
static void file_forget(struct async_file *f)
{
	sys_close(f->bell);
	store_release(&f->shown, 0);
	store_release(&tap_async_files, tap_async_files - 1);
}

void tap_async_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	owner = getpid();
}

void tap_async_restore(struct ibv_context *ctx)
{
	struct async_file *f;
	int shown;

	pthread_mutex_lock(&lock);
	f = file_of(ctx);
	if (f) {
		shown = f->shown - 1;
		/* Another context may be at the address of one whose end nobody has seen. */
		if (ctx->async_fd == shown)
			ctx->async_fd = f->kernel;
		file_forget(f);
		sys_close(shown);
	}
	pthread_mutex_unlock(&lock);
}

bool tap_async_is_made(const struct ibv_context *ctx)
{
	return load_relaxed(&tap_async_files) && file_of(ctx);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void tap_async_ring(const struct ibv_context *ctx, bool on)
{
	struct async_file *f;
	eventfd_t n;

	pthread_mutex_lock(&lock);
	f = file_of(ctx);
	if (f && on)
		eventfd_write(f->bell, 1);
	else if (f)
		eventfd_read(f->bell, &n);
	pthread_mutex_unlock(&lock);
}

/*
 * Whether read(2) of a file would go on after a signal's handler. poll(2) ends in any case, and
 * does not tell which signal it was.
 */
static bool signals_restart(void)
{
	struct sigaction act;
	int i;

	for (i = 1; i < NSIG; i++)
		if (!sigaction(i, NULL, &act) && act.sa_handler != SIG_DFL &&
		    act.sa_handler != SIG_IGN && !(act.sa_flags & SA_RESTART))
			return false;
	return true;
}

int tap_async_wait(const struct ibv_context *ctx)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	int n;

	do
		n = poll(&fd, 1, sys_fcntl(fd.fd, F_GETFL, 0) & O_NONBLOCK ? 0 : -1);
	while (n < 0 && errno == EINTR && signals_restart());
	if (!n)
		errno = EAGAIN;
	return n > 0 ? 0 : -1;
}

/* --- calls to libc ---------------------------------------------------------------------------- */

/* The attribute by which a method says where the events of a new object go. */
static const struct event_attr {
	u16 object, method, attr;
} event_attrs[] = {
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, UVERBS_ATTR_CREATE_CQ_EVENT_FD },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, UVERBS_ATTR_CREATE_QP_EVENT_FD },
	{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_EVENT_FD },
	{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, UVERBS_ATTR_CREATE_WQ_EVENT_FD },
};

static bool method_has_attr(const struct ib_uverbs_ioctl_hdr *h, u16 attr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(event_attrs); i++)
		if (event_attrs[i].object == h->object_id &&
		    event_attrs[i].method == h->method_id && event_attrs[i].attr == attr)
			return true;
	return false;
}

/* Return: NULL: the request has none */
static struct ib_uverbs_attr *request_event_attr(struct ib_uverbs_ioctl_hdr *h)
{
	u32 i;

	for (i = 0; i < h->num_attrs; i++)
		if (method_has_attr(h, h->attrs[i].attr_id))
			return &h->attrs[i];
	return NULL;
}

int tap_hook_ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_attr *attr = NULL;
	s64 shown = 0;
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (unlikely(load_relaxed(&tap_async_files)) && request == RDMA_VERBS_IOCTL)
		attr = request_event_attr(arg);
	if (attr) {
		shown = attr->data_s64;
		attr->data_s64 = tap_async_find((int)shown);
	}
	ret = tap_next(ioctl)(fd, request, arg);
	if (attr)
		attr->data_s64 = shown;
	return ret;
}

/*
 * A child of vfork(2) closes descriptors of its own, and has the table of its parent, which still
 * needs it. A handler of a signal may close others, which takes no lock.
 */
int tap_hook_close(int fd)
{
	struct async_file *f;
	int kernel = -1;

	if (unlikely(load_relaxed(&tap_async_files)) && file_find(fd) && owner == getpid()) {
		pthread_mutex_lock(&lock);
		f = file_find(fd);
		if (f) {
			kernel = f->kernel;
			file_forget(f);
		}
		pthread_mutex_unlock(&lock);
	}
	if (kernel >= 0)
		tap_next(close)(kernel);
	return tap_next(close)(fd);
}
