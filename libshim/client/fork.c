/* SPDX-License-Identifier: MIT */
/**
 * DOC: the client in a child of fork().
 *
 * The child is another process: it must never touch its parent's client (segment, commands, engine
 * token, event counts), whatever it does to inherited objects, and it may become a client itself.
 * In the child, therefore,
 *
 *  - private zero pages replace the parent's mappings in place: pointers into them stay harmless;
 *  - copies replace what is lent of the parent's registered memory (libshim/lend/fork.c);
 *  - the parent's descriptors are closed and its caches dropped;
 *  - the state says "not connected", and the new epoch tells inherited objects from new ones.
 *
 * The locks are held across the fork, so that their data is consistent in the child. HCA memory may
 * be inconsistent; the child drops it unread. vfork() and posix_spawn() run no fork handlers and
 * need none: their child only execs, and all descriptors close on exec.
 */
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/helper.h"
#include "libshim/client/engine_ops.h"
#include "libshim/client/rpc.h"
#include "libshim/client/seg_heap.h"
#include "libshim/client/watch.h"
#include "libshim/lend/region.h"

#include <pthread.h>

static void fork_lock_all(void)
{
	/* First: it may run the engine, which may send requests. */
	lend_fork_prepare();
	shim_client_lock();
	shim_seg_heap_lock();
	shim_rpc_lock();
}

static void fork_unlock_all(void)
{
	/* First: until then the child copies what this process must not change. */
	lend_fork_parent();
	shim_rpc_unlock();
	shim_seg_heap_unlock();
	shim_client_unlock();
}

static void fork_forget_all(void)
{
	lend_fork_child();
	shim.epoch++;
	shim_watch_forked();
	shim_helper_forked();
	shim_ops_forked();
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
