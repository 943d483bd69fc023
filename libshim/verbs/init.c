/* SPDX-License-Identifier: MIT */
/**
 * DOC: the verbs objects as a whole: first use, forks, the end of the fabric process.
 *
 * Registered memory needs no protection from copy-on-write: the HCA reaches it by its address in
 * the parent, not by physical page. So ibv_fork_init() has nothing to do. But a forked child must
 * not work on the rings that it shares with its parent: its inherited contexts become dead.
 */
#include "emulator/limits.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/watch.h"
#include "libshim/interpose/export.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

static void verbs_fork_prepare(void)
{
	pthread_mutex_lock(&objs_lock);
}

static void verbs_fork_parent(void)
{
	pthread_mutex_unlock(&objs_lock);
}

/* The operations of extended QPs and CQs, which do not go through a context. */
static void objs_set_dead(void)
{
	u32 i, word, bit;
	u64 bits;

	for (i = 0; i < HCA_MAX_QP; i++)
		if (objs->qp[i] && objs->qp[i]->extended)
			shim_wr_set_dead(objs->qp[i]);
	for (word = 0; word < objs->cq_words; word++) {
		bits = objs->cq_used[word];
		for_each_bit64(bit, bits)
			shim_cqx_set_dead(objs->cq[word * 64 + bit]);
	}
}

static void verbs_fork_child(void)
{
	struct shim_context *ctx;

	for (ctx = contexts; ctx; ctx = ctx->next)
		shim_context_set_dead(ctx);
	contexts = NULL;
	if (objs)
		objs_set_dead();
	objs = NULL;
	shim_mr_shadow_forget();
	shim_devices_forget();
	pthread_mutex_unlock(&objs_lock);
}

int shim_verbs_init(void)
{
	static bool prepared; /* under objs_lock; true in forked children as well */
	int ret = 0;

	pthread_mutex_lock(&objs_lock);
	if (!prepared)
		ret = pthread_atfork(verbs_fork_prepare, verbs_fork_parent, verbs_fork_child);
	prepared = !ret;
	pthread_mutex_unlock(&objs_lock);
	if (ret)
		return -ret;
	shim_watch_on_fatal(FATAL_FLUSH, shim_flush_local);
	shim_watch_on_fatal(FATAL_VERBS, shim_raise_fatal);
	return shim_objs_init();
}

/** ibv_fork_init() - ibv_fork_init(3): nothing to prepare. Return: 0. */
SHIM_EXPORT int ibv_fork_init(void)
{
	if (call_fails_early(CALL_ibv_fork_init))
		return errno;
	return 0;
}

/** ibv_is_fork_initialized() - ibv_is_fork_initialized(3): forking is always safe here. */
SHIM_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
