/* SPDX-License-Identifier: MIT */
/**
 * DOC: opens a trace directory, which may still be written. Files are mapped privately;
 * vt_program_check() checks all records before any other code reads them.
 */
#include "traces/vtrace/check.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CALLS (1u << 30) /* bytes of pN/calls */

uint32_t vt_program_episode(const struct vt_program *p)
{
	const char *text = vt_info_get(&p->about, "episode");
	unsigned long n;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	n = strtoul(text, &end, 10);
	return *end || n > UINT32_MAX ? 0 : (uint32_t)n;
}

/*
 * Splits calls into lines. A last line without a newline was being written when the program was
 * killed.
 */
int vt_program_split_lines(struct vt_program *p, const char *path, struct vt_error *err)
{
	char *at = p->calls, *end;
	uint32_t n = 0;

	for (end = at; (end = strchr(end, '\n')); end++)
		n++;
	p->line = calloc(n + 1u, sizeof(*p->line));
	p->line_len = calloc(n + 1u, sizeof(*p->line_len));
	if (!p->line || !p->line_len)
		return vt_error_set(err, -ENOMEM, "%s: no memory", path);
	for (; (end = strchr(at, '\n')); at = end + 1) {
		if ((size_t)(end - at) >= VT_MAX_LINE)
			return vt_error_set(err, -EINVAL, "%s:%u: expected at most %u bytes", path,
					    p->n_lines + 1, VT_MAX_LINE);
		*end = '\0';
		p->line[p->n_lines] = at;
		p->line_len[p->n_lines++] = (uint32_t)(end - at);
	}
	if (strlen(at) != (size_t)(p->calls + p->calls_len - at))
		return vt_error_set(err, -EINVAL, "%s:%u: expected no NUL", path, p->n_lines + 1);
	return 0;
}

/* @must: the writer has got past the head. */
static int vt_program_map_data(struct vt_program *p, const char *path, bool must,
			       struct vt_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	void *at;

	if (fd < 0 && errno == ENOENT && !must)
		return 0;
	if (fd < 0)
		return vt_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		ret = vt_error_set(err, -EINVAL, "%s: expected a file", path);
	else if ((uint64_t)st.st_size > VT_MAX_DATA)
		ret = vt_error_set(err, -EFBIG, "%s: expected at most %llu bytes", path,
				   VT_MAX_DATA);
	else if ((size_t)st.st_size < sizeof(struct vt_head) && (st.st_size || must))
		ret = vt_error_set(err, -EINVAL, "%s: expected a head of %zu bytes", path,
				   sizeof(struct vt_head));
	if (!ret && st.st_size) {
		/* vt_program_check() writes to the mapping. */
		at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_NORESERVE, fd, 0);
		if (at == MAP_FAILED)
			ret = vt_error_set(err, -errno, "%s: %s", path, strerror(errno));
		else
			p->data = at;
		p->mapped = at == MAP_FAILED ? 0 : (uint64_t)st.st_size;
	}
	close(fd);
	return ret;
}

/* Older traces lack the file, and so do programs that opened no device. */
static int vt_program_read_devices(struct vt_program *p, const char *dir, struct vt_error *err)
{
	char path[PATH_MAX + 32], *text;
	size_t len;
	int ret;

	snprintf(path, sizeof(path), "%s/p%u/devices", dir, p->num);
	ret = vt_file_read_all(path, VT_DEVICES_TEXT, &text, &len, err);
	if (!text)
		return ret == -ENOENT ? 0 : ret;
	if (strlen(text) != len)
		ret = vt_error_set(err, -EINVAL, "%s: expected no NUL", path);
	else
		ret = vt_devices_parse(&p->devices, path, text, err);
	free(text);
	return ret;
}

static bool vt_program_has_file(const char *dir, const struct vt_program *p, const char *name)
{
	char path[PATH_MAX + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/p%u/%s", dir, p->num, name);
	return !stat(path, &st);
}

/*
 * A program that was killed during its first call lacks some of its files, and a program that is
 * starting creates them while this runs. The writer creates them in this order: calls, data, the
 * head in it, program, then the first record. So the existence of the later ones is tested first:
 * whatever they imply must be found afterwards.
 */
static int vt_program_open(struct vt_program *p, const char *dir, struct vt_error *err)
{
	bool has_program = vt_program_has_file(dir, p, "program"),
	     has_data = has_program || vt_program_has_file(dir, p, "data"), must;
	char path[PATH_MAX + 32];
	int ret;

	snprintf(path, sizeof(path), "%s/p%u/calls", dir, p->num);
	ret = vt_file_read_all(path, MAX_CALLS, &p->calls, &p->calls_len, err);
	if (!p->calls)
		return ret == -ENOENT && !has_data ? 0 : ret;
	ret = vt_program_split_lines(p, path, err);
	if (ret)
		return ret;
	must = has_program || p->calls_len;
	snprintf(path, sizeof(path), "%s/p%u/data", dir, p->num);
	ret = vt_program_map_data(p, path, must, err);
	if (!ret && p->data)
		ret = vt_program_check(p, path, err);
	if (ret)
		return ret;
	must |= p->size > sizeof(struct vt_head);
	if (must && !p->begun)
		return vt_error_set(err, -EINVAL, "%s: at byte 0: expected a head", path);
	snprintf(path, sizeof(path), "%s/p%u/program", dir, p->num);
	ret = vt_info_read(&p->about, path, err);
	if (ret)
		return ret == -ENOENT && !must ? 0 : ret;
	return vt_program_read_devices(p, dir, err);
}

int vt_program_is_recorded(const struct vt_dir *d, const struct vt_program *p, struct vt_error *err)
{
	if (!p->begun)
		return vt_error_set(
			err, -ENODATA,
			"%s/p%u/data: expected a head of %zu bytes: nothing was recorded of "
			"this program",
			d->path, p->num, sizeof(struct vt_head));
	if (!p->about.n)
		return vt_error_set(
			err, -ENODATA,
			"%s/p%u/program: expected 'key value' lines: nothing was recorded "
			"of this program",
			d->path, p->num);
	return 0;
}

static int vt_dir_read_info(struct vt_dir *d, struct vt_error *err)
{
	char path[PATH_MAX + 32];
	const char *version;
	int ret;

	snprintf(path, sizeof(path), "%s/trace", d->path);
	ret = vt_info_read(&d->about, path, err);
	if (ret)
		return ret;
	version = d->about.n && !strcmp(d->about.entry[0].key, "rdmaemu") ? d->about.entry[0].value
									  : "";
	if (strncmp(version, "trace ", 6) != 0)
		return vt_error_set(err, -EINVAL, "%s:1: expected 'rdmaemu trace %u'", path,
				    VT_VERSION);
	if (strtoul(version + 6, NULL, 10) != VT_VERSION)
		return vt_error_set(err, -EPROTO,
				    "%s:1: a trace of version %.16s; this reader knows version %u",
				    path, version + 6, VT_VERSION);
	return 0;
}

int vt_dir_open(struct vt_dir *d, const char *path, struct vt_error *err)
{
	char sub[PATH_MAX + 32];
	struct stat st;
	unsigned int n;
	int ret;

	memset(d, 0, sizeof(*d));
	if (strlen(path) >= PATH_MAX)
		return vt_error_set(err, -ENAMETOOLONG, "%.64s...: path too long", path);
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->prog = calloc(VT_MAX_PROGS, sizeof(*d->prog));
	if (!d->prog)
		return vt_error_set(err, -ENOMEM, "%s: no memory", path);
	ret = vt_dir_read_info(d, err);
	for (n = 1; !ret && n <= VT_MAX_PROGS; n++) {
		snprintf(sub, sizeof(sub), "%s/p%u", path, n);
		if (stat(sub, &st))
			break;
		d->prog[d->n_progs].num = n;
		ret = vt_program_open(&d->prog[d->n_progs++], path, err);
	}
	if (!ret && !d->n_progs)
		ret = vt_error_set(err, -ENOENT, "%s: no program in it (expected %s/p1)", path,
				   path);
	if (ret)
		vt_dir_close(d);
	return ret;
}

/* A name of a trace may have any bytes. */
static void name_make_printable(char *name)
{
	for (; *name; name++)
		if (!isgraph((unsigned char)*name))
			*name = '?';
}

bool vt_dir_is_real(const struct vt_dir *d)
{
	const char *real = vt_info_get(&d->about, "real");

	return real && !strcmp(real, "yes");
}

const char *vt_dir_names(const struct vt_dir *d, char *text, size_t size)
{
	const struct vt_program *p;
	const char *have;
	char name[32];
	size_t n = 0;

	*text = '\0';
	for (p = d->prog; p < d->prog + d->n_progs; p++) {
		if (n + sizeof(name) + 32 > size) {
			snprintf(text + n, size - n, ", ...");
			break;
		}
		have = vt_info_get(&p->about, "name");
		snprintf(name, sizeof(name), "%s", have ? have : "?");
		name_make_printable(name);
		n += (size_t)snprintf(text + n, size - n, "%sp%u (%s)", n ? ", " : "", p->num,
				      name);
	}
	return text;
}

void vt_dir_close(struct vt_dir *d)
{
	struct vt_program *p;

	for (p = d->prog; p && p < d->prog + d->n_progs; p++) {
		if (p->mapped)
			munmap((void *)p->data, p->mapped);
		free(p->calls);
		free(p->line);
		free(p->line_len);
		vt_info_free(&p->about);
		vt_devices_free(&p->devices);
	}
	free(d->prog);
	d->prog = NULL;
	d->n_progs = 0;
	vt_info_free(&d->about);
}
