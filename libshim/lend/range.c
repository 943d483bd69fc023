/* SPDX-License-Identifier: MIT */
/**
 * DOC: the lent ranges, and their places in the memory file.
 *
 * The file is sparse and grows as ranges need it; seals keep it from ever shrinking, so that no
 * process that maps it can fault. A range that ends frees its pages by a hole.
 */
#include "libshim/lend/range.h"

#include "libshim/interpose/syscall.h"

#include <sys/mman.h>

#define MAX_RANGES 1024u
#define FILE_MAX   (256ull << 30) /* bytes: what a process that maps it whole needs at most */
#define FILE_STEP  (64ull << 20)

struct lent_file lent_file = { .fd = -1 };

static struct lent_range ranges[MAX_RANGES];
static u32 n_ranges;

u32 lent_range_count(void)
{
	return load_relaxed(&n_ranges);
}

struct lent_range *lent_range_at(u32 i)
{
	return &ranges[i];
}

static int memory_file_make(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_SEAL;
	struct stat st;
	int fd = (int)SYS_RET(
		syscall(SYS_memfd_create, "rdmaemu-lent", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	int ret;

	if (fd < 0)
		return fd;
	ret = sys_fcntl(fd, F_ADD_SEALS, seals);
	if (!ret)
		ret = sys_fstat(fd, &st);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	lent_file = (struct lent_file){ .fd = fd, .inode = st.st_ino, .dev = st.st_dev };
	return 0;
}

/* Make the file at least @end bytes long. A limit on files would end the process (SIGXFSZ). */
static int memory_file_grow(u64 end)
{
	u64 len = ALIGN_UP(end, FILE_STEP);
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
	struct lent_range *r = &ranges[n_ranges];
	u64 off;

	if (n_ranges == MAX_RANGES || len > FILE_MAX)
		return NULL;
	if (lent_file.fd < 0 && memory_file_make())
		return NULL;
	off = memory_file_place(len);
	if (off == FILE_MAX || memory_file_grow(off + len))
		return NULL;
	*r = (struct lent_range){ .addr = addr, .len = len, .off = off };
	store_relaxed(&n_ranges, n_ranges + 1);
	return r;
}

/* Free pages: the next range here must find a hole where it has untouched pages. 0 or -errno. */
static int memory_file_punch(u64 off, u64 len)
{
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	return (int)SYS_RET(syscall(SYS_fallocate, lent_file.fd, mode, off, len));
}

void lent_range_remove(u32 i)
{
	/* Otherwise the place stays taken. With no address, nothing is mapped there. */
	if (memory_file_punch(ranges[i].off, ranges[i].len)) {
		ranges[i].addr = 0;
		return;
	}
	store_relaxed(&n_ranges, n_ranges - 1);
	ranges[i] = ranges[n_ranges];
}

void lent_range_cut(struct lent_range *r, u64 len)
{
	if (len < r->len && !memory_file_punch(r->off + len, r->len - len))
		r->len = len;
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
