/* SPDX-License-Identifier: MIT */
/*
 * The registry of objects: by address, and MRs and QPs also by their numbers.
 *
 * The data path looks up every object, so lookups take no lock. The table uses open addressing and
 * has a fixed size in address space, of which only the used part takes memory. A slot is freed when
 * its object is gone and the next slot is free. A lookup may miss an object that the program
 * destroys at the same time, as in any library.
 */
#include "traces/record/object_table.h"
#include "traces/record/session.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS (1u << 20)
#define FULL  (SLOTS - SLOTS / 4)

struct slot {
	u64 key; /* 0: never used; or GONE */
	struct rec_obj *obj;
};

#define GONE 1u

static struct slot *table;
static u32 used;
static u32 ordinals[VOBJ_COUNT];

/* The upper bits of addresses are 0. */
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

/* The caller holds the lock. Return: false: the table is full. */
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

/* Removes a key, unless it belongs to a newer object. The caller holds the lock. */
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

/* --- new objects --- */

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
	default: /* the first member of their struct */
		return *(struct ibv_context *const *)obj;
	}
}

struct rec_ctx *rec_ctx_find(const struct ibv_context *ctx)
{
	const struct rec_obj *o = rec_obj_find(VOBJ_CTX, ctx);

	return o ? o->ctx : NULL;
}

static void rec_obj_init(struct rec_obj *o, const void *obj)
{
	const struct ibv_context *ctx = rec_obj_context(o->kind, obj);

	if (o->kind == VOBJ_CTX)
		o->ctx_obj = o;
	else
		o->ctx_obj = ctx ? rec_obj_find(VOBJ_CTX, ctx) : NULL;
	if (o->kind != VOBJ_QP)
		return;
	o->srq = ((const struct ibv_qp *)obj)->srq;
	o->datagrams = ((const struct ibv_qp *)obj)->qp_type == IBV_QPT_UD;
	rec_obj_set_alias(o, ((const struct ibv_qp *)obj)->qp_num);
}

/* @fresh: the call returns a new object, even if another one is registered at its address. */
static struct rec_obj *rec_obj_new(enum vobj kind, const void *obj, bool fresh)
{
	struct rec_obj *o = calloc(1, sizeof(*o)), *was;
	bool in = false;

	if (!o)
		return NULL;
	o->key = (uintptr_t)obj;
	o->kind = (u8)kind;
	pthread_mutex_lock(&rec.lock);
	was = rec_table_find(o->key);
	/* Another thread may have registered it meanwhile. */
	if (was && was->kind == kind && !fresh) {
		pthread_mutex_unlock(&rec.lock);
		free(o);
		return was;
	}
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
	o->passing = !fresh;
	o->replaced = was;
	o->next_fresh = rec_thread.fresh;
	rec_thread.fresh = o;
	rec_obj_init(o, obj);
	return o;
}

u32 rec_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh)
{
	struct rec_obj *o = fresh ? NULL : rec_obj_find(kind, obj);

	(void)arg;
	/* An object of the parent process has no ordinal. */
	if (o || !(fresh || rec_thread.makes & 1u << kind))
		return o ? o->ord : 0;
	o = rec_obj_new(kind, obj, fresh);
	return o ? o->ord : 0;
}

struct rec_obj *rec_obj_remove(enum vobj kind, const void *obj, u32 ord)
{
	struct rec_obj *o = rec_obj_find(kind, obj);

	if (!o || o->ord != ord)
		return NULL;
	pthread_mutex_lock(&rec.lock);
	rec_table_remove(o->key, o);
	rec_table_remove(o->alias, o);
	pthread_mutex_unlock(&rec.lock);
	return o;
}

void rec_obj_for_each(enum vobj kind, void (*fn)(struct rec_obj *))
{
	struct slot *t = load_acquire(&table);
	u32 i;

	for (i = 0; t && i < SLOTS; i++)
		if (t[i].key > GONE && t[i].obj->kind == kind && t[i].key == t[i].obj->key)
			fn(t[i].obj);
}

/*
 * A child may still call the objects of its parent: they keep their original functions, and nothing
 * else.
 */
void rec_obj_forget_all(void)
{
	u32 i;

	for (i = 0; table && i < SLOTS; i++)
		if (table[i].key > GONE)
			table[i].obj->ord = 0;
	memset(ordinals, 0, sizeof(ordinals));
}
