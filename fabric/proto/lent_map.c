/* SPDX-License-Identifier: MIT */
/** DOC: see lent_map.h. */
#include "fabric/proto/lent_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS_TYPE 0x01021994 /* TMPFS_MAGIC of linux/magic.h; pages of hugetlbfs can run out */

int lent_file_check(int fd)
{
	/* Not through libc, whose functions the program may wrap. */
	int seals = (int)syscall(SYS_fcntl, fd, F_GET_SEALS);
	struct statfs fs;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || (seals & F_SEAL_WRITE))
		return -EINVAL;
	if (syscall(SYS_fstatfs, fd, &fs))
		return -EINVAL;
	return fs.f_type == TMPFS_TYPE ? 0 : -EINVAL;
}

bool lent_find(const struct seg_lent_table *t, u64 addr, u64 *len, u64 *off)
{
	u32 low = 0, high = min_u32(load_relaxed(&t->n), SEG_MAX_LENT), mid;
	u64 from, have;

	/* The first range after @addr. */
	while (low < high) {
		mid = (low + high) / 2;
		if (load_relaxed(&t->range[mid].addr) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low) {
		from = load_relaxed(&t->range[low - 1].addr);
		have = load_relaxed(&t->range[low - 1].len);
		if (addr >= from && addr - from < have) {
			*len = min_u64(*len, have - (addr - from));
			*off = load_relaxed(&t->range[low - 1].off) + (addr - from);
			return true;
		}
	}
	if (low < SEG_MAX_LENT && low < load_relaxed(&t->n)) {
		from = load_relaxed(&t->range[low].addr);
		if (from > addr)
			*len = min_u64(*len, from - addr);
	}
	return false;
}

u8 *lent_map_at(struct lent_map *m, const struct seg_lent_table *t, u64 addr, u64 *len,
		lent_map_fn more, void *ctx, u32 client)
{
	u64 off, size;
	void *at;

	if (!lent_find(t, addr, len, &off) || off > SEG_SIZE || *len > SEG_SIZE - off)
		return NULL;
	if (likely(off + *len <= m->map.mapped))
		return (u8 *)m->map.base + off;
	size = seg_map_size(off + *len);
	if (size == m->refused)
		return NULL;
	at = more(ctx, client, size);
	if (!at) {
		m->refused = size;
		return NULL;
	}
	seg_map_add(&m->map, at, size);
	return (u8 *)at + off;
}

void lent_map_drop(struct lent_map *m)
{
	seg_map_drop(&m->map);
	m->refused = 0;
}
