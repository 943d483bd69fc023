/* SPDX-License-Identifier: MIT */
/**
 * DOC: lent ranges on which no region lies any more: they are idle, and stay lent for a while.
 *
 * A program that registers memory for each transfer would pay for two exchanges of its pages each
 * time. A region that is registered on idle ranges finds its pages where they are.
 *
 * Idle memory becomes private before the program can notice (hooks.c and fork.c), when there is too
 * much of it, and when it was idle for some seconds, as soon as the program registers or
 * deregisters something. The oldest goes first.
 *
 * libc maps and unmaps memory inside malloc() and free(), and programs make system calls without
 * libc. So no hook can tell whether an idle range is still mapped, and a region that relied on one
 * that is not would have other bytes than its program. The kernel is asked each time: one ioctl(2)
 * for a mapping since Linux 6.11, and else /proc/self/maps is read.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include "libshim/interpose/syscall.h"

#define CACHE_BYTES  (128u << 20)
#define CACHE_RANGES 256u
#define CACHE_NS     (5 * 1000000000ull)
#define RETURN_TRIES 8u
#define LONG_AGO     1u
#define AGAIN_NS     (100 * 1000000ull) /* between attempts to shrink that are in vain */

static struct maps_query query = { .maps.fd = -1 };
static u64 shrink_from; /* not before that time */

static bool range_overlaps(const struct lent_range *r, u64 from, u64 to)
{
	return r->addr < to && r->addr + r->len > from;
}

/* Whether the program has all pages of a range where they were lent. */
static bool range_is_whole(const struct lent_range *r)
{
	u64 at = r->addr, end = r->addr + r->len;
	struct mapping v;

	for (; at < end; at = v.to)
		if (maps_query_at(&query, at, &v) || !lent_range_maps(&v) ||
		    v.offset + (at - v.from) != r->off + (at - r->addr))
			return false;
	return true;
}

/* Give back a range. Other threads may change its mappings while it is done. */
static int range_return(struct lent_range *r)
{
	int ret = lent_range_show(r, false);
	u32 i;

	lent_cost_begin();
	for (i = 0; i < RETURN_TRIES && !ret; i++) {
		ret = lent_pages_return(r);
		if (ret != -EAGAIN)
			break;
		ret = 0;
	}
	if (i == RETURN_TRIES)
		ret = -EAGAIN;
	if (!ret)
		lent_range_remove(r);
	lent_cost_end();
	return ret;
}

int lent_ranges_return(u64 from, u64 to, bool registered)
{
	int ret = 0, err;
	u32 i;

	/* Backwards: those after one that is removed move. */
	for (i = lent_range_count(); i-- > 0;) {
		struct lent_range *r = lent_range_at(i);

		if (!range_overlaps(r, from, to) || (!registered && !r->idle_since))
			continue;
		err = range_return(r);
		if (err)
			ret = err;
	}
	if (registered)
		lend_regions_count_back();
	return ret;
}

/* Only what is discarded changes its place: a range may be large, and threads may be busy. */
int lend_discard(u64 addr, u64 len)
{
	u64 to = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;
	int saved = errno, ret = 0;
	bool hidden = false;
	sigset_t before;
	u32 i;

	if (likely(!lent_range_count()))
		return 0;
	if (!lend_lock_unless_held(&before))
		return -EDEADLK;
	for (i = lent_range_count(); i-- > 0 && !ret;) {
		struct lent_range *r = lent_range_at(i);

		if (!range_overlaps(r, addr, to))
			continue;
		hidden |= r->shown;
		ret = lent_range_show(r, false);
		if (!ret)
			ret = lent_pages_discard(r, addr, to);
	}
	if (hidden)
		lend_regions_count_back();
	lend_unlock(&before);
	errno = saved;
	return ret;
}

/*
 * A program may unmap registered memory, and map and register other memory there, while peers still
 * use the old pages. They cannot have both: such ranges are reached as addresses from now on.
 */
void lent_cache_take(u64 from, u64 to)
{
	bool hidden = false;
	u32 i;

	for (i = lent_range_count(); i-- > 0;) {
		struct lent_range *r = lent_range_at(i);

		if (!range_overlaps(r, from, to))
			continue;
		if (r->shown && range_is_whole(r))
			r->idle_since = 0;
		else if (r->idle_since)
			(void)range_return(r);
		else if (r->shown)
			hidden |= !lent_range_show(r, false);
	}
	if (hidden)
		lend_regions_count_back();
}

void lent_cache_put(u64 from, u64 to)
{
	u64 now = sys_now();
	u32 i;

	for (i = 0; i < lent_range_count(); i++) {
		struct lent_range *r = lent_range_at(i);

		if (!range_overlaps(r, from, to) || r->idle_since ||
		    lend_region_is_on(r->addr, r->addr + r->len))
			continue;
		/* One that is large would drive all others out. */
		r->idle_since = r->shown && r->len <= CACHE_BYTES / 2 ? now : LONG_AGO;
	}
}

/* The range that is to be private next; NULL: none. */
static struct lent_range *range_next_to_return(u64 now)
{
	struct lent_range *oldest = NULL;
	u64 bytes = 0;
	u32 i, n = 0;

	for (i = 0; i < lent_range_count(); i++) {
		struct lent_range *r = lent_range_at(i);

		if (!r->idle_since)
			continue;
		n++;
		bytes += r->len;
		if (!oldest || r->idle_since < oldest->idle_since)
			oldest = r;
	}
	if (n > CACHE_RANGES || bytes > CACHE_BYTES)
		return oldest;
	return oldest && now - oldest->idle_since > CACHE_NS ? oldest : NULL;
}

/*
 * Where another thread cannot be stopped, or nothing may move, a later call goes on: each attempt
 * costs system calls.
 */
void lent_cache_shrink(void)
{
	u64 now = sys_now();
	struct lent_range *r = now < shrink_from ? NULL : range_next_to_return(now);
	bool may_move = r && lend_is_quiet() && (lend_is_alone() || !lend_signal_is_shown());

	while (r && may_move) {
		may_move = !range_return(r);
		if (!may_move)
			r->idle_since = LONG_AGO;
		else
			r = range_next_to_return(now);
	}
	if (r)
		shrink_from = now + AGAIN_NS;
}

int lent_cache_empty(void)
{
	return lend_is_quiet() ? lent_ranges_return(0, UINT64_MAX, false) : -EBUSY;
}

void lent_cache_forget(void)
{
	maps_query_close(&query);
}
