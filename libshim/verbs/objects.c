/* SPDX-License-Identifier: MIT */
/**
 * DOC: tables, references and commands of all verbs objects.
 */
#include "libshim/verbs/objects.h"
#include "libshim/verbs/ahn.h"
#include "libshim/client/command.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/srq.h"

#include <stdlib.h>
#include <sys/mman.h>

struct shim_objs *objs;
pthread_mutex_t objs_lock = PTHREAD_MUTEX_INITIALIZER;
struct shim_context *contexts;

int shim_objs_init(void)
{
	int ret = 0;
	void *p;

	pthread_mutex_lock(&objs_lock);
	if (!objs) {
		p = mmap(NULL, sizeof(*objs), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED) {
			shim_valgrind_exclude(p, sizeof(*objs));
			objs = p;
		} else {
			ret = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&objs_lock);
	return ret;
}

void *shim_obj_alloc(size_t size)
{
	void *p = aligned_alloc(64, ALIGN_UP(size, 64));

	if (!p) {
		errno = ENOMEM;
		return NULL;
	}
	shim_valgrind_exclude(p, size);
	return memset(p, 0, size);
}

struct shim_context *shim_context_of(struct ibv_context *ibctx)
{
	struct shim_context *ctx;

	if (!ibctx || ibctx->abi_compat != (void *)-1)
		return fail_null(-EINVAL);
	ctx = container_of(ibctx, struct shim_context, verbs.context);
	return ctx->magic == MAGIC_CONTEXT ? ctx : fail_null(-EBADF);
}

void shim_context_get(struct shim_context *ctx)
{
	__atomic_fetch_add(&ctx->refs, 1, __ATOMIC_RELAXED);
}

void shim_context_put(struct shim_context *ctx)
{
	struct shim_context **p;

	if (__atomic_sub_fetch(&ctx->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&objs_lock);
	for (p = &contexts; *p && *p != ctx; p = &(*p)->next)
		;
	if (*p)
		*p = ctx->next;
	pthread_mutex_unlock(&objs_lock);
	pthread_mutex_destroy(&ctx->verbs.context.mutex);
	shim_ahn_free(ctx);
	shim_obj_retire(ctx, &ctx->magic);
}

/* As many destroyed objects as a program may mistake for others; a few hundred bytes each. */
#define RETIRED 64

void shim_obj_retire(void *obj, u32 *magic)
{
	static void *retired[RETIRED];
	static u32 next;
	u32 i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % RETIRED;

	*magic = 0;
	/* Valgrind is there to report calls on freed objects. */
	if (unlikely(shim_on_valgrind))
		free(obj);
	else
		free(__atomic_exchange_n(&retired[i], obj, __ATOMIC_ACQ_REL));
}

int shim_obj_cmd(struct shim_context *ctx, struct hca_cmd *cmd)
{
	return ctx->dead ? -EIO : shim_cmd_exec(cmd);
}

int shim_obj_end_cmd(struct shim_context *ctx, struct hca_cmd *cmd)
{
	int ret;

	if (ctx->dead)
		return 0;
	ret = shim_cmd_exec(cmd);
	/*
	 * EIO: the HCA no longer exists, nor does the object in it. EDEADLK: this signal handler
	 * cannot enter the engine. It is about to end the process, which frees the object.
	 */
	return ret == -EIO || ret == -EDEADLK ? 0 : ret;
}

int shim_obj_destroy_cmd(struct shim_context *ctx, u32 op, u32 handle)
{
	struct hca_cmd cmd = { .op = op, .handle = handle };

	return shim_obj_end_cmd(ctx, &cmd);
}

void *shim_obj_new(struct shim_context *ctx, size_t size, struct hca_cmd *cmd)
{
	void *obj = shim_obj_alloc(size);
	int ret;

	if (!obj)
		return NULL;
	ret = shim_obj_cmd(ctx, cmd);
	if (ret) {
		free(obj);
		return fail_null(ret);
	}
	shim_context_get(ctx);
	return obj;
}

void shim_obj_free(struct shim_context *ctx, void *obj, u32 *magic)
{
	shim_obj_retire(obj, magic);
	shim_context_put(ctx);
}

int shim_obj_end(struct shim_context *ctx, void *obj, u32 *magic, u32 op, u32 handle)
{
	int ret = shim_obj_destroy_cmd(ctx, op, handle);

	if (ret)
		return -ret;
	shim_obj_free(ctx, obj, magic);
	return 0;
}

void shim_objs_add_cq(struct shim_cq *cq)
{
	u32 i = cq->cq.handle;

	pthread_mutex_lock(&objs_lock);
	objs->cq[i] = cq;
	objs->cq_used[i / 64] |= BIT64(i % 64);
	objs->cq_words = max_u32(objs->cq_words, i / 64 + 1);
	pthread_mutex_unlock(&objs_lock);
}

/* objs_lock is held, and released while waiting. Pins are short. */
static void objs_wait_unpinned(const u32 *pins)
{
	while (*pins) {
		pthread_mutex_unlock(&objs_lock);
		sched_yield();
		pthread_mutex_lock(&objs_lock);
	}
}

void shim_objs_del_cq(struct shim_cq *cq)
{
	u32 i = cq->cq.handle;

	pthread_mutex_lock(&objs_lock);
	if (objs->cq[i] == cq) {
		objs->cq[i] = NULL;
		objs->cq_used[i / 64] &= ~BIT64(i % 64);
	}
	objs_wait_unpinned(&cq->pins);
	pthread_mutex_unlock(&objs_lock);
}

void shim_objs_each_cq(void (*fn)(struct shim_cq *cq))
{
	struct shim_cq *cq;
	u32 word, bit;
	u64 bits;

	pthread_mutex_lock(&objs_lock);
	for (word = 0; word < objs->cq_words; word++) {
		bits = objs->cq_used[word];
		for_each_bit64(bit, bits) {
			cq = objs->cq[word * 64 + bit];
			if (!cq)
				continue;
			/* A thread that holds the CQ's lock may be waiting for objs_lock. */
			cq->pins++;
			pthread_mutex_unlock(&objs_lock);
			fn(cq);
			pthread_mutex_lock(&objs_lock);
			cq->pins--;
		}
	}
	pthread_mutex_unlock(&objs_lock);
}

void shim_objs_add_qp(struct shim_qp *qp)
{
	pthread_mutex_lock(&objs_lock);
	if (qp->opened) {
		qp->next_opened = objs->opened;
		objs->opened = qp;
	} else {
		store_release(&objs->qp[qp->slot], qp);
	}
	pthread_mutex_unlock(&objs_lock);
}

void shim_objs_del_qp(struct shim_qp *qp)
{
	struct shim_qp **p;

	pthread_mutex_lock(&objs_lock);
	for (p = &objs->opened; *p && *p != qp; p = &(*p)->next_opened)
		;
	if (*p)
		*p = qp->next_opened;
	if (objs->qp[qp->slot] == qp)
		store_release(&objs->qp[qp->slot], NULL);
	objs_wait_unpinned(&qp->pins);
	pthread_mutex_unlock(&objs_lock);
}

void shim_objs_add_srq(struct shim_srq *srq)
{
	pthread_mutex_lock(&objs_lock);
	store_release(&objs->srq[srq->index], srq);
	pthread_mutex_unlock(&objs_lock);
}

void shim_objs_del_srq(struct shim_srq *srq)
{
	pthread_mutex_lock(&objs_lock);
	if (objs->srq[srq->index] == srq)
		store_release(&objs->srq[srq->index], NULL);
	objs_wait_unpinned(&srq->pins);
	pthread_mutex_unlock(&objs_lock);
}

struct shim_qp *shim_qp_pin(u32 slot)
{
	struct shim_qp *qp;

	if (!load_relaxed(&objs->qp[slot]))
		return NULL;
	pthread_mutex_lock(&objs_lock);
	qp = objs->qp[slot];
	if (qp)
		qp->pins++;
	pthread_mutex_unlock(&objs_lock);
	return qp;
}

void shim_qp_unpin(struct shim_qp *qp)
{
	pthread_mutex_lock(&objs_lock);
	qp->pins--;
	pthread_mutex_unlock(&objs_lock);
}
