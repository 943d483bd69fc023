/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory of the program. Before the program begins, all memory that it ever registers is
 * mapped, overlapping regions as one, at the recorded addresses where these are free. For an MR of
 * the whole address space this is the memory that work requests name.
 */
#include "traces/replay/memory.h"
#include "traces/replay/atomics.h"
#include "traces/replay/identity.h"
#include "traces/replay/recv_place.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE	    4096u
#define MAX_MEMORY  (256ULL << 30)
#define MAX_REGIONS 1000000u
#define JOIN_FROM   1024u
/* For data that has arrived at the end of the record, and may still be under way here. */
#define YIELD_FIRST 64u
#define SETTLE_NS   5000000000ULL

static int region_compare(const void *a, const void *b)
{
	const struct rp_region *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Joins regions that overlap or touch. */
static size_t regions_join(struct rp_region *r, size_t n)
{
	size_t i, to = 0;
	uint64_t end;

	for (i = 1; i < n; i++) {
		end = r[i].addr + r[i].len;
		if (r[i].addr > r[to].addr + r[to].len)
			r[++to] = r[i];
		else if (end > r[to].addr + r[to].len)
			r[to].len = end - r[to].addr;
	}
	return n ? to + 1 : 0;
}

static int region_map(struct rp_region *r)
{
	const int prot = PROT_READ | PROT_WRITE,
		  flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *want = (void *)(uintptr_t)r->addr;
	void *at = mmap(want, r->len, prot, flags | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		at = mmap(NULL, r->len, prot, flags, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->delta = (int64_t)((uint64_t)(uintptr_t)at - r->addr);
	return 0;
}

/* Returns 0, or -ENOMEM. */
static int regions_add(struct rp_prog *g, uint64_t addr, uint64_t len)
{
	uint64_t start = addr & ~(uint64_t)(PAGE - 1), end = addr + len + PAGE - 1;
	struct rp_region *more;

	if (!addr || !len || end < addr)
		return 0;
	/* Work requests name the same memory repeatedly. */
	if (g->n_regions >= JOIN_FROM && !(g->n_regions & (g->n_regions - 1))) {
		rp_sort_array(g->region, g->n_regions, sizeof(*g->region), region_compare);
		g->n_regions = regions_join(g->region, g->n_regions);
	}
	more = g->n_regions < MAX_REGIONS ? vt_array_room(g->region, g->n_regions, sizeof(*more))
					  : NULL;
	if (!more)
		return -ENOMEM;
	g->region = more;
	g->region[g->n_regions++] =
		(struct rp_region){ .addr = start, .len = (end & ~(uint64_t)(PAGE - 1)) - start };
	return 0;
}

/* Adds the memory that a recorded call registered. */
static int regions_add_mr(struct rp_prog *g, const struct vt_rec *rec, struct vcall_parsed *parsed)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	struct vcall_env env = { 0 };
	const uint64_t *a = parsed->args;
	const char *line;
	uint32_t ord;
	size_t len;

	line = vt_rec_line(g->p, rec, &len);
	if (strncmp(line, "ibv_reg_mr", 10) != 0 && strncmp(line, "ibv_rereg_mr", 12) != 0)
		return 0;
	if (vcall_parse(parsed, line, len, call->fact, call->n_facts, &env))
		return 0;
	switch (parsed->call) {
	case VCALL_ibv_reg_mr:
		ord = rp_line_object(line, VOBJ_MR, " = ");
		if (ord && !a[1] && a[2] == SIZE_MAX)
			g->mr[ord].implicit = true;
		/* Fall through */
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
		return strstr(line + parsed->out, "mr") ? regions_add(g, a[1], a[2]) : 0;
	case VCALL_ibv_rereg_mr:
		return a[1] & IBV_REREG_MR_CHANGE_TRANSLATION ? regions_add(g, a[3], a[4]) : 0;
	default:
		return 0;
	}
}

/* Adds the memory that a work request names by an MR of the whole address space. */
static int regions_add_wr(void *arg, uint32_t prog, const struct vt_rec *rec,
			  const struct vt_wr *wr)
{
	struct rp_prog *g = arg;
	const struct rp_world *w = g->w;
	const struct vt_sge *sge = vt_wr_sge(wr);
	const struct rp_num *n;
	uint64_t len = 8;
	uint32_t i;
	int ret = 0;

	if (rec->kind == VT_POST_OPS)
		return 0;
	for (i = 0; i < wr->n_sge && !ret; i++) {
		len += sge[i].len;
		if (prog == g->nth && sge[i].mr < g->n_obj[VOBJ_MR] && g->mr[sge[i].mr].implicit)
			ret = regions_add(g, sge[i].addr, sge[i].len);
	}
	n = wr->rkey ? rp_num_find(w->key, w->n_key, wr->rkey, ~0u, rec->begin) : NULL;
	if (ret || !n || n->prog != g->nth || n->kind != RP_MR || !g->mr[n->ord].implicit)
		return ret;
	return regions_add(g, wr->remote_addr, len);
}

static int regions_gather(struct rp_prog *g)
{
	struct vcall_parsed *parsed = malloc(sizeof(*parsed));
	bool implicit = false;
	const struct vt_rec *rec;
	uint64_t off = 0;
	uint32_t i;
	int ret = parsed ? 0 : -ENOMEM;

	while (!ret && (rec = vt_rec_next(g->p, &off)))
		if (rec->kind == VT_CALL)
			ret = regions_add_mr(g, rec, parsed);
	free(parsed);
	for (i = 1; i < g->n_obj[VOBJ_MR]; i++)
		implicit |= g->mr[i].implicit;
	return !ret && implicit ? rp_for_each_wr(g->w, regions_add_wr, g) : ret;
}

int rp_memory_init(struct rp_prog *g, struct vt_error *err)
{
	uint64_t sum = 0;
	size_t i;
	int ret = regions_gather(g);

	if (ret) {
		snprintf(err->text, sizeof(err->text), "p%u: too many MRs for the memory here",
			 g->p->num);
		return ret;
	}
	rp_sort_array(g->region, g->n_regions, sizeof(*g->region), region_compare);
	g->n_regions = regions_join(g->region, g->n_regions);
	for (i = 0; i < g->n_regions && !ret; i++) {
		sum += g->region[i].len;
		ret = sum > MAX_MEMORY ? -ENOMEM : region_map(&g->region[i]);
	}
	if (ret)
		snprintf(err->text, sizeof(err->text), "p%u: %llu bytes of registered memory: %s",
			 g->p->num, (unsigned long long)sum, strerror(-ret));
	return ret;
}

uint64_t rp_addr_unreadable(uint64_t addr)
{
	static uint64_t page;
	void *at;

	if (!page) {
		at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		page = at == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)at;
	}
	return page + (addr & (PAGE - 1));
}

static const struct rp_region *region_find(const struct rp_prog *g, uint64_t addr)
{
	size_t low = 0, high = g->n_regions, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (addr < g->region[mid].addr)
			high = mid;
		else if (addr - g->region[mid].addr >= g->region[mid].len)
			low = mid + 1;
		else
			return &g->region[mid];
	}
	return NULL;
}

/* Whether local memory is within a region. */
static bool region_has_host(const struct rp_prog *g, const uint8_t *host, uint64_t len)
{
	size_t i;

	for (i = 0; i < g->n_regions; i++) {
		uint64_t at = g->region[i].addr + (uint64_t)g->region[i].delta;
		uint64_t off = (uint64_t)(uintptr_t)host - at;

		if (off < g->region[i].len && len <= g->region[i].len - off)
			return true;
	}
	return false;
}

/* Returns the recorded address of local memory. */
static uint64_t region_recorded_addr(const struct rp_prog *g, const uint8_t *at)
{
	size_t i;

	for (i = 0; i < g->n_regions; i++) {
		uint64_t addr = (uint64_t)(uintptr_t)at - (uint64_t)g->region[i].delta;

		if (addr - g->region[i].addr < g->region[i].len)
			return addr;
	}
	return 0;
}

uint64_t rp_addr_map(const struct rp_prog *g, uint64_t addr)
{
	const struct rp_region *r = region_find(g, addr);

	return r ? addr + (uint64_t)r->delta : addr;
}

/*
 * The record has the first contents where they were not zero. The region is registered by now: a
 * real device has pinned its pages, so they stay, and those that are zero are not written to.
 */
static void mem_clear(uint8_t *at, uint64_t len)
{
	static const uint8_t zeros[PAGE];
	uint64_t n;

	for (; len; at += n, len -= n) {
		n = PAGE - ((uintptr_t)at & (PAGE - 1));
		n = n < len ? n : len;
		if (memcmp(at, zeros, n) != 0)
			memset(at, 0, n);
	}
}

void rp_mr_bind(struct rp_prog *g, uint32_t ord, uint64_t base, uint64_t len, uint8_t *host,
		int64_t delta)
{
	struct rp_mr *mr;

	if (!ord || ord >= g->n_obj[VOBJ_MR])
		return;
	mr = &g->mr[ord];
	rp_shadow_free(g, mr);
	mr->base = base;
	mr->len = len;
	mr->grh = false;
	/*
	 * Only memory of the trace: not mapped files or device memory, and not the whole address
	 * space.
	 */
	mr->host = host && len && region_has_host(g, host, len) ? host : NULL;
	g->w->made[g->nth][RP_MR][ord].delta = delta;
	if (!mr->host || !g->w->full)
		return;
	/* Received data there is lost. */
	rp_place_written(g, region_recorded_addr(g, host), len);
	mem_clear(host, len);
	rp_shadow_find_twins(g, mr);
	mr->shadow = rp_shadow_new(g, len);
}

void rp_mr_unbind(struct rp_prog *g, uint32_t ord)
{
	if (!ord || ord >= g->n_obj[VOBJ_MR])
		return;
	rp_shadow_free(g, &g->mr[ord]);
	g->mr[ord].twin = false;
}

uint8_t *rp_mr_at(const struct rp_prog *g, uint32_t mr, uint64_t addr, uint64_t len)
{
	const struct rp_region *r;
	const struct rp_mr *m;

	if (!mr || mr >= g->n_obj[VOBJ_MR])
		return NULL;
	m = &g->mr[mr];
	if (m->implicit && !m->host) {
		r = region_find(g, addr);
		return r && len <= r->len - (addr - r->addr)
			       ? (uint8_t *)(uintptr_t)(addr + (uint64_t)r->delta)
			       : NULL;
	}
	if (!m->host || addr < m->base || addr - m->base > m->len ||
	    len > m->len - (addr - m->base))
		return NULL;
	return m->host + (addr - m->base);
}

/*
 * Whether the record knows these bytes, and memory differs from them only where data lands and the
 * record has the first contents again: the program may have restored them. With a live program
 * every difference counts, because it may send anything.
 */
static bool mem_was_restored(const struct rp_prog *g, const struct vt_mem *mem)
{
	const struct rp_mr *mr = &g->mr[mem->mr];

	return mr->shadow && !g->w->live && !mem->off && mem->len == mr->len &&
	       vt_crc(0, mr->shadow, mr->len) == mem->crc && rp_mr_differs_in_targets(g, mem->mr);
}

static bool mem_check_final(struct rp_thread *t, const struct vt_rec *rec, const uint8_t *at)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	uint64_t since = vt_now();
	unsigned int n = YIELD_FIRST;
	char want[64], got[64];
	uint32_t crc;

	__atomic_add_fetch(&t->prog->w->share->count.mems, 1, __ATOMIC_RELAXED);
	crc = vt_crc(0, at, mem->len);
	if (crc != mem->crc && mem_was_restored(t->prog, mem))
		return true;
	/* The last data may still be under way: nobody has polled for it. */
	for (; crc != mem->crc; crc = vt_crc(0, at, mem->len)) {
		if (rp_is_failed(t->prog->w))
			return false;
		if (vt_now() - since > SETTLE_NS)
			break;
		rp_wait_step(&n);
	}
	if (crc == mem->crc)
		return true;
	snprintf(want, sizeof(want), "mr%u CRC-32 %08x", mem->mr, mem->crc);
	snprintf(got, sizeof(got), "mr%u CRC-32 %08x", mem->mr, crc);
	return rp_diverge(t, rec, "memory at its end", want, got);
}

/*
 * Returns the word of a byte that only atomics have written, all of which have completed by now;
 * NULL: the program may have written it. If the program changes a word before the first atomic, the
 * word is not compared any more, unless the change fills the whole region: that is initialization.
 */
static const struct rp_word *mem_settled_word(struct rp_prog *g, const struct vt_rec *rec,
					      uint64_t off, bool changed)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	struct rp_word *word = rp_word_find(g->w, g->nth, mem->mr, g->mr[mem->mr].base + off);

	if (word && changed && word->first > rec->begin && mem->len < g->mr[mem->mr].len)
		word->settled = UINT64_MAX;
	return word && word->settled < rec->begin ? word : NULL;
}

/*
 * A recorded change was made either by the program, and then the old contents are still here, or by
 * a peer, and then memory has changed here as well. Applies to words that only atomics change:
 * other memory may have been changed by a peer and by the program since the recorder compared it
 * last.
 */
static bool mem_check_changed(struct rp_thread *t, const struct vt_rec *rec, const uint8_t *at,
			      const uint8_t *bytes)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const uint8_t *was = t->prog->mr[mem->mr].shadow + mem->off;
	const struct rp_word *word;
	bool differs = false;
	char want[96], got[96];
	uint64_t i, k = 0, off;

	for (i = 0; i < mem->len; i++) {
		word = mem_settled_word(t->prog, rec, mem->off + i, bytes[i] != was[i]);
		if (!word || differs)
			continue;
		differs = at[i] != bytes[i] && (word->sums || at[i] != was[i]);
		k = i;
	}
	if (!differs)
		return true;
	off = mem->off + k;
	snprintf(want, sizeof(want), "mr%u+%#llx: %02x", mem->mr, (unsigned long long)off,
		 bytes[k]);
	snprintf(got, sizeof(got), "mr%u+%#llx: %02x", mem->mr, (unsigned long long)off, at[k]);
	return rp_diverge(t, rec, "memory that peers change", want, got);
}

/*
 * Contents that are neither the old nor the new ones were received here early, and are now
 * overwritten. The caller holds the lock.
 */
static void mem_note_overwrite(struct rp_prog *g, const struct vt_mem *mem, const uint8_t *at,
			       const uint8_t *bytes)
{
	const uint8_t *was = g->mr[mem->mr].shadow;

	if (!memcmp(at, bytes, mem->len) || (was && !memcmp(at, was + mem->off, mem->len)))
		return;
	rp_place_written(g, region_recorded_addr(g, at), mem->len);
}

bool rp_play_mem(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const uint8_t *bytes = vt_mem_bytes(rec);
	struct rp_prog *g = t->prog;
	uint8_t *at;

	if (!mem->mr || mem->mr >= g->n_obj[VOBJ_MR])
		return rp_fail_rec(t, rec, "memory of mr%u, which is not in the trace", mem->mr);
	at = rp_mr_at(g, mem->mr, g->mr[mem->mr].base + mem->off, mem->len);
	if (!at)
		return !g->mr[mem->mr].host ||
		       rp_fail_rec(t, rec, "memory beyond the end of mr%u", mem->mr);
	if (mem->what == VT_MEM_FINAL)
		return !g->w->full || g->w->ignore_memory || rp_mr_has_grh(g, mem->mr) ||
		       __atomic_load_n(&g->w->share->count.unexpected, __ATOMIC_RELAXED) ||
		       mem_check_final(t, rec, at);
	if (!bytes)
		return true;
	if (mem->what == VT_MEM_CHANGED && g->mr[mem->mr].shadow && !g->w->ignore_memory &&
	    !mem_check_changed(t, rec, at, bytes))
		return false;
	pthread_mutex_lock(&g->lock);
	mem_note_overwrite(g, mem, at, bytes);
	if (g->mr[mem->mr].shadow)
		memcpy(g->mr[mem->mr].shadow + mem->off, bytes, mem->len);
	rp_shadow_update_twins(g, mem->mr, at, bytes, mem->len);
	if (g->mr[mem->mr].shadow && mem->what == VT_MEM_FIRST)
		memcpy(rp_mr_first_bytes(&g->mr[mem->mr]) + mem->off, bytes, mem->len);
	pthread_mutex_unlock(&g->lock);
	rp_words_put(g->w, g->nth, rec, g->mr[mem->mr].base + mem->off, at);
	return true;
}
