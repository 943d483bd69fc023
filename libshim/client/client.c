/* SPDX-License-Identifier: MIT */
/**
 * DOC: the state of this process as a client, and what a fork makes of it.
 */
#include "libshim/client/client.h"

#include "emulator/clock.h"
#include "emulator/seg.h"
#include "libshim/client/valgrind.h"
#include "libshim/interpose/path.h"
#include "libshim/interpose/syscall.h"

#include <pthread.h>
#include <sys/mman.h>

static const struct hca_clock real_time;
static const u64 no_fail_calls[SEG_CALL_WORDS];

struct shim_client shim = {
	.clock = &real_time, .sock = -1, .kick_fd = -1, .fail_calls = no_fail_calls
};

static pthread_mutex_t client_lock = PTHREAD_MUTEX_INITIALIZER;

void shim_client_lock(void)
{
	pthread_mutex_lock(&client_lock);
}

void shim_client_unlock(void)
{
	pthread_mutex_unlock(&client_lock);
}

/*
 * Replace a shared mapping by private zero pages; by inaccessible ones where memory is rationed. A
 * child that ends without a new connection would have valgrind search them.
 */
static void mapping_make_private(void *map, u64 size)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	if (mmap(map, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		(void)mmap(map, size, PROT_NONE, flags, -1, 0);
	shim_valgrind_leave_out(map, size);
}

void shim_client_forked(void)
{
	u32 i;

	pthread_mutex_unlock(&client_lock);
	if (!shim.live)
		return;
	shim.live = false;
	shim.fatal = false;
	shim.isolated = false;
	shim.engine.hca = NULL;
	shim.fail_calls = no_fail_calls;
	shim.clock = &real_time;
	path_counters_set_hca(NULL, 0, 0);
	for (i = 0; i < SEG_LEVELS; i++)
		if (shim.map.at[i])
			mapping_make_private(shim.map.at[i], SEG_FIRST << i);
	if (shim.hca)
		mapping_make_private(shim.hca, sizeof(*shim.hca));
	sys_close(shim.kick_fd);
	shim.kick_fd = -1;
}
