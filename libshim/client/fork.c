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

static void prepare(void)
{
	client_lock();
	segheap_lock();
	rpc_lock();
}

static void parent(void)
{
	rpc_unlock();
	segheap_unlock();
	client_unlock();
}

static void child(void)
{
	shim.epoch++;
	watch_forked();
	helper_forked();
	host_forked();
	rpc_forked();
	chan_forked();
	command_forked();
	segheap_forked();
	client_forked();
}

int fork_watch(void)
{
	static bool done;
	int ret;

	if (done)
		return 0;
	ret = pthread_atfork(prepare, parent, child);
	done = !ret;
	return -ret;
}
