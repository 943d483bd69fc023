/* SPDX-License-Identifier: MIT */
/** DOC: see vm_forced.h. */
#include "fabric/proto/vm_forced.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORCED_STEP 4096u

/* struct forced - a side of a copy: where it is in its list, and the memory file of its process. */
struct forced {
	const struct span *span;
	int fd;
	u32 i;
	u64 at;
};

/* System calls: the program may wrap those of libc. */
static int forced_open(s32 pid)
{
	char path[32] = "/proc/self/mem";

	if (pid != VM_OWN)
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

static void forced_close(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static bool forced_move(int fd, u64 addr, void *data, u64 len, bool write)
{
	long number = write ? SYS_pwrite64 : SYS_pread64, got;

	for (; len; len -= (u64)got) {
		got = syscall(number, fd, data, (unsigned long)len, (long)addr);
		if (got <= 0)
			return false;
		data = (u8 *)data + got;
		addr += (u64)got;
	}
	return true;
}

/* The next piece of a side, of @len bytes at most. Return: its length; 0: the list is shorter. */
static u64 forced_piece(struct forced *f, u64 len, u64 *addr)
{
	const struct iovec *v;

	while (f->i < f->span->n && f->at == f->span->v[f->i].iov_len) {
		f->i++;
		f->at = 0;
	}
	if (f->i == f->span->n)
		return 0;
	v = &f->span->v[f->i];
	*addr = (u64)(uintptr_t)v->iov_base + f->at;
	len = min_u64(len, v->iov_len - f->at);
	f->at += len;
	return len;
}

static bool forced_pass(struct forced *f, u8 *data, u64 len, bool write)
{
	u64 n, addr;

	for (; len; len -= n, data += n) {
		n = forced_piece(f, len, &addr);
		if (!n || !forced_move(f->fd, addr, data, n, write))
			return false;
	}
	return true;
}

/* How much of what is left goes at once: all but the last word, then that in aligned pieces. */
static u64 forced_step(const struct forced *dst, u64 left)
{
	const struct span *s = dst->span;
	uintptr_t end = (uintptr_t)s->v[s->n - 1].iov_base + s->v[s->n - 1].iov_len;

	if (left > VM_TAIL_MAX)
		return min_u64(left - VM_TAIL_MAX, FORCED_STEP);
	return vm_tail_step(end - left, left);
}

static int forced_run(struct forced *dst, struct forced *src, u64 len)
{
	u8 data[FORCED_STEP];
	u64 n;

	for (; len; len -= n) {
		n = forced_step(dst, len);
		if (!forced_pass(src, data, n, false))
			return -EFAULT_SRC;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!forced_pass(dst, data, n, true))
			return -EFAULT_DST;
	}
	return 0;
}

int vm_forced_copy(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
		   const struct hca_mem *src, u64 soff, u64 len, int ret)
{
	struct span to, from;
	struct forced d = { .span = &to }, s = { .span = &from };

	if (span_make(vm, &from, src, soff, len, -EFAULT_SRC) ||
	    span_make(vm, &to, dst, doff, len, -EFAULT_DST))
		return ret;
	d.fd = forced_open(to.pid);
	s.fd = forced_open(from.pid);
	if (d.fd >= 0 && s.fd >= 0)
		ret = forced_run(&d, &s, len);
	forced_close(d.fd);
	forced_close(s.fd);
	return ret;
}

bool vm_forced_bytes(s32 pid, u64 addr, void *data, u64 len, bool write)
{
	int saved = errno, fd = forced_open(pid);
	bool good = fd >= 0 && forced_move(fd, addr, data, len, write);

	forced_close(fd);
	errno = saved;
	return good;
}
