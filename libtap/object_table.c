/* SPDX-License-Identifier: MIT */
/*
 * The registry of objects: by address, and MRs and QPs also by their numbers.
 *
 * The data path looks up every object, so lookups take no lock. The table uses open addressing and
 * has a fixed size in address space, of which only the used part takes memory. A slot is freed when
 * its object is gone and the next slot is free. A lookup may miss an object that the program
 * destroys at the same time, as in any library.
 */
#include "libtap/object_table.h"
#include "libtap/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS_LOG 20
#define SLOTS	  (1u << SLOTS_LOG)
#define FULL	  (SLOTS - SLOTS / 4)

struct slot {
	u64 key; /* 0: never used; or GONE */
	struct tap_obj *obj;
};

#define GONE 1u

/* Protects the table, for those that change it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
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

/* Where to look first: by Fibonacci hashing, a multiplication, because each lookup does it. */
static u32 slot_of(u64 key)
{
	return (u32)(key * 0x9e3779b97f4a7c15ull >> (64 - SLOTS_LOG));
}

/* In line: each post and each poll looks up one object. */
static inline __attribute__((always_inline)) struct tap_obj *tap_table_find(u64 key)
{
	struct slot *t = load_acquire(&table);
	u32 at = slot_of(key);
	u64 k;

	while (t && (k = load_acquire(&t[at].key))) {
		if (k == key)
			return load_acquire(&t[at].obj);
		at = (at + 1) % SLOTS;
	}
	return NULL;
}

/* The caller holds the lock. Return: false: the table is full. */
static bool tap_table_insert(u64 key, struct tap_obj *obj)
{
	struct slot *free_slot = NULL;
	u32 at = slot_of(key);
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
static void tap_table_remove(u64 key, const struct tap_obj *obj)
{
	u32 at = slot_of(key);

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

struct tap_obj *tap_obj_find(enum vobj kind, const void *obj)
{
	struct tap_obj *o = tap_table_find((uintptr_t)obj);

	return o && o->kind == kind ? o : NULL;
}

struct tap_obj *tap_obj_find_mr(const struct tap_obj *ctx, u32 lkey)
{
	return ctx ? tap_table_find(number_key(KEY_LKEY, ctx->ord, lkey)) : NULL;
}

struct tap_obj *tap_obj_find_qpn(const struct tap_obj *ctx, u32 qpn)
{
	return ctx ? tap_table_find(number_key(KEY_QPN, ctx->ord, qpn)) : NULL;
}

void tap_obj_set_alias(struct tap_obj *o, u32 number)
{
	u64 key;

	if (!o->ctx_obj)
		return;
	key = number_key(o->kind == VOBJ_MR ? KEY_LKEY : KEY_QPN, o->ctx_obj->ord, number);
	pthread_mutex_lock(&lock);
	if (o->alias && o->alias != key)
		tap_table_remove(o->alias, o);
	o->alias = tap_table_insert(key, o) ? key : 0;
	pthread_mutex_unlock(&lock);
}

/* --- new objects --- */

const struct ibv_context *tap_obj_context(enum vobj kind, const void *obj)
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

struct tap_ctx *tap_ctx_find(const struct ibv_context *ctx)
{
	const struct tap_obj *o = tap_obj_find(VOBJ_CTX, ctx);

	return o ? o->ctx : NULL;
}

static void tap_obj_init(struct tap_obj *o, const void *obj)
{
	const struct ibv_context *ctx = tap_obj_context(o->kind, obj);

	if (o->kind == VOBJ_CTX)
		o->ctx_obj = o;
	else
		o->ctx_obj = ctx ? tap_obj_find(VOBJ_CTX, ctx) : NULL;
	if (o->ctx_obj && o->ctx_obj != o)
		__atomic_fetch_add(&o->ctx_obj->n_objects, 1, __ATOMIC_RELAXED);
	if (o->kind != VOBJ_QP)
		return;
	o->srq = ((const struct ibv_qp *)obj)->srq;
	o->datagrams = ((const struct ibv_qp *)obj)->qp_type == IBV_QPT_UD;
	tap_obj_set_alias(o, ((const struct ibv_qp *)obj)->qp_num);
}

/* @fresh: the call returns a new object, even if another one is registered at its address. */
static struct tap_obj *tap_obj_new(enum vobj kind, const void *obj, bool fresh)
{
	struct tap_obj *o = calloc(1, sizeof(*o)), *was;
	bool in = false;

	if (!o)
		return NULL;
	o->key = (uintptr_t)obj;
	o->kind = (u8)kind;
	pthread_mutex_lock(&lock);
	was = tap_table_find(o->key);
	/* Another thread may have registered it meanwhile. */
	if (was && was->kind == kind && !fresh) {
		pthread_mutex_unlock(&lock);
		free(o);
		return was;
	}
	if (ordinals[kind] < TAP_MAX_OBJ)
		in = tap_table_insert(o->key, o);
	if (in)
		o->ord = ++ordinals[kind];
	if (was && in && was->alias)
		tap_table_remove(was->alias, was);
	pthread_mutex_unlock(&lock);
	if (!in) {
		free(o);
		tap_note("no more than %u objects of a kind are recorded", TAP_MAX_OBJ);
		return NULL;
	}
	o->passing = !fresh;
	o->replaced = was;
	o->next_fresh = tap_thread.fresh;
	tap_thread.fresh = o;
	tap_obj_init(o, obj);
	return o;
}

u32 tap_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh)
{
	struct tap_obj *o = fresh ? NULL : tap_obj_find(kind, obj);

	(void)arg;
	/* An object of the parent process has no ordinal. */
	if (o || !(fresh || tap_thread.makes & 1u << kind))
		return o ? o->ord : 0;
	o = tap_obj_new(kind, obj, fresh);
	return o ? o->ord : 0;
}

struct tap_obj *tap_obj_remove(enum vobj kind, const void *obj, u32 ord)
{
	struct tap_obj *o = tap_obj_find(kind, obj);

	if (!o || o->ord != ord)
		return NULL;
	pthread_mutex_lock(&lock);
	tap_table_remove(o->key, o);
	tap_table_remove(o->alias, o);
	pthread_mutex_unlock(&lock);
	return o;
}

/* Objects that a program has left in a context are found again when their addresses are reused. */
void tap_obj_leave(struct tap_obj *o)
{
	struct tap_obj *of;
	u32 i;

	if (o->ctx_obj && o->ctx_obj != o)
		__atomic_fetch_sub(&o->ctx_obj->n_objects, 1, __ATOMIC_RELAXED);
	if (!load_relaxed(&o->n_objects))
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < SLOTS; i++) {
		of = table[i].key > GONE ? table[i].obj : NULL;
		if (of && of != o && of->ctx_obj == o)
			of->ctx_obj = NULL;
	}
	pthread_mutex_unlock(&lock);
}

void tap_obj_for_each(enum vobj kind, void (*fn)(struct tap_obj *))
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
void tap_obj_forget_all(void)
{
	u32 i;

	for (i = 0; table && i < SLOTS; i++)
		if (table[i].key > GONE)
			table[i].obj->ord = 0;
	memset(ordinals, 0, sizeof(ordinals));
	pthread_mutex_init(&lock, NULL);
}
