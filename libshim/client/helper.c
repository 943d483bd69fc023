/* SPDX-License-Identifier: MIT */
/**
 * DOC: the memory helper: copies of this process's memory where the fabric process cannot reach it.
 *
 * A job names ranges of this process and a direction; the data passes through the bounce buffer in
 * the segment. The helper copies with pread and pwrite on the segment's descriptor, so that an
 * unmapped address is an error and not a crash. It stores the last word on its own.
 *
 * The helper copies without the engine token. No page changes its place under it, because it holds
 * the lock of libshim/lend meanwhile. The lock's owner may wait for the fabric process. When that
 * has ended, the helper drops its job, because its thread is the one that notices.
 */
#include "libshim/client/helper.h"

#include "emulator/hca.h"
#include "emulator/seg.h"
#include "fabric/proto/vm_forced.h"
#include "libshim/client/client.h"
#include "libshim/client/rpc.h"
#include "libshim/interpose/own_fd.h"
#include "libshim/lend/region.h"

#include <stddef.h>
#include <sys/eventfd.h>

#define BOUNCE_OFF offsetof(struct seg_hdr, bounce)

#define SETTLE_SLEEP_NS 10000u

static int seg_fd = -1;
static int wake_fd = -1;
static u32 jobs_done;

bool shim_helper_is_needed(void)
{
	return !shim.welcome.fabric_reach || (shim.isolated && lend_is_on());
}

void shim_helper_keep(int fd)
{
	seg_fd = fd;
}

int shim_helper_open(void)
{
	struct proto_msg m = { .op = PROTO_HELPER_FD };
	int fd = sys_eventfd(0, EFD_CLOEXEC);
	int ret;

	if (fd < 0)
		return fd;
	fd = own_fd_move_high(fd);
	ret = shim_rpc_call(&m, fd, NULL, 0);
	if (ret < 0) {
		sys_close(fd);
		return ret;
	}
	wake_fd = fd;
	return fd;
}

static int job_move(bool write_it, u64 addr, u64 len, u64 off)
{
	void *p = (void *)(uintptr_t)addr;
	ssize_t got;

	while (len) {
		got = write_it ? sys_pread(seg_fd, p, len, (off_t)off)
			       : sys_pwrite(seg_fd, p, len, (off_t)off);
		/* Protected by the program, or not mapped. */
		if (got == -EFAULT)
			return vm_forced_bytes(VM_OWN, (uintptr_t)p, (u8 *)shim.seg + off, len,
					       write_it)
				       ? 0
				       : -EFAULT;
		if (got <= 0)
			return got ? (int)got : -EIO;
		p = (char *)p + got;
		off += (u64)got;
		len -= (u64)got;
	}
	return 0;
}

/*
 * Programs poll the end of a buffer: copy the rest first, then the tail, at most a word, in as few
 * naturally aligned pieces as it has.
 */
static int job_move_tail_last(bool write_it, u64 addr, u64 len, u64 off)
{
	u64 end = addr + len;
	u64 word = end & 7 ? end & ~7ULL : end - 8;
	u64 body = word > addr ? word - addr : 0, step;
	int ret = job_move(write_it, addr, body, off);

	for (; !ret && body < len; body += step) {
		step = vm_tail_step(addr + body, len - body);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		ret = job_move(write_it, addr + body, step, off + body);
	}
	return ret;
}

static int job_run(const struct helper_job *job)
{
	u64 done = 0;
	int ret = 0;
	u32 i, n = min_u32(job->n, ARRAY_SIZE(job->iov));

	for (i = 0; i < n && !ret; i++) {
		u64 addr = job->iov[i].addr, len = job->iov[i].len;

		if (len > SEG_BOUNCE_SIZE - done)
			return -EINVAL;
		if (addr != IOV_NULL)
			ret = job_move_tail_last(job->write, addr, len, BOUNCE_OFF + done);
		else if (!job->write)
			memset(shim.seg->bounce + done, 0, len);
		done += len;
	}
	return ret;
}

static bool fabric_lives(void)
{
	struct pollfd fd = { .fd = shim.sock, .events = POLLRDHUP };

	return sys_poll_now(&fd, 1) <= 0;
}

void shim_helper_serve(int fd)
{
	struct helper_job *job = &shim.seg->job;
	const u64 one = 1;
	sigset_t before;
	u64 count;

	if (sys_read(fd, &count, sizeof(count)) != sizeof(count))
		return;
	if (load_acquire(&job->state) != HELPER_BUSY)
		return;
	if (!lend_lock_while(&before, fabric_lives))
		return;
	job->result = job_run(job);
	lend_unlock(&before);
	__atomic_fetch_add(&jobs_done, 1, __ATOMIC_RELEASE);
	store_release(&job->state, HELPER_DONE);
	sys_write(shim.kick_fd, &one, sizeof(one));
}

void shim_helper_settle(void)
{
	const struct helper_job *job = &shim.seg->job;
	u32 done = load_acquire(&jobs_done);

	/* A job that begins from here on was requested after the caller's command. */
	while (wake_fd >= 0 && load_acquire(&job->state) == HELPER_BUSY &&
	       load_acquire(&jobs_done) == done && !load_relaxed(&shim.fatal))
		sys_sleep(SETTLE_SLEEP_NS);
}

void shim_helper_forked(void)
{
	if (seg_fd >= 0)
		sys_close(seg_fd);
	if (wake_fd >= 0)
		sys_close(wake_fd);
	seg_fd = wake_fd = -1;
}

bool shim_helper_write(void *to, const void *from, size_t len)
{
	return vm_forced_bytes(VM_OWN, (uintptr_t)to, (void *)(uintptr_t)from, len, true);
}
