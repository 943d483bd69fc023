/* SPDX-License-Identifier: MIT */
/**
 * DOC: address handle numbers of EFA devices.
 *
 * An EFA device numbers the addresses that its address handles lead to, the same address always
 * with the same number, and names the sender of a message by it (ibv_wc.slid): programs find their
 * peers by number and QP number. Here the number is the place of the GID in a hash table of the
 * context. Pollers search it without a lock: an entry's GID is written before the entry is used,
 * and never again while it is.
 */
#include "libshim/verbs/ahn.h"

#include <stdlib.h>

#define AHN_ENTRIES 8192u /* a power of two, above twice the max_ah of the efa profile */

/** struct ahn_entry - @refs: address handles; @used: a search goes on beyond it. */
struct ahn_entry {
	u8 gid[16];
	u32 refs;
	u32 used;
};

struct shim_ahn_table {
	struct ahn_entry entry[AHN_ENTRIES];
};

static pthread_mutex_t ahn_lock = PTHREAD_MUTEX_INITIALIZER;

static u32 ahn_home(const u8 gid[16])
{
	return (u32)mix64(fnv1a(FNV1A_BASIS, gid, 16)) % AHN_ENTRIES;
}

/* The entry of a GID. *free: receives one that could become that, or AHN_ENTRIES. */
static u32 ahn_search(const struct shim_ahn_table *t, const u8 gid[16], u32 *free)
{
	u32 home = ahn_home(gid), n, i;

	*free = AHN_ENTRIES;
	for (n = 0; n < AHN_ENTRIES; n++) {
		const struct ahn_entry *e = &t->entry[i = (home + n) % AHN_ENTRIES];

		if (load_acquire(&e->refs) && !memcmp(e->gid, gid, 16))
			return i;
		if (!load_relaxed(&e->refs) && *free == AHN_ENTRIES)
			*free = i;
		if (!load_relaxed(&e->used))
			break;
	}
	return AHN_ENTRIES;
}

u16 shim_ahn_get(struct shim_context *ctx, const u8 gid[16])
{
	struct shim_ahn_table *t;
	u32 i, free;

	pthread_mutex_lock(&ahn_lock);
	t = ctx->ahn;
	if (!t) {
		t = calloc(1, sizeof(*t));
		store_release(&ctx->ahn, t);
	}
	i = t ? ahn_search(t, gid, &free) : AHN_ENTRIES;
	if (i < AHN_ENTRIES) {
		store_release(&t->entry[i].refs, t->entry[i].refs + 1);
	} else if (t && free < AHN_ENTRIES) {
		i = free;
		memcpy(t->entry[i].gid, gid, 16);
		store_relaxed(&t->entry[i].used, 1);
		store_release(&t->entry[i].refs, 1);
	}
	pthread_mutex_unlock(&ahn_lock);
	return i < AHN_ENTRIES ? (u16)i : AHN_UNKNOWN;
}

void shim_ahn_put(struct shim_context *ctx, u16 ahn)
{
	struct ahn_entry *e;

	if (ahn >= AHN_ENTRIES || !ctx->ahn)
		return;
	pthread_mutex_lock(&ahn_lock);
	e = &ctx->ahn->entry[ahn];
	if (e->refs)
		store_release(&e->refs, e->refs - 1);
	pthread_mutex_unlock(&ahn_lock);
}

u16 shim_ahn_find(const struct shim_context *ctx, const u8 gid[16])
{
	const struct shim_ahn_table *t = load_acquire(&ctx->ahn);
	u32 free, i = t ? ahn_search(t, gid, &free) : AHN_ENTRIES;

	return i < AHN_ENTRIES ? (u16)i : AHN_UNKNOWN;
}

void shim_ahn_free(struct shim_context *ctx)
{
	free(ctx->ahn);
	ctx->ahn = NULL;
}
