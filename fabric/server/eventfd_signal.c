/* SPDX-License-Identifier: MIT */
/** DOC: see eventfd_signal.h for the theory of operation. */
#include "fabric/server/eventfd_signal.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_MAGIC 0xa10a10a1u

/** struct completion_ring - the head of the kernel's ring of completions. */
struct completion_ring {
	u32 id;
	u32 nr;
	u32 head; /* the consumer's */
	u32 tail; /* the kernel's */
	u32 magic;
	u32 compat_features;
	u32 incompat_features;
	u32 header_length;
};

static struct completion_ring *signaller_ring(const struct eventfd_signaller *s)
{
	/* The kernel's handle of a context is the address of its ring. */
	return (struct completion_ring *)(uintptr_t)s->ctx;
}

int eventfd_signaller_open(struct eventfd_signaller *s)
{
	const struct completion_ring *r;

	if (s->ctx || s->err)
		return s->err;
	if (syscall(SYS_io_setup, 1UL, &s->ctx)) {
		s->err = -errno;
		s->ctx = 0;
		return s->err;
	}
	r = signaller_ring(s);
	if (r->magic == RING_MAGIC && !r->incompat_features)
		return 0;
	/* A kernel with another ring: its completions could not be taken out. */
	syscall(SYS_io_destroy, s->ctx);
	s->ctx = 0;
	s->err = -ENOTSUP;
	return s->err;
}

static int eventfd_write_polled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const u64 one = 1;

	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
		return -EAGAIN;
	return write(fd, &one, sizeof(one)) == sizeof(one) ? 0 : -errno;
}

int eventfd_signal(struct eventfd_signaller *s, int fd)
{
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PREAD,
			   .aio_fildes = (u32)fd,
			   .aio_flags = IOCB_FLAG_RESFD,
			   .aio_resfd = (u32)fd };
	struct iocb *list = &cb;
	struct completion_ring *r;
	int ret;

	if (unlikely(eventfd_signaller_open(s)))
		return eventfd_write_polled(fd);
	ret = syscall(SYS_io_submit, s->ctx, 1L, &list) == 1 ? 0 : -errno;
	r = signaller_ring(s);
	store_release(&r->head, load_acquire(&r->tail));
	return ret;
}
