/* SPDX-License-Identifier: MIT */
/**
 * DOC: the shadow of the HCA's region table: the memory regions of this process.
 *
 * Theory of operation
 * -------------------
 * The poster gathers small payloads and the poller places them, in the program's own context.
 * Before they touch memory, they must know whether the key is valid and the range fits. This table
 * tells them without a lock. If it answers no, the work request goes to the engine unchanged, and
 * the engine decides.
 *
 * Each entry has a sequence number, which is odd while the entry changes. For a reader that meets a
 * change the answer is no. The common reader, a post, has it in line: mr_shadow_find().
 */
#include "emulator/limits.h"
#include "libshim/client/valgrind.h"
#include "libshim/memory/shadow.h"

#include <pthread.h>
#include <stdlib.h>

struct mr_shadow *mr_shadow_chunks[MR_SHADOW_CHUNKS];
static pthread_mutex_t shadow_lock = PTHREAD_MUTEX_INITIALIZER;

void shim_mr_shadow_forget(void)
{
	u32 i;

	shadow_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (i = 0; i < MR_SHADOW_CHUNKS; i++) {
		free(mr_shadow_chunks[i]);
		mr_shadow_chunks[i] = NULL;
	}
}

static void shadow_write(struct mr_shadow *s, const struct mr_shadow *v)
{
	u32 seq = s->seq;

	store_relaxed(&s->seq, seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&s->key, v->key);
	store_relaxed(&s->pd, v->pd);
	store_relaxed(&s->access, v->access);
	store_relaxed(&s->addr, v->addr);
	store_relaxed(&s->iova, v->iova);
	store_relaxed(&s->len, v->len);
	store_release(&s->seq, seq + 2);
}

int shim_mr_shadow_set(u32 key, u32 pd, u32 access, u64 addr, u64 iova, u64 len)
{
	struct mr_shadow v = {
		.key = key, .pd = pd, .access = access, .addr = addr, .iova = iova, .len = len
	};
	u32 index = key >> 8;
	struct mr_shadow *chunk;
	int ret = 0;

	if (index >= HCA_MAX_MR)
		return -EINVAL;
	pthread_mutex_lock(&shadow_lock);
	chunk = mr_shadow_chunks[index / MR_SHADOW_CHUNK];
	if (!chunk) {
		chunk = calloc(MR_SHADOW_CHUNK, sizeof(*chunk));
		if (chunk) {
			shim_valgrind_exclude(chunk, MR_SHADOW_CHUNK * sizeof(*chunk));
			store_release(&mr_shadow_chunks[index / MR_SHADOW_CHUNK], chunk);
		} else {
			ret = -ENOMEM;
		}
	}
	if (chunk)
		shadow_write(&chunk[index % MR_SHADOW_CHUNK], &v);
	pthread_mutex_unlock(&shadow_lock);
	return ret;
}

void shim_mr_shadow_clear(u32 key)
{
	static const struct mr_shadow none;
	u32 index = key >> 8;
	struct mr_shadow *chunk;

	if (index >= HCA_MAX_MR)
		return;
	pthread_mutex_lock(&shadow_lock);
	chunk = mr_shadow_chunks[index / MR_SHADOW_CHUNK];
	/* The index may be in use again, under a newer key. */
	if (chunk && chunk[index % MR_SHADOW_CHUNK].key == key)
		shadow_write(&chunk[index % MR_SHADOW_CHUNK], &none);
	pthread_mutex_unlock(&shadow_lock);
}

void *shim_mr_shadow_find(u32 lkey, u32 pd, u32 access, u64 addr, u64 len)
{
	return mr_shadow_find(lkey, pd == ~0u, pd, access, addr, len);
}

bool shim_mr_shadow_get(u32 key, struct mr_known *known)
{
	const struct mr_shadow *s = mr_shadow_at(key);
	u32 seq;

	if (!s)
		return false;
	seq = load_acquire(&s->seq);
	known->key = load_relaxed(&s->key);
	known->pd = load_relaxed(&s->pd);
	known->access = load_relaxed(&s->access);
	known->addr = load_relaxed(&s->addr);
	known->iova = load_relaxed(&s->iova);
	known->len = load_relaxed(&s->len);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return known->key && !(seq & 1) && load_relaxed(&s->seq) == seq;
}
