/* SPDX-License-Identifier: MIT */
/* See pcapng_output.h. */
#include "traces/formats/pcapng_output.h"
#include "traces/formats/pcapng.h"

#include <errno.h>
#include <poll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A flag of pwritev2(2) since Linux 6.14; older headers lack it. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif
#define SLOW_WRITES 16u /* full buffers after which the write time is checked */
#define SLOW_NS	    100000000u
#define SLOW_PAUSE  128u /* writes that then go to the page cache */

static u64 output_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/*
 * Like write(2). Full buffers bypass the page cache: their pages are then free for the next
 * buffers, which is faster than allocating fresh memory (by far on a virtual machine), and the
 * capture evicts nothing from the page cache. When the disk is slower than the capture, so that
 * direct writes block, a number of writes goes to the page cache instead.
 */
static ssize_t output_write_some(struct pcapng_output *o, const u8 *at, u32 len)
{
	const struct iovec v = { .iov_base = (void *)(uintptr_t)at, .iov_len = len };
	ssize_t n;
	u64 from;

	if (!o->regular || o->cached || len < PCAPNG_BUFFER / 2) {
		if (o->cached && o->cached != ~0u)
			o->cached--;
		return write(o->fd, at, len);
	}
	from = output_now_ns();
	n = pwritev2(o->fd, &v, 1, -1, RWF_DONTCACHE);
	if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
		o->cached = ~0u;
		return write(o->fd, at, len);
	}
	o->direct_ns += output_now_ns() - from;
	if (++o->n_direct < SLOW_WRITES)
		return n;
	if (o->direct_ns > SLOW_NS)
		o->cached = SLOW_PAUSE;
	o->n_direct = 0;
	o->direct_ns = 0;
	return n;
}

int pcapng_output_write(struct pcapng_output *o, const u8 *buf, u32 len, u32 *done)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	ssize_t n;

	for (*done = 0; *done < len;) {
		n = output_write_some(o, buf + *done, len - *done);
		if (n >= 0)
			*done += (u32)n;
		else if (errno == EAGAIN)
			poll(&p, 1, -1);
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}
