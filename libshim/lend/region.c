/* SPDX-License-Identifier: MIT */
/**
 * DOC: the registered regions, and which of their memory is lent.
 *
 * All regions are noted, lent or not: the engine of another process may write to a region's memory
 * at any moment, so pages that a region lies on, even in part, are not exchanged for another one.
 * When the table is full nothing further is lent until the regions without a place have gone.
 *
 * /proc/self/smaps decides what is lent: private anonymous mappings with no flag that a new mapping
 * would lose, but for advice about huge pages, which goes back with the memory.
 */
#include "libshim/lend/region.h"

#include "libshim/interpose/syscall.h"
#include "libshim/lend/range.h"
#include "libshim/lend/threads.h"

#include <sched.h>
#include <sys/mman.h>

#define MAX_REGIONS 1024u
#define UNNOTED	    MAX_REGIONS /* index of a region without a place in the table */
#define FLAGS_TEXT  192
#define OWN_STACK   (64u << 10) /* more than the frames of an exchange */

/* Regions that end without the lock: each at most as long, and so many. */
#define LATER_BYTES   (256u << 10)
#define LATER_REGIONS 16u

#define BUSY_TRIES 100u
#define EXIT_TRIES 10u /* where all that can end is a thread */
#define BUSY_NS	   5000000u

/**
 * struct lend_region - [addr, end). @end: 0: the entry is free
 * @lent: bytes that are lent, the others are not because of @why
 * @state: who next takes the lock frees an entry that has ended without it
 */
struct lend_region {
	u64 addr;
	u64 end;
	u64 lent;
	enum seg_lent_why why;
	u32 state;
};

enum region_state { REGION_LIVE, REGION_ENDING, REGION_ENDED };

static struct lend_region regions[MAX_REGIONS];
static u32 regions_end; /* entries from here on have never been used */
static u32 n_unnoted;
static u32 n_ended;
static u32 counts_back; /* lend_regions_count_back() runs */
static bool shares_memory; /* with a process that cannot be stopped */
static u32 generation = 1; /* of this process: a fork makes another */

/* Count a region's bytes for `rdmaemu status` (@sign 1), or no more (-1). */
static void region_count(const struct lend_region *region, s64 sign)
{
	u64 kept = region->end - region->addr - region->lent;

	lent_count((u64)sign * region->lent, region->why, (u64)sign * kept);
}

/* Its bytes are no longer counted. */
static void region_free(struct lend_region *region)
{
	u64 from = region->addr, to = region->end;

	*region = (struct lend_region){ 0 };
	lent_cache_put(from, to);
}

void lend_regions_end_noted(void)
{
	u32 i, n = load_acquire(&n_ended);

	for (i = 0; i < regions_end && n; i++) {
		if (load_acquire(&regions[i].state) != REGION_ENDED)
			continue;
		region_free(&regions[i]);
		__atomic_fetch_sub(&n_ended, 1, __ATOMIC_RELAXED);
		n--;
	}
}

/*
 * End a region without the lock, which costs system calls. Idle ranges may exceed their bounds by
 * so much. Either this thread sees that all regions are counted again, and waits, or that count
 * sees the region's state, and leaves it out.
 * Return: false: it takes the lock.
 */
static bool region_end_later(struct lend_region *region)
{
	if (region->end - region->addr > LATER_BYTES || load_relaxed(&n_ended) >= LATER_REGIONS)
		return false;
	__atomic_fetch_add(&n_ended, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&region->state, REGION_ENDING, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&counts_back, __ATOMIC_SEQ_CST))
		sched_yield();
	region_count(region, -1);
	store_release(&region->state, REGION_ENDED);
	return true;
}

static u64 page_down(u64 addr)
{
	return addr / LEND_PAGE * LEND_PAGE;
}

/* Whether a region other than @except has a byte in a page of [from, to). */
static bool is_registered(u64 from, u64 to, u32 except)
{
	u32 i;

	for (i = 0; i < regions_end; i++)
		if (i != except && regions[i].end && page_down(regions[i].addr) < to &&
		    regions[i].end > from)
			return true;
	return false;
}

bool lend_region_is_on(u64 from, u64 to)
{
	return n_unnoted || is_registered(from, to, UNNOTED);
}

/* Whether a mapping has only flags that a new one has as well, or gets again. */
static bool has_plain_flags(const char *flags)
{
	static const char plain[] = "rd wr mr mw me ac nr sd hg nh ";
	char word[4] = "";

	for (; strlen(flags) >= 3; flags += 3) {
		memcpy(word, flags, 3);
		if (!strstr(plain, word))
			return false;
	}
	return true;
}

/* The library's own variables, by the linker. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

static bool is_overlap(u64 from, u64 to, u64 other_from, u64 other_to)
{
	return from < other_to && other_from < to;
}

/*
 * The exchange itself writes to this thread's stack, down to the last frame, to errno and the
 * thread's descriptor, and to the library's variables: these stay where they are.
 */
static bool is_own_memory(u64 from, u64 to)
{
	u64 frame = (uintptr_t)__builtin_frame_address(0), variables = (uintptr_t)&errno;
	u64 thread = (uintptr_t)__builtin_thread_pointer();

	return is_overlap(from, to, frame - OWN_STACK, frame + LEND_PAGE) ||
	       is_overlap(from, to, page_down(variables), variables + LEND_PAGE) ||
	       is_overlap(from, to, page_down(thread), thread + LEND_PAGE) ||
	       is_overlap(from, to, page_down((uintptr_t)__bss_start), (uintptr_t)_end);
}

/* Lend [from, to), a part of @v. Return: 0, or -errno: not all of it is lent. */
static int mapping_lend(const struct mapping *v, const char *flags, u64 from, u64 to)
{
	int prot = PROT_READ | (v->write ? PROT_WRITE : 0), ret, err;
	struct lent_range *r = lent_range_add(from, to - from);
	u64 done;

	if (!r && !lent_cache_empty())
		r = lent_range_add(from, to - from);
	if (!r)
		return -ENOSPC;
	r->noreserve = strstr(flags, "nr ") != NULL;
	r->advice = strstr(flags, "hg ")   ? MADV_HUGEPAGE
		    : strstr(flags, "nh ") ? MADV_NOHUGEPAGE
					   : 0;
	ret = lent_pages_lend(r, prot, &done);
	if (!done) {
		lent_range_remove(r);
		return ret;
	}
	lent_range_cut(r, done);
	err = lent_range_show(r, true);
	return ret ? ret : err;
}

/* How many bytes of a region are lent. */
static u64 region_count_lent(const struct lend_region *region)
{
	u64 from, to, lent = 0;
	u32 i;

	for (i = 0; i < lent_range_count(); i++) {
		const struct lent_range *r = lent_range_at(i);

		from = r->addr > region->addr ? r->addr : region->addr;
		to = min_u64(r->addr + r->len, region->end);
		if (r->shown && from < to)
			lent += to - from;
	}
	return lent;
}

void lend_regions_count_back(void)
{
	u64 lent;
	u32 i;

	__atomic_store_n(&counts_back, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < regions_end; i++) {
		struct lend_region *region = &regions[i];

		if (!region->end || !region->lent ||
		    __atomic_load_n(&region->state, __ATOMIC_SEQ_CST) != REGION_LIVE)
			continue;
		lent = region_count_lent(region);
		if (lent == region->lent)
			continue;
		region_count(region, -1);
		region->lent = lent;
		region->why = LENT_WHY_BACK;
		region_count(region, 1);
	}
	store_release(&counts_back, 0);
}

/* Whether all of [from, to) is lent. */
static bool is_lent(u64 from, u64 to)
{
	u32 i;

	for (i = 0; i < lent_range_count() && from < to; i++) {
		const struct lent_range *r = lent_range_at(i);

		if (r->addr <= from && from < r->addr + r->len)
			from = r->addr + r->len;
	}
	return from >= to;
}

/* Why an attempt to lend failed, or @why if it did not. */
static enum seg_lent_why why_not(int err, enum seg_lent_why why)
{
	if (!err)
		return why;
	if (err == -EDQUOT)
		return LENT_WHY_COST;
	return err == -EBUSY ? LENT_WHY_THREADS : LENT_WHY_FILE;
}

/*
 * Lend what is private and anonymous of region @index's whole pages.
 * Return: why what is not lent is not.
 */
static enum seg_lent_why region_lend(u32 index)
{
	u64 from = ALIGN_UP(regions[index].addr, LEND_PAGE), to = page_down(regions[index].end);
	enum seg_lent_why why = LENT_WHY_EDGE;
	char flags[FLAGS_TEXT];
	struct mapping v;
	bool begun = false;
	struct maps m;

	if (maps_open(&m, true))
		return LENT_WHY_FILE;
	/* Exchanges change lines that were read already, not those that follow. */
	while (why != LENT_WHY_COST && maps_next(&m, &v) && maps_flags(&m, flags, sizeof(flags)) &&
	       v.from < to) {
		if (v.to <= from || lent_range_maps(&v))
			continue;
		v.from = v.from > from ? v.from : from;
		v.to = min_u64(v.to, to);
		if (v.inode || v.shared || !v.read || v.exec || !has_plain_flags(flags) ||
		    is_registered(v.from, v.to, index) || is_own_memory(v.from, v.to)) {
			why = LENT_WHY_KIND;
		} else if (begun && !lent_cost_may_go_on()) {
			why = LENT_WHY_COST;
		} else {
			why = why_not(mapping_lend(&v, flags, v.from, v.to), why);
			begun = true;
		}
	}
	maps_close(&m);
	return why;
}

static u32 region_note(u64 addr, u64 len)
{
	u32 i;

	for (i = 0; i < MAX_REGIONS; i++) {
		if (!regions[i].end) {
			regions_end = i < regions_end ? regions_end : i + 1;
			regions[i].addr = addr;
			regions[i].end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;
			return i;
		}
	}
	n_unnoted++;
	return UNNOTED;
}

/* Lend a region's memory, if anything may be lent. Return: why the rest of it is not. */
static enum seg_lent_why region_try(u32 index, bool may_lend)
{
	u64 from = ALIGN_UP(regions[index].addr, LEND_PAGE), to = page_down(regions[index].end);
	enum seg_lent_why why;

	if (!may_lend)
		return LENT_WHY_USE;
	if (from >= to || is_lent(from, to))
		return LENT_WHY_EDGE;
	if (n_unnoted || sysconf(_SC_PAGESIZE) != LEND_PAGE)
		return LENT_WHY_FILE;
	if (shares_memory || (!lend_can_stop() && !lend_is_alone()))
		return LENT_WHY_THREADS;
	if (!lent_cost_is_bearable(to - from))
		return LENT_WHY_COST;
	lent_cost_begin();
	why = lend_is_quiet() ? region_lend(index) : LENT_WHY_IO;
	lent_cost_end();
	return why;
}

u64 lend_region_add(u64 addr, u64 len, bool may_lend)
{
	int saved = errno;
	sigset_t before;
	u64 number, end;
	u32 index;

	if (!lend_is_on() || !len)
		return 0;
	lend_lock(&before);
	index = region_note(addr, len);
	end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;
	lent_cache_take(page_down(addr), end);
	lent_cache_shrink();
	/* Memory on demand is what the program has at its addresses at any time. */
	if (!may_lend)
		(void)lent_ranges_return(addr, end, true);
	if (index != UNNOTED) {
		regions[index].why = region_try(index, may_lend);
		regions[index].lent = region_count_lent(&regions[index]);
		region_count(&regions[index], 1);
	}
	number = (u64)generation << 32 | index;
	lend_unlock(&before);
	errno = saved;
	return number;
}

void lend_region_drop(u64 number)
{
	u32 index = (u32)number;
	int saved = errno;
	sigset_t before;

	if (!number || number >> 32 != generation)
		return;
	if (index != UNNOTED && region_end_later(&regions[index]))
		return;
	lend_lock(&before);
	if (index == UNNOTED) {
		n_unnoted--;
		lent_cache_put(0, UINT64_MAX);
	} else {
		region_count(&regions[index], -1);
		region_free(&regions[index]);
	}
	lent_cache_shrink();
	lend_unlock(&before);
	errno = saved;
}

int lend_give_back(u64 addr, u64 len)
{
	int saved = errno, ret;
	u32 i, tries = lend_is_asked() && lend_can_stop() ? BUSY_TRIES : EXIT_TRIES;
	sigset_t before;

	if (likely(!lent_range_count()))
		return 0;
	for (i = 0; i < tries; i++) {
		/* An allocator of the program's returns memory of its own, not registered. */
		if (!lend_lock_unless_held(&before))
			return -EDEADLK;
		ret = lent_ranges_return(addr, len > UINT64_MAX - addr ? UINT64_MAX : addr + len,
					 true);
		lend_unlock(&before);
		if (ret != -EBUSY && ret != -EAGAIN)
			break;
		sys_sleep(BUSY_NS);
	}
	errno = saved;
	return ret;
}

void lend_give_back_quiet(void)
{
	int saved = errno;
	sigset_t before;

	if (likely(!lent_range_count()) || !lend_lock_unless_held(&before))
		return;
	if (lend_is_quiet())
		(void)lend_return_all();
	lend_unlock(&before);
	errno = saved;
}

void lend_give_back_idle(void)
{
	int saved = errno;
	sigset_t before;

	if (!lent_range_count() || !lend_lock_unless_held(&before))
		return;
	(void)lent_cache_empty();
	lend_unlock(&before);
	errno = saved;
}

int lend_no_more(void)
{
	store_relaxed(&shares_memory, true);
	return 0;
}

int lend_return_all(void)
{
	return lent_ranges_return(0, UINT64_MAX, true);
}

void lend_region_forget(void)
{
	memset(regions, 0, sizeof(regions));
	regions_end = n_unnoted = n_ended = 0;
	shares_memory = false;
	generation++;
}
