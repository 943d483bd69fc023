/* SPDX-License-Identifier: MIT */
/**
 * DOC: the watcher: the one thread that the shim starts, when a device is opened.
 *
 * It sleeps until the fabric process ends, which closes the socket, or asks for the memory helper.
 * Without a fabric process there are no timers and nothing notices dead clients: the device is lost
 * to this process. The watcher flushes its queues and has the layers above report the loss on every
 * context and rdma_cm channel (enum fatal_step), so that neither pollers nor sleepers hang.
 */
#include "libshim/client/watch.h"

#include "emulator/engine.h"
#include "emulator/hca.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/helper.h"
#include "libshim/client/valgrind.h"
#include "libshim/client/wire_receive.h"
#include "libshim/interpose/syscall.h"
#include "libshim/lend/region.h"

#include <limits.h>
#include <pthread.h>

#define STACK_SIZE     (256u << 10)
#define STEAL_TRIES    400u
#define STEAL_SPINS    200u /* attempts between two sleeps: a busy holder is not a dead one */
#define STEAL_SLEEP_NS 5000000u /* a living holder has 2 s in all to release the token */

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool running;
static void (*on_fatal[FATAL_STEPS])(void);

void shim_watch_on_fatal(enum fatal_step step, void (*fn)(void))
{
	store_release(&on_fatal[step], fn);
}

static void fatal_step_run(enum fatal_step step)
{
	void (*fn)(void) = load_acquire(&on_fatal[step]);

	if (fn)
		fn();
}

static bool token_try(struct engine *e)
{
	u32 i;

	for (i = 0; i < STEAL_SPINS; i++)
		if (engine_try(e))
			return true;
	return false;
}

/*
 * Take the token when the fabric process has ended. A holder that never releases it is assumed to
 * be dead, unless it is a thread of this process.
 */
static void token_seize(struct engine *e)
{
	u64 holder = 0;
	u32 i;

	for (i = 0; i < STEAL_TRIES; i++) {
		if (token_try(e))
			return;
		holder = load_relaxed(&e->hca->token);
		if (holder == TOKEN_FABRIC && engine_steal(e, holder))
			return;
		sys_sleep(STEAL_SLEEP_NS);
	}
	while (!token_try(e)) {
		holder = load_relaxed(&e->hca->token);
		if (holder != TOKEN_FREE && holder != e->token && engine_steal(e, holder))
			return;
		sys_sleep(STEAL_SLEEP_NS);
	}
}

/*
 * A thread that waits for the fabric process, or for the token that this had, may have the lock
 * that lend_own_threads() takes. Before that nothing is written to memory that may be lent, except
 * by the engine.
 */
static void watcher_fabric_gone(void)
{
	store_release(&shim.fatal, true);
	store_release(&shim.seg->fatal, 1);
	shim_cmd_wake();
	if (shim.hca) {
		token_seize(&shim.engine);
		engine_flush_client(&shim.engine, shim.id);
		shim_wire_unreceive();
		engine_leave(&shim.engine);
	}
	lend_own_threads(-1);
	if (!shim.hca)
		fatal_step_run(FATAL_FLUSH);
	fatal_step_run(FATAL_VERBS);
	fatal_step_run(FATAL_CM);
}

static void *watcher_main(void *arg)
{
	struct pollfd fds[2] = { { .fd = shim.sock, .events = POLLRDHUP }, { .fd = -1 } };

	fds[1].fd = (int)(intptr_t)arg;
	fds[1].events = POLLIN;
	shim_valgrind_keep_thread();
	for (;;) {
		if (sys_ppoll(fds, 2) < 0)
			continue;
		if (fds[1].revents & POLLIN)
			shim_helper_serve(fds[1].fd);
		else if (fds[1].revents)
			fds[1].fd = -1; /* the program has closed it */
		if (fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))
			break;
	}
	watcher_fabric_gone();
	return NULL;
}

/* The watcher blocks all signals, so that the program's own threads get them. */
static int watcher_spawn(int helper_fd)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return -ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&thread, &attr, watcher_main, (void *)(intptr_t)helper_fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!ret) {
		pthread_setname_np(thread, "rdmaemu");
		lend_own_threads(1);
	}
	return -ret;
}

int shim_watch_start(void)
{
	int helper_fd = -1;
	int ret = 0;

	pthread_mutex_lock(&start_lock);
	if (!running) {
		if (shim_helper_is_needed()) {
			helper_fd = shim_helper_open();
			ret = helper_fd < 0 ? helper_fd : 0;
		}
		if (!ret)
			ret = watcher_spawn(helper_fd);
		running = !ret;
	}
	pthread_mutex_unlock(&start_lock);
	return ret;
}

void shim_watch_forked(void)
{
	start_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	running = false;
}
