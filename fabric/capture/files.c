/* SPDX-License-Identifier: MIT */
/**
 * DOC: which file each capture writes to: no two write to the same.
 *
 * Files are compared by device and inode. The full files of a ring are found by name each time:
 * they may be removed, and their inodes reused.
 */
#include "fabric/capture/control.h"
#include "traces/formats/pcapng.h"

#include <libgen.h>
#include <stdio.h>

static bool capture_file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool capture_is_writing(const struct capture *c)
{
	return c && load_acquire(&c->state) != CAPTURE_ENDED;
}

/* Whether the file is one of the ring's full files. */
static bool capture_file_in_ring(const struct capture *c, const struct stat *st)
{
	u32 last = load_relaxed(&c->count.files), i = 1;
	char path[PATH_MAX + 16];
	struct stat there;

	if (!c->ask.ring_bytes)
		return false;
	if (c->ask.ring_files && last > c->ask.ring_files)
		i = last - c->ask.ring_files;
	for (; i <= last; i++) {
		pcapng_ring_path(c->ask.path, i, path, sizeof(path));
		if (!stat(path, &there) && capture_file_is_same(&there, st))
			return true;
	}
	return false;
}

int capture_claim_file(struct captures *all, struct capture *c, int fd, u32 *id)
{
	struct stat st;
	u32 i;

	if (fstat(fd, &st))
		return -errno;
	c->file.st_nlink = 0;
	if (!S_ISREG(st.st_mode))
		return 0;
	for (i = 0; i < CAPTURES; i++) {
		const struct capture *o = all->of[i];

		if (o == c || !capture_is_writing(o))
			continue;
		if ((o->file.st_nlink && capture_file_is_same(&o->file, &st)) ||
		    capture_file_in_ring(o, &st)) {
			*id = o->id;
			return -EBUSY;
		}
	}
	c->file = st;
	c->file.st_nlink = 1;
	return 0;
}

/* Split a path into its directory, which has to exist, and its last component. */
static bool capture_path_split(const char *path, struct stat *dir, const char **name)
{
	char copy[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(copy, sizeof(copy), "%s", path);
	if (!slash || !slash[1] || stat(dirname(copy), dir))
		return false;
	*name = slash + 1;
	return true;
}

int capture_claim_ring(struct captures *all, const struct capture *c, u32 *id)
{
	struct stat dir, o_dir;
	const char *name, *o_name;
	u32 i;

	if (!capture_path_split(c->ask.path, &dir, &name))
		return 0;
	for (i = 0; i < CAPTURES; i++) {
		const struct capture *o = all->of[i];

		if (o == c || !capture_is_writing(o) || !o->ask.ring_bytes)
			continue;
		if (capture_path_split(o->ask.path, &o_dir, &o_name) && !strcmp(o_name, name) &&
		    capture_file_is_same(&o_dir, &dir)) {
			*id = o->id;
			return -EBUSY;
		}
	}
	return 0;
}
