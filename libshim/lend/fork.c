/* SPDX-License-Identifier: MIT */
/**
 * DOC: a child of fork() has copies of lent memory, as of the fork, as Linux gives them for pinned
 * pages since 5.12.
 *
 * The child inherits mappings of its parent's file. Before its fork() returns it exchanges them for
 * private pages, while the parent waits in its own handler, so that the parent's later writes are
 * not in the copies. The lock is held from before the fork until then, and signals are blocked. A
 * pipe tells the parent: its end closes when the child has made the copies, or has died.
 *
 * That holds for a program with one thread. One with several gives back what it has lent before it
 * forks, if they can be stopped.
 *
 * Mappings that are not inherited (MADV_DONTFORK) are not in the child, and it copies nothing.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include "libshim/interpose/syscall.h"

#include <stdlib.h>
#include <unistd.h>

#define BUSY_TRIES 1000u
#define AUTO_TRIES 20u /* where the program has not asked for lent memory */
#define EXIT_TRIES 100u /* where all that can end is a thread */
#define BUSY_NS	   5000000u

static sigset_t mask_before;
static int done_pipe[2] = { -1, -1 };

/* @mask_before is the lock's owner's: threads may fork at the same time. */
static void fork_lock(void)
{
	sigset_t mask;

	lend_lock(&mask);
	mask_before = mask;
}

static void fork_unlock(void)
{
	sigset_t mask = mask_before;

	lend_unlock(&mask);
}

/*
 * Other threads would write to the child's pages while it makes the copies. They cannot be stopped
 * for that long: fork() needs locks of libc's that they may have. The lock is let go in between for
 * those that wait for it where they cannot be stopped.
 */
static void all_return(void)
{
	u32 i, tries = !lend_can_stop() ? EXIT_TRIES : lend_is_asked() ? BUSY_TRIES : AUTO_TRIES;

	for (i = 0; i < tries && lend_return_all(); i++) {
		fork_unlock();
		sys_sleep(BUSY_NS);
		fork_lock();
	}
}

void lend_fork_prepare(void)
{
	if (!lend_is_on())
		return;
	fork_lock();
	if (lent_range_count() && !lend_is_alone())
		all_return();
	else
		(void)lent_cache_empty();
	if (!lent_range_count())
		return;
	if (SYS_RET(syscall(SYS_pipe2, done_pipe, O_CLOEXEC)) >= 0)
		return;
	/* Without a descriptor the parent cannot wait: it lends nothing across this fork. */
	done_pipe[0] = done_pipe[1] = -1;
	fork_unlock();
	(void)lend_give_back(0, UINT64_MAX);
	fork_lock();
}

static void pipe_end_close(u32 end)
{
	if (done_pipe[end] >= 0)
		sys_close(done_pipe[end]);
	done_pipe[end] = -1;
}

void lend_fork_parent(void)
{
	char end;

	if (!lend_is_on())
		return;
	pipe_end_close(1);
	if (done_pipe[0] >= 0)
		while (sys_read(done_pipe[0], &end, 1) == -EINTR)
			;
	pipe_end_close(0);
	fork_unlock();
}

void lend_fork_child(void)
{
	static const char text[] = "rdmaemu: cannot copy registered memory after fork()\n";
	u32 i;

	if (!lend_is_on())
		return;
	lend_set_client(NULL); /* its parent's */
	pipe_end_close(0); /* and the limit leaves a descriptor for reading the mappings */
	for (i = 0; i < lent_range_count(); i++) {
		if (!lent_pages_return(lent_range_at(i)))
			continue;
		sys_write(STDERR_FILENO, text, sizeof(text) - 1);
		abort();
	}
	lent_range_forget();
	lend_region_forget();
	lent_cache_forget();
	lent_cost_forget();
	lend_threads_forget();
	pipe_end_close(1);
	fork_unlock();
}
