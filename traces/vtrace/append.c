/* SPDX-License-Identifier: MIT */
#include "traces/vtrace/append.h"
#include "traces/vtrace/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Time between the existing records and the appended ones, for a replay at the recorded pace. */
#define PAUSE_NS 1000000000u

/** struct span - the last order number of a trace, and its first and last time. */
struct span {
	uint64_t last;
	uint64_t t_first;
	uint64_t t_last;
};

static struct span vt_append_span(const struct vt_dir *d)
{
	struct span s = { .t_first = UINT64_MAX };
	const struct vt_rec *rec;
	unsigned int i;
	uint64_t off;

	for (i = 0; i < d->n_progs; i++) {
		for (off = 0; (rec = vt_rec_next(&d->prog[i], &off));) {
			s.last = rec->end > s.last ? rec->end : s.last;
			s.t_first = rec->t_begin < s.t_first ? rec->t_begin : s.t_first;
			s.t_last = rec->t_end > s.t_last ? rec->t_end : s.t_last;
		}
	}
	return s;
}

/*
 * Adds @by to all order numbers and @by_ns to all times of a data file that vt_dir_open() has
 * checked.
 */
static int vt_append_shift(const char *path, uint64_t size, uint64_t by, uint64_t by_ns,
			   struct vt_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct vt_rec *rec;
	uint64_t off;
	uint8_t *at;

	at = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		vt_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return -EIO;
	for (off = sizeof(struct vt_head); off + sizeof(*rec) <= size; off += rec->size) {
		rec = (struct vt_rec *)(at + off);
		/* An incomplete record has neither. */
		if (!rec->check)
			continue;
		rec->begin += by;
		rec->end += by;
		rec->t_begin += by_ns;
		rec->t_end += by_ns;
		vt_rec_commit(rec);
	}
	munmap(at, size);
	return 0;
}

/* Sets the shared counter, so that the next number follows the appended records. */
static int vt_append_set_order(const char *dir, uint64_t next, struct vt_error *err)
{
	struct vt_head h = {
		.magic = VT_MAGIC, .version = VT_VERSION, .order = VT_ORDER, .next = next
	};
	char path[PATH_MAX + 16];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/order", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0 || pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
		ret = vt_error_set(err, errno ? -errno : -EIO, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

static int vt_append_move(const struct vt_dir *to, const struct vt_dir *from, struct vt_error *err)
{
	char here[PATH_MAX + 32], there[PATH_MAX + 32];
	unsigned int i;

	for (i = 0; i < from->n_progs; i++) {
		snprintf(here, sizeof(here), "%s/p%u", from->path, from->prog[i].num);
		snprintf(there, sizeof(there), "%s/p%u", to->path, to->n_progs + 1 + i);
		if (rename(here, there))
			return vt_error_set(err, -errno, "%s: %s", there, strerror(errno));
	}
	return 0;
}

static int vt_append_programs(const struct vt_dir *to, const struct vt_dir *from,
			      struct vt_error *err)
{
	struct span before = vt_append_span(to), added = vt_append_span(from);
	uint64_t by_ns = before.t_last + PAUSE_NS - added.t_first;
	char path[PATH_MAX + 32];
	unsigned int i;
	int ret = 0;

	if (to->n_progs + from->n_progs > VT_MAX_PROGS)
		return vt_error_set(err, -EMFILE, "%s: expected at most %u programs", to->path,
				    VT_MAX_PROGS);
	for (i = 0; i < from->n_progs && !ret; i++) {
		snprintf(path, sizeof(path), "%s/p%u/data", from->path, from->prog[i].num);
		if (from->prog[i].size)
			ret = vt_append_shift(path, from->prog[i].size, before.last, by_ns, err);
	}
	if (!ret)
		ret = vt_append_set_order(to->path, before.last + added.last + 1, err);
	return ret ? ret : vt_append_move(to, from, err);
}

int vt_append(const char *to, const char *from, struct vt_error *err)
{
	struct vt_dir a, b;
	int ret = vt_dir_open(&a, to, err), first;

	if (ret)
		return ret;
	ret = vt_dir_open(&b, from, err);
	if (!ret) {
		first = (int)a.n_progs + 1;
		ret = vt_append_programs(&a, &b, err);
		ret = ret ? ret : first;
		vt_dir_close(&b);
	}
	vt_dir_close(&a);
	return ret;
}
