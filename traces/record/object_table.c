/* SPDX-License-Identifier: MIT */
/*
 * Objects by their address, and MRs and QPs by their numbers.
 *
 * A table of open addressing that is read without a lock: the data path looks each object up. It has a fixed size in address
 * space; of it only what is used costs memory. Slots of what is gone are free again when nothing lies behind them. An object
 * that a program uses while it destroys it may be missed, as it may be by any library.
 */
#include "traces/record/record.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS (1u << 20)
#define FULL  (SLOTS - SLOTS / 4)

struct slot {
	u64 key; /* 0: never used, GONE */
	struct rec_obj *obj;
};

#define GONE 1u

static struct slot *table;
static u32 used;
static u32 ordinals[VOBJ_COUNT];

/* Addresses have their upper bits clear. */
#define KEY_LKEY (1ull << 62)
#define KEY_QPN	 (1ull << 63)

static u64 number_key(u64 space, u32 ctx, u32 number)
{
	return space | (u64)(ctx & 0x3fffffff) << 32 | number;
}

static struct rec_obj *rec_table_find(u64 key)
{
	struct slot *t = load_acquire(&table);
	u32 at = (u32)mix64(key) % SLOTS;
	u64 k;

	while (t && (k = load_acquire(&t[at].key))) {
		if (k == key)
			return load_acquire(&t[at].obj);
		at = (at + 1) % SLOTS;
	}
	return NULL;
}

/* With the lock. Return: false: there is no room. */
static bool rec_table_insert(u64 key, struct rec_obj *obj)
{
	struct slot *free_slot = NULL;
	u32 at = (u32)mix64(key) % SLOTS;
	u64 k;

	if (!table) {
		void *t = mmap(NULL, SLOTS * sizeof(*table), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (t == MAP_FAILED)
			return false;
		store_release(&table, (struct slot *)t);
	}
	while ((k = table[at].key)) {
		if (k == key) {
			store_release(&table[at].obj, obj);
			return true;
		}
		if (k == GONE && !free_slot)
			free_slot = &table[at];
		at = (at + 1) % SLOTS;
	}
	if (!free_slot) {
		if (used >= FULL)
			return false;
		used++;
		free_slot = &table[at];
	}
	store_release(&free_slot->obj, obj);
	store_release(&free_slot->key, key);
	return true;
}

/* With the lock. What has been put under the key since stays. */
static void rec_table_remove(u64 key, const struct rec_obj *obj)
{
	u32 at = (u32)mix64(key) % SLOTS;

	if (!key || !table)
		return;
	while (table[at].key != key) {
		if (!table[at].key)
			return;
		at = (at + 1) % SLOTS;
	}
	if (table[at].obj != obj)
		return;
	store_release(&table[at].key, GONE);
	while (table[at].key == GONE && !table[(at + 1) % SLOTS].key) {
		store_release(&table[at].key, 0);
		used--;
		at = (at + SLOTS - 1) % SLOTS;
	}
}

struct rec_obj *rec_obj_find(enum vobj kind, const void *obj)
{
	struct rec_obj *o = rec_table_find((uintptr_t)obj);

	return o && o->kind == kind ? o : NULL;
}

struct rec_obj *rec_obj_find_mr(const struct rec_obj *ctx, u32 lkey)
{
	return ctx ? rec_table_find(number_key(KEY_LKEY, ctx->ord, lkey)) : NULL;
}

struct rec_obj *rec_obj_find_qpn(const struct rec_obj *ctx, u32 qpn)
{
	return ctx ? rec_table_find(number_key(KEY_QPN, ctx->ord, qpn)) : NULL;
}

void rec_obj_set_alias(struct rec_obj *o, u32 number)
{
	u64 key;

	if (!o->ctx_obj)
		return;
	key = number_key(o->kind == VOBJ_MR ? KEY_LKEY : KEY_QPN, o->ctx_obj->ord, number);
	pthread_mutex_lock(&rec.lock);
	if (o->alias && o->alias != key)
		rec_table_remove(o->alias, o);
	o->alias = rec_table_insert(key, o) ? key : 0;
	pthread_mutex_unlock(&rec.lock);
}

/* --- objects at first sight --- */

const struct ibv_context *rec_obj_context(enum vobj kind, const void *obj)
{
	switch (kind) {
	case VOBJ_CTX:
		return obj;
	case VOBJ_FLOW:
		return ((const struct ibv_flow *)obj)->context;
	case VOBJ_ID:
	case VOBJ_EVCH:
	case VOBJ_EV:
		return NULL;
	default: /* their first member */
		return *(struct ibv_context *const *)obj;
	}
}

static void rec_obj_init(struct rec_obj *o, const void *obj)
{
	const struct ibv_context *ctx = rec_obj_context(o->kind, obj);

	if (o->kind == VOBJ_CTX) {
		o->ctx_obj = o;
		o->ctx = rec_ctx_attach((struct ibv_context *)(uintptr_t)obj);
		if (o->ctx)
			rec_devices_add((struct ibv_context *)(uintptr_t)obj);
		return;
	}
	if (!ctx)
		return;
	o->ctx_obj = rec_obj_find(VOBJ_CTX, ctx);
	o->ctx = o->ctx_obj ? o->ctx_obj->ctx : NULL;
	if (o->kind == VOBJ_QP) {
		o->srq = ((const struct ibv_qp *)obj)->srq;
		o->datagrams = ((const struct ibv_qp *)obj)->qp_type == IBV_QPT_UD;
		rec_obj_set_alias(o, ((const struct ibv_qp *)obj)->qp_num);
	} else if (o->kind == VOBJ_WQ)
		rec_wq_attach(o, (struct ibv_wq *)(uintptr_t)obj);
	else if (o->kind == VOBJ_DM)
		rec_dm_attach(o, (struct ibv_dm *)(uintptr_t)obj);
}

static void rec_obj_free(struct rec_obj *o)
{
	if (o->kind == VOBJ_MR)
		rec_mr_free(o);
	else if (o->kind == VOBJ_QP)
		rec_wr_free(o);
	else if (o->kind == VOBJ_CQ)
		rec_cqex_free(o);
	else if (o->kind == VOBJ_CTX)
		free(o->ctx);
	rec_recv_free(o);
	free(o);
}

static struct rec_obj *rec_obj_new(enum vobj kind, const void *obj)
{
	struct rec_obj *o = calloc(1, sizeof(*o)), *was;
	bool in = false;

	if (!o)
		return NULL;
	o->key = (uintptr_t)obj;
	o->kind = (u8)kind;
	pthread_mutex_lock(&rec.lock);
	was = rec_table_find(o->key);
	if (ordinals[kind] < VT_MAX_OBJ)
		in = rec_table_insert(o->key, o);
	if (in)
		o->ord = ++ordinals[kind];
	if (was && in && was->alias)
		rec_table_remove(was->alias, was);
	pthread_mutex_unlock(&rec.lock);
	if (!in) {
		free(o);
		rec_note("no more than %u objects of a kind are recorded", VT_MAX_OBJ);
		return NULL;
	}
	/* One that was freed without our seeing it. */
	if (was)
		rec_obj_free(was);
	rec_obj_init(o, obj);
	return o;
}

u32 rec_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh)
{
	struct rec_obj *o = fresh ? NULL : rec_obj_find(kind, obj);

	(void)arg;
	/* What was a parent's has no ordinal. */
	if (o || !(fresh || rec_thread.makes & 1u << kind))
		return o ? o->ord : 0;
	o = rec_obj_new(kind, obj);
	if (o)
		o->passing = !fresh;
	return o ? o->ord : 0;
}

void rec_obj_drop(enum vobj kind, const void *obj, u32 ord)
{
	struct rec_obj *o = rec_obj_find(kind, obj);

	if (!o || o->ord != ord)
		return;
	pthread_mutex_lock(&rec.lock);
	rec_table_remove(o->key, o);
	rec_table_remove(o->alias, o);
	pthread_mutex_unlock(&rec.lock);
	rec_obj_free(o);
}

void rec_obj_for_each(enum vobj kind, void (*fn)(struct rec_obj *))
{
	struct slot *t = load_acquire(&table);
	u32 i;

	for (i = 0; t && i < SLOTS; i++)
		if (t[i].key > GONE && t[i].obj->kind == kind && t[i].key == t[i].obj->key)
			fn(t[i].obj);
}

/* Objects of the parent keep the functions below, by which a child may still call them, and nothing else. */
void rec_obj_forget_all(void)
{
	u32 i;

	for (i = 0; table && i < SLOTS; i++)
		if (table[i].key > GONE) {
			table[i].obj->ord = 0;
			if (table[i].obj->kind == VOBJ_MR)
				rec_mr_forget(table[i].obj);
		}
	memset(ordinals, 0, sizeof(ordinals));
}
