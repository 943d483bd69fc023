/* SPDX-License-Identifier: MIT */
/* Shadows: the recorded contents of MRs. Shadows of MRs that share memory are kept equal. */
#include "traces/replay/memory.h"
#include "traces/replay/replay.h"

#include <string.h>
#include <sys/mman.h>

#define SHADOW_MAX (256ULL << 20)

uint8_t *rp_shadow_new(struct rp_prog *g, uint64_t len)
{
	uint8_t *at;

	if (len > SHADOW_MAX - g->shadows)
		return NULL;
	at = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	g->shadows += len;
	return at;
}

void rp_shadow_free(struct rp_prog *g, struct rp_mr *mr)
{
	if (!mr->shadow)
		return;
	munmap(mr->shadow, 2 * mr->len);
	g->shadows -= mr->len;
	mr->shadow = NULL;
}

/* Recorded contents of an MR are those of all MRs that share the memory. */
void rp_shadow_update_twins(struct rp_prog *g, uint32_t mr, const uint8_t *at, const uint8_t *bytes,
			    uint64_t len)
{
	const uint8_t *from, *to;
	struct rp_mr *t;

	for (t = g->mr; g->mr[mr].twin && t < g->mr + g->n_obj[VOBJ_MR]; t++) {
		if (!t->shadow || t == &g->mr[mr])
			continue;
		from = t->host > at ? t->host : at;
		to = t->host + t->len < at + len ? t->host + t->len : at + len;
		if (from < to)
			memcpy(t->shadow + (from - t->host), bytes + (from - at),
			       (size_t)(to - from));
	}
}

void rp_shadow_find_twins(struct rp_prog *g, struct rp_mr *mr)
{
	struct rp_mr *t;

	for (t = g->mr; t < g->mr + g->n_obj[VOBJ_MR]; t++)
		if (t != mr && t->shadow && t->host < mr->host + mr->len &&
		    mr->host < t->host + t->len)
			t->twin = mr->twin = true;
}
