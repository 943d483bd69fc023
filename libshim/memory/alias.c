/* SPDX-License-Identifier: MIT */
/*
 * Shared memory that the device reaches at another address than the program.
 *
 * The checker takes rights away from pages of the program, and the device must go on using them.
 * The kernel lets nobody write to a shared mapping whose owner may not, not even through
 * /proc/PID/mem. A second mapping of the same pages has rights of its own: mremap(2) makes one of
 * any shared mapping, named or not, if it is to move none of its bytes. So a region of shared
 * memory is registered at the address of its second mapping, and requests name it by its iova, as
 * ever.
 */
#include "fabric/proto/env.h"
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/maps.h"
#include "libshim/interpose/syscall.h"
#include "libshim/memory/pages.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

static bool alias_is_wanted(void)
{
	const char *text = shim_setting(PROTO_ALIAS_ENV);

	return text && !strcmp(text, "1");
}

/* Whether one file's pages, one after the other, are mapped there shared, to read and to write. */
static bool alias_can_be(u64 from, u64 to)
{
	struct mapping v, first = { 0 };
	u64 at = from;
	struct maps m;
	bool good = true;

	if (maps_open(&m, false))
		return false;
	while (good && at < to && maps_next(&m, &v)) {
		if (v.to <= at)
			continue;
		if (at == from)
			first = v;
		good = v.from <= at && v.shared && v.read && v.write && v.inode == first.inode &&
		       v.dev == first.dev && v.offset - first.offset == v.from - first.from;
		at = v.to;
	}
	maps_close(&m);
	return good && at >= to;
}

void *shim_alias_make(u64 addr, u64 len, size_t *map_len)
{
	u64 from = addr & ~(u64)(PAGE - 1), to = (addr + len + PAGE - 1) & ~(u64)(PAGE - 1);
	void *map;

	if (!len || !alias_is_wanted() || !alias_can_be(from, to))
		return NULL;
	*map_len = to - from;
	/* It moves no bytes, so both mappings stay. Without libc, whose name is wrapped. */
	map = (void *)syscall(SYS_mremap, from, 0UL, *map_len, (long)MREMAP_MAYMOVE, 0UL);
	return map == MAP_FAILED ? NULL : map;
}
