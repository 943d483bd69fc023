/* SPDX-License-Identifier: MIT */
/*
 * Regions: which one a failed request meant. The latest ones that are gone are kept, because a
 * stale key is the usual cause.
 */
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"
#include "libtap/check/watch.h"
#include "libtap/memory_use.h"
#include "libtap/next_symbol.h"

#include "fabric/proto/env.h"

#include <stdio.h>
#include <stdlib.h>

#define MEMORY_DEAD 256u

/* Copies; @tap is NULL. A ring, the oldest is replaced. */
static struct check_obj dead[MEMORY_DEAD];
static u32 n_dead;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void check_mr_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	n_dead = 0;
	memset(dead, 0, sizeof(dead));
}

void check_mr_add_target(struct check_obj *c, u64 from, u64 to)
{
	pthread_mutex_lock(&lock);
	if (c->mr.target_from == c->mr.target_to) {
		c->mr.target_from = from;
		c->mr.target_to = to;
	} else {
		c->mr.target_from = min_u64(c->mr.target_from, from);
		c->mr.target_to = c->mr.target_to > to ? c->mr.target_to : to;
	}
	pthread_mutex_unlock(&lock);
}

void check_mr_new(struct check_obj *c)
{
	const struct ibv_mr *mr = (void *)(uintptr_t)c->tap->key;

	c->mr.addr = c->mr.iova = (uintptr_t)mr->addr;
	c->mr.len = mr->length;
	c->mr.lkey = mr->lkey;
	c->mr.rkey = mr->rkey;
	c->mr.pd = mr->pd;
}

/*
 * The kernel lets no device of an emulator write to shared memory by a mapping whose owner may not,
 * but it may have one of its own. A real device has pinned the pages; next to one nothing tells
 * whose region this is.
 */
static bool memory_device_has_own(const struct ibv_mr *ibmr)
{
	static void *slot;
	bool (*has_alias)(const struct ibv_mr *) =
		(__typeof__(has_alias))tap_next_symbol_loaded(&slot, "rdmaemu_has_alias");

	return has_alias ? has_alias(ibmr) : !getenv(PROTO_BESIDE_LIB_ENV);
}

enum check_guardable check_mr_guardable(const struct check_obj *c)
{
	if (c->mr.access & IBV_ACCESS_ON_DEMAND || c->mr.iova != c->mr.addr)
		return CHECK_UNGUARDED;
	switch (tap_memory_kind(c->mr.addr, c->mr.len)) {
	case TAP_MEMORY_PRIVATE:
		return CHECK_GUARDS_ALL;
	case TAP_MEMORY_SHARED:
		return memory_device_has_own((void *)(uintptr_t)c->tap->key) ? CHECK_GUARDS_SHARED
									     : CHECK_GUARDS_SENDS;
	default:
		return CHECK_UNGUARDED;
	}
}

void check_mr_call(const struct tap_call *call)
{
	struct check_obj *c = check_obj_find(
		VOBJ_MR, (void *)(call->call == VCALL_ibv_rereg_mr ? call->args[0] : call->ret));

	if (!c || call->failed)
		return;
	if (call->call == VCALL_ibv_rereg_mr) {
		check_watch_remove(c);
		check_mr_new(c);
		c->mr.has_access = false;
		c->mr.guardable = CHECK_UNGUARDED;
		return;
	}
	c->mr.has_access = true;
	if (call->call == VCALL_ibv_reg_mr) {
		c->mr.access = (u32)call->args[3];
	} else {
		c->mr.access = (u32)call->args[4];
		c->mr.iova = call->args[3];
	}
	if (c->mr.access & IBV_ACCESS_ZERO_BASED)
		c->mr.iova = 0;
	if (c->mr.access & IBV_ACCESS_LOCAL_WRITE && check_guard_wants())
		c->mr.guardable = check_mr_guardable(c);
	if (check_watch_wants())
		check_watch_add(c);
	if (c->mr.access & IBV_ACCESS_ON_DEMAND)
		check_asked_need(c, "it is paged on demand");
}

void check_mr_keep(const struct check_obj *c)
{
	struct check_obj *to;

	pthread_mutex_lock(&lock);
	to = &dead[n_dead++ % MEMORY_DEAD];
	*to = *c;
	to->tap = NULL;
	to->mr.gone = check_stack_here();
	pthread_mutex_unlock(&lock);
}

bool check_mr_was_registered(u64 addr, u64 len, check_stack *gone)
{
	bool found = false;
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < MEMORY_DEAD && !found; i++) {
		found = dead[i].ord && dead[i].mr.addr == addr && dead[i].mr.len == len;
		if (found)
			*gone = dead[i].mr.gone;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/**
 * struct memory_wanted - the region that a request means.
 * @near, @dead: copies of the live region that is nearest to the address, and of a region that had
 *	the key; @ord 0: none
 * @swapped: of the live region that has the key with its bytes in the other order, 0: none
 */
struct memory_wanted {
	u32 key;
	bool remote;
	u64 addr;
	u64 len;
	const void *pd;
	struct check_obj live;
	struct check_obj near;
	struct check_obj dead;
	u32 swapped;
	u64 distance;
};

/* Bytes between an address and a region; 0: inside. */
static u64 memory_distance(const struct check_mr *mr, u64 addr)
{
	if (addr < mr->iova)
		return mr->iova - addr;
	return addr - mr->iova < mr->len ? 0 : addr - mr->iova - mr->len + 1;
}

static bool memory_look_at(struct check_obj *c, void *arg)
{
	struct memory_wanted *w = arg;
	u64 distance = memory_distance(&c->mr, w->addr);
	u32 key = w->remote ? c->mr.rkey : c->mr.lkey;

	if (key == w->key) {
		w->live = *c;
		return true;
	}
	if (key == __builtin_bswap32(w->key))
		w->swapped = c->ord;
	if (distance < w->distance) {
		w->near = *c;
		w->distance = distance;
	}
	return false;
}

static void memory_find(struct memory_wanted *w)
{
	u32 i;

	w->distance = UINT64_MAX;
	if (check_obj_for_each(VOBJ_MR, memory_look_at, w))
		return;
	pthread_mutex_lock(&lock);
	for (i = n_dead; i > 0 && i + MEMORY_DEAD > n_dead && !w->dead.ord; i--) {
		const struct check_obj *c = &dead[(i - 1) % MEMORY_DEAD];

		if ((w->remote ? c->mr.rkey : c->mr.lkey) == w->key)
			w->dead = *c;
	}
	pthread_mutex_unlock(&lock);
}

/* The rights that the request needs and the region lacks, or "". */
static const char *memory_missing_right(const struct check_mr *mr, const struct check_wr *wr,
					bool write)
{
	if (!mr->has_access)
		return "";
	if (write)
		return mr->access & IBV_ACCESS_LOCAL_WRITE ? "" : "IBV_ACCESS_LOCAL_WRITE";
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return mr->access & IBV_ACCESS_REMOTE_WRITE ? "" : "IBV_ACCESS_REMOTE_WRITE";
	case IBV_WR_RDMA_READ:
		return mr->access & IBV_ACCESS_REMOTE_READ ? "" : "IBV_ACCESS_REMOTE_READ";
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return mr->access & IBV_ACCESS_REMOTE_ATOMIC ? "" : "IBV_ACCESS_REMOTE_ATOMIC";
	default:
		return "";
	}
}

/* Whether an address that leaves its region was sent in the wrong order or width. "": neither. */
static const char *memory_address_hint(const struct memory_wanted *w)
{
	const struct check_mr *mr = &w->live.mr;

	if (!memory_distance(mr, __builtin_bswap64(w->addr)))
		return ", in which it is with its bytes swapped";
	if (!(w->addr >> 32) && !memory_distance(mr, mr->iova >> 32 << 32 | w->addr))
		return ", in which it is with the upper 32 bits of the region";
	return "";
}

/* Says what is wrong with a live region. Return: false: nothing that is known. */
static bool memory_explain_live(const struct memory_wanted *w, const char *right, char *why,
				size_t size)
{
	const struct check_mr *mr = &w->live.mr;
	u64 end = mr->iova + mr->len;

	if (w->pd && mr->pd != w->pd)
		snprintf(why, size, "mr%u belongs to another PD", w->live.ord);
	else if (w->addr < mr->iova)
		snprintf(why, size, "it begins %llu bytes before mr%u [0x%llx, 0x%llx)%s",
			 (unsigned long long)(mr->iova - w->addr), w->live.ord,
			 (unsigned long long)mr->iova, (unsigned long long)end,
			 memory_address_hint(w));
	else if (w->addr + w->len > end)
		snprintf(why, size, "it ends %llu bytes after mr%u [0x%llx, 0x%llx)%s",
			 (unsigned long long)(w->addr + w->len - end), w->live.ord,
			 (unsigned long long)mr->iova, (unsigned long long)end,
			 memory_address_hint(w));
	else if (*right)
		snprintf(why, size, "mr%u was registered without %s", w->live.ord, right);
	else
		return false;
	return true;
}

/*
 * Reports a segment, if it explains the failure. @right: missing in a live region.
 * Return: whether it does.
 */
static bool memory_report(enum finding_id id, const char *subject, struct memory_wanted *w,
			  const struct check_wr *wr, const char *right)
{
	const char *key = w->remote ? "rkey" : "lkey";
	struct check_other other = { NULL, 0 };
	u64 to = w->addr + w->len;
	char why[256];

	if (w->live.ord) {
		if (!memory_explain_live(w, right, why, sizeof(why)))
			return false;
	} else if (w->swapped) {
		snprintf(why, sizeof(why), "mr%u has %s 0x%x, the same bytes in the other order",
			 w->swapped, key, __builtin_bswap32(w->key));
	} else if (w->dead.ord) {
		other = (struct check_other){ "region deregistered", w->dead.mr.gone };
		snprintf(why, sizeof(why), "%s 0x%x was that of mr%u, which is deregistered", key,
			 w->key, w->dead.ord);
	} else if (w->remote) {
		/* Regions of other processes are not known here. */
		return false;
	} else if (w->near.ord) {
		snprintf(why, sizeof(why),
			 "no region has lkey 0x%x; mr%u with lkey 0x%x is %s%llu bytes away",
			 w->key, w->near.ord, w->near.mr.lkey, w->distance ? "" : "around it, ",
			 (unsigned long long)w->distance);
	} else {
		snprintf(why, sizeof(why), "no region has lkey 0x%x", w->key);
	}
	check_report_at(id, wr->stack, other, "%s [0x%llx, 0x%llx) with %s 0x%x: %s", subject,
			(unsigned long long)w->addr, (unsigned long long)to, key, w->key, why);
	return true;
}

void check_mr_explain(const struct check_obj *qp, const struct ibv_wc *wc,
		      const struct check_wr *wr, bool write)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	char subject[96];
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		struct memory_wanted w = {
			.key = wr->sge[i].lkey,
			.addr = wr->sge[i].addr,
			.len = wr->sge[i].length,
			.pd = ibqp->pd,
		};

		snprintf(subject, sizeof(subject), "qp%u, wr_id 0x%llx: sg_list[%u]", qp->ord,
			 (unsigned long long)wc->wr_id, i);
		memory_find(&w);
		if (memory_report(FINDING_WR_LKEY_INVALID, subject, &w, wr,
				  w.live.ord && write ? memory_missing_right(&w.live.mr, wr, true)
						      : ""))
			return;
	}
}

void check_mr_explain_remote(const struct check_obj *qp, const struct ibv_wc *wc,
			     const struct check_wr *wr)
{
	struct memory_wanted w = { .key = wr->rkey, .remote = true, .addr = wr->raddr };
	char subject[96];
	u32 i;

	for (i = 0; i < wr->n_sge; i++)
		w.len += wr->sge[i].length;
	snprintf(subject, sizeof(subject), "qp%u, wr_id 0x%llx: remote memory", qp->ord,
		 (unsigned long long)wc->wr_id);
	memory_find(&w);
	memory_report(FINDING_WR_RKEY_INVALID, subject, &w, wr,
		      w.live.ord ? memory_missing_right(&w.live.mr, wr, false) : "");
}
