/* SPDX-License-Identifier: MIT */
/**
 * DOC: the lent ranges, and their places in the memory file.
 *
 * The file is sparse and grows as ranges need it; seals keep it from ever shrinking, so that no
 * process that maps it can fault. A range that ends frees its pages by a hole.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#include "fabric/proto/seg_map.h"
#include "libshim/interpose/syscall.h"

#include <sys/mman.h>

#define MAX_RANGES SEG_MAX_LENT
#define FILE_MAX   SEG_SIZE /* a process that maps it needs at most as much */

struct lent_file lent_file = { .fd = -1 };

static struct lent_range ranges[MAX_RANGES];
static u32 n_ranges;
static struct lend_client client;

void lend_set_client(const struct lend_client *c)
{
	client = c ? *c : (struct lend_client){ 0 };
	if (client.table)
		store_relaxed(&client.table->on, lend_is_on());
}

void lent_count(u64 lent, enum seg_lent_why why, u64 kept)
{
	struct seg_lent_table *t = client.table;

	if (!t)
		return;
	__atomic_fetch_add(&t->lent, lent, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->why[why], kept, __ATOMIC_RELAXED);
}

int lent_hold(void)
{
	return client.hold ? client.hold() : 0;
}

void lent_release(void)
{
	if (client.release)
		client.release();
}

u32 lent_range_count(void)
{
	return load_relaxed(&n_ranges);
}

struct lent_range *lent_range_at(u32 i)
{
	return &ranges[i];
}

/* Free pages: the next range here must find a hole where it has untouched pages. 0 or -errno. */
static int memory_file_punch(u64 off, u64 len)
{
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	return (int)SYS_RET(syscall(SYS_fallocate, lent_file.fd, mode, off, len));
}

/* Whether the file that is being made is of use: it cannot shrink, and its pages can be freed. */
static int memory_file_try(int seals)
{
	struct stat st;
	int ret = sys_fcntl(lent_file.fd, F_ADD_SEALS, seals);

	if (!ret)
		ret = sys_fstat(lent_file.fd, &st);
	if (!ret)
		ret = memory_file_punch(0, LEND_PAGE);
	if (ret)
		return ret;
	lent_file.inode = st.st_ino;
	lent_file.dev = st.st_dev;
	return 0;
}

static int memory_file_make(void)
{
	int fd = (int)SYS_RET(
		syscall(SYS_memfd_create, "rdmaemu-lent", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	int ret;

	/* There may be a descriptor later. */
	if (fd == -EMFILE || fd == -ENFILE)
		return fd;
	lent_file = (struct lent_file){ .fd = fd };
	ret = fd < 0 ? fd : memory_file_try(F_SEAL_SHRINK | F_SEAL_SEAL);
	if (ret) {
		if (fd >= 0)
			sys_close(fd);
		lent_file.fd = -1;
	} else {
		ret = lent_file.fd = client.offer ? client.offer(fd) : fd;
	}
	lent_file.useless = ret < 0;
	return ret < 0 ? ret : 0;
}

bool lent_file_is_open(void)
{
	struct stat st;

	return lent_file.fd >= 0 && !sys_fstat(lent_file.fd, &st) && st.st_dev == lent_file.dev &&
	       st.st_ino == lent_file.inode;
}

/*
 * Make the file at least @end bytes long, in the steps in which processes map it. A limit on files
 * would end the process (SIGXFSZ).
 */
static int memory_file_grow(u64 end)
{
	u64 len = seg_map_size(end);
	struct rlimit lim;
	int ret;

	if (end <= lent_file.len)
		return 0;
	if (getrlimit(RLIMIT_FSIZE, &lim) || lim.rlim_cur < len)
		return -EFBIG;
	ret = (int)SYS_RET(syscall(SYS_ftruncate, lent_file.fd, len));
	if (!ret)
		lent_file.len = len;
	return ret;
}

/* The first place of @len bytes that no range has, or FILE_MAX. */
static u64 memory_file_place(u64 len)
{
	u64 off = 0;
	u32 i;

	for (i = 0; i < n_ranges; i++) {
		if (off < ranges[i].off + ranges[i].len && ranges[i].off < off + len) {
			off = ranges[i].off + ranges[i].len;
			i = ~0u; /* from the first range again */
		}
	}
	return len <= FILE_MAX && off <= FILE_MAX - len ? off : FILE_MAX;
}

struct lent_range *lent_range_add(u64 addr, u64 len)
{
	u32 at = 0;
	u64 off;

	if (n_ranges == MAX_RANGES || len > FILE_MAX || lent_file.useless)
		return NULL;
	if (lent_file.fd < 0 ? memory_file_make() != 0 : !lent_file_is_open())
		return NULL;
	while (at < n_ranges && ranges[at].addr < addr)
		at++;
	if ((at && ranges[at - 1].addr + ranges[at - 1].len > addr) ||
	    (at < n_ranges && ranges[at].addr < addr + len))
		return NULL;
	off = memory_file_place(len);
	if (off == FILE_MAX || memory_file_grow(off + len))
		return NULL;
	memmove(&ranges[at + 1], &ranges[at], (n_ranges - at) * sizeof(*ranges));
	ranges[at] = (struct lent_range){ .addr = addr, .len = len, .off = off };
	store_relaxed(&n_ranges, n_ranges + 1);
	return &ranges[at];
}

/* A place whose pages stay would show the next range old data: then there is none. */
static void place_free(u64 off, u64 len)
{
	if (!lent_file_is_open() || memory_file_punch(off, len))
		lent_file.useless = true;
}

void lent_range_remove(struct lent_range *r)
{
	place_free(r->off, r->len);
	store_relaxed(&n_ranges, n_ranges - 1);
	memmove(r, r + 1, (size_t)((char *)&ranges[n_ranges] - (char *)r));
}

void lent_range_cut(struct lent_range *r, u64 len)
{
	if (len < r->len)
		place_free(r->off + len, r->len - len);
	r->len = len;
}

int lent_range_show(struct lent_range *r, bool on)
{
	struct seg_lent_table *t = client.table;
	u32 i, n = 0;
	int ret;

	if (r->shown == on)
		return 0;
	ret = t ? lent_hold() : -ENOTCONN;
	if (ret)
		return ret;
	r->shown = on;
	for (i = 0; i < n_ranges; i++)
		if (ranges[i].shown)
			t->range[n++] = (struct seg_lent){ .addr = ranges[i].addr,
							   .len = ranges[i].len,
							   .off = ranges[i].off };
	store_relaxed(&t->n, n);
	lent_release();
	return 0;
}

void lent_range_forget(void)
{
	store_relaxed(&n_ranges, 0);
	if (lent_file.fd >= 0)
		sys_close(lent_file.fd);
	lent_file = (struct lent_file){ .fd = -1 };
}

bool lent_range_maps(const struct mapping *v)
{
	return lent_file.fd >= 0 && v->shared && v->inode == lent_file.inode &&
	       v->dev == lent_file.dev;
}
