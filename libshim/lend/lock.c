/* SPDX-License-Identifier: MIT */
/** DOC: the folder's lock. Its owner may wait for the fabric process, or for the engine token. */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include "libshim/interpose/syscall.h"

#include <pthread.h>
#include <string.h>

#define LOOK_NS 10000000u /* interval at which a thread asks whether to wait on for the lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* This thread has the lock. It runs the engine with it, which may allocate memory. */
static __thread bool has_lock __attribute__((tls_model("initial-exec")));

static void signal_mask_set(const sigset_t *mask, sigset_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, _NSIG / 8);
}

static void lock_signals_block(sigset_t *before)
{
	sigset_t all;

	memset(&all, 0xff, sizeof(all));
	/* The lock's owner may want to stop this thread while it waits. */
	if (lend_can_stop())
		sigdelset(&all, LEND_SIGNAL);
	signal_mask_set(&all, before);
}

static void lock_begin(void)
{
	has_lock = true;
	lend_regions_end_noted();
}

void lend_lock(sigset_t *before)
{
	lock_signals_block(before);
	pthread_mutex_lock(&lock);
	lock_begin();
}

/* Return: false: it is not free within LOOK_NS. */
static bool lock_wait(void)
{
	u64 until = sys_now() + LOOK_NS;
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	return !pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &ts);
}

bool lend_lock_while(sigset_t *before, bool (*go_on)(void))
{
	lock_signals_block(before);
	while (!lock_wait()) {
		if (!go_on()) {
			signal_mask_set(before, NULL);
			return false;
		}
	}
	lock_begin();
	return true;
}

void lend_unlock(const sigset_t *before)
{
	has_lock = false;
	pthread_mutex_unlock(&lock);
	signal_mask_set(before, NULL);
}

bool lend_lock_unless_held(sigset_t *before)
{
	if (has_lock)
		return false;
	lend_lock(before);
	return true;
}
