/* SPDX-License-Identifier: MIT */
/** DOC: what the files of this folder share: ranges, pages, the lock. */
#ifndef LIBSHIM_LEND_RANGE_H
#define LIBSHIM_LEND_RANGE_H

#include "emulator/seg.h"
#include "libshim/interpose/maps.h"

#define LEND_PAGE 4096u

/**
 * struct lent_range - addresses whose pages lie in the memory file, one after the other.
 * @off: in the file
 * @noreserve: how the private mapping was made
 * @advice: what the program asked for about huge pages there: MADV_HUGEPAGE, MADV_NOHUGEPAGE, or 0
 * @shown: it is in the client's table: other processes copy to and from the file
 * @idle_since: when the last region on it has ended; 0: one lies on it
 *
 * The program may have unmapped, or replaced, any part of it: /proc/self/maps tells.
 */
struct lent_range {
	u64 addr;
	u64 len;
	u64 off;
	u64 idle_since;
	int advice;
	bool noreserve;
	bool shown;
};

/**
 * struct lent_file - the process's memory file.
 * @fd: -1: not made yet
 * @useless: nothing more is lent: the fabric process has not taken it, or holes cannot be made
 */
struct lent_file {
	int fd;
	bool useless;
	u64 len;
	u64 inode;
	dev_t dev;
};

/* --- region.c --- */

/** lend_region_is_on() - whether a region may have a byte in a page of [from, to). Lock held. */
bool lend_region_is_on(u64 from, u64 to);
/** lend_regions_count_back() - count the regions again that have lost lent ranges. Lock held. */
void lend_regions_count_back(void);
/** lend_regions_end_noted() - end the regions that ended without the lock, which is held now. */
void lend_regions_end_noted(void);
/** lend_region_forget() - in a forked child: no region is this process's. Lock held. */
void lend_region_forget(void);
/** lend_return_all() - make all ranges private again. Lock held. Return: 0 or -errno. */
int lend_return_all(void);

/* --- cache.c; lock held --- */

/**
 * lent_ranges_return() - make ranges that overlap [from, to) private again.
 * @registered: also those that a region lies on
 * Return: 0, or -errno: some are still lent.
 */
int lent_ranges_return(u64 from, u64 to, bool registered);
/**
 * lent_cache_take() - before a region is registered on [from, to): the ranges there are in use, as
 * far as the program still has their pages.
 */
void lent_cache_take(u64 from, u64 to);
/** lent_cache_put() - a region on [from, to) has ended: ranges that no other lies on are idle. */
void lent_cache_put(u64 from, u64 to);
/** lent_cache_shrink() - make ranges private that have been idle for long, or are too many. */
void lent_cache_shrink(void);
/**
 * lent_cache_empty() - make idle ranges private again, unless something else writes to memory.
 * Return: 0, or -errno: some are still lent.
 */
int lent_cache_empty(void);
/** lent_cache_forget() - in a forked child. */
void lent_cache_forget(void);

/* --- range.c; lock held --- */

extern struct lent_file lent_file;

/** lent_range_count() - how many ranges are lent. Without the lock: whether any is. */
u32 lent_range_count(void);
struct lent_range *lent_range_at(u32 i);
/**
 * lent_range_add() - find a place of @len bytes in the file. Ranges are in the order of addresses.
 * Return: NULL: no room, no file, or another range has some of the addresses.
 */
struct lent_range *lent_range_add(u64 addr, u64 len);
/** lent_range_remove() - free the place in the file, and its pages. */
void lent_range_remove(struct lent_range *r);
/** lent_range_cut() - free the end of a range's place: only its first @len bytes are lent. */
void lent_range_cut(struct lent_range *r, u64 len);
/**
 * lent_range_show() - make other processes copy to and from the file (@on), or this process's
 * addresses. Return: 0 or -errno.
 */
int lent_range_show(struct lent_range *r, bool on);
/**
 * lent_count() - add to the bytes of regions that are lent, and to those that are not for a reason;
 * what is subtracted is its negative. The lock is not needed.
 */
void lent_count(u64 lent, enum seg_lent_why why, u64 kept);
/** lent_hold() - keep other processes from copying. Return: 0 or -errno. */
int lent_hold(void);
void lent_release(void);
/** lent_file_is_open() - whether the descriptor still is the file's: the program may close any. */
bool lent_file_is_open(void);
/** lent_range_forget() - in a forked child: no range, no file. */
void lent_range_forget(void);
/** lent_range_maps() - whether @v shows pages of the file. */
bool lent_range_maps(const struct mapping *v);

/* --- pages.c; lock held --- */

/**
 * lent_pages_lend() - exchange the private pages of a range for pages of the file, in steps.
 * @prot: of the mapping
 * @done: receives how many bytes, from the start, lie in the file now
 * Return: 0, or -errno: not all. -EBUSY: because of another thread; -EDQUOT: it takes too long
 */
int lent_pages_lend(const struct lent_range *r, int prot, u64 *done);
/**
 * lent_pages_return() - exchange what is still mapped of a range for private pages.
 * Return: 0 or -errno: a part is still mapped from the file. -EBUSY: because of another thread;
 * -EAGAIN: another thread changed the mappings meanwhile
 */
int lent_pages_return(const struct lent_range *r);

/** lent_pages_discard() - map private pages in place of a range's in [from, to). 0 or -errno. */
int lent_pages_discard(const struct lent_range *r, u64 from, u64 to);

/* --- cost.c; lock held --- */

/** lent_cost_begin() - before pages are exchanged; lent_cost_end() follows. They may be nested. */
void lent_cost_begin(void);
void lent_cost_end(void);
/** lent_cost_is_bearable() - whether the program would not notice that @bytes are exchanged. */
bool lent_cost_is_bearable(u64 bytes);
/** lent_cost_may_go_on() - the same for the rest, after lent_cost_begin() and a step. */
bool lent_cost_may_go_on(void);
/** lent_cost_forget() - in a forked child. */
void lent_cost_forget(void);

/* --- quiet.c --- */

/** lend_is_alone() - whether the process has no thread but this one and the shim's. */
bool lend_is_alone(void);
/**
 * lend_is_quiet() - whether it has nothing through which the kernel, or a device, may write to
 * memory at any time: io_uring, AIO, drivers.
 */
bool lend_is_quiet(void);

#endif
