/* SPDX-License-Identifier: MIT */
/**
 * DOC: what becomes of the shim in a child of fork().
 *
 * The child is another process: it must never touch its parent's client (segment, commands, engine
 * token, event counts), whatever it does to objects that it inherited, and it may become a client
 * of its own. So in the child the parent's mappings are replaced in place by private zero pages
 * (pointers into them stay harmless), its descriptors are closed, its caches are dropped, and the
 * state says "not connected". The epoch tells inherited objects from new ones.
 *
 * The locks are taken around the fork, so that what they protect is whole in the child. What the
 * token protects may not be; the child drops it without looking. vfork() and posix_spawn() run no
 * handlers and need none: their child does nothing but exec, and all descriptors close on exec.
 */
#include "libshim/client/plumbing.h"

#include <pthread.h>

static void fork_lock_all(void)
{
	shim_client_lock();
	shim_seg_heap_lock();
	shim_rpc_lock();
}

static void fork_unlock_all(void)
{
	shim_rpc_unlock();
	shim_seg_heap_unlock();
	shim_client_unlock();
}

static void fork_forget_all(void)
{
	shim.epoch++;
	shim_watch_forked();
	shim_helper_forked();
	shim_host_forked();
	shim_rpc_forked();
	shim_chan_forked();
	shim_cmd_forked();
	shim_seg_heap_forked();
	shim_client_forked();
}

int shim_fork_watch(void)
{
	static bool done;
	int ret;

	if (done)
		return 0;
	ret = pthread_atfork(fork_lock_all, fork_unlock_all, fork_forget_all);
	done = !ret;
	return -ret;
}
