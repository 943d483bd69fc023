/* SPDX-License-Identifier: MIT */
/*
 * Reads the reports that libtap/check/report.c has written; its head has the format. A process that
 * was killed leaves no counts, and maybe half a line.
 */
#include "fabric/cli/check/found.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* struct read_file - a file: its program, and its findings in their order */
struct read_file {
	int pid;
	char program[32];
	u32 n;
	struct found *found[FOUND_MAX];
	struct found *open; /* not ended yet */
	struct found_stack *stack; /* of which frames come next */
};

static void read_frame(struct found_stack *stack, const char *text)
{
	struct found_frame *f;
	char *end;

	if (!stack || stack->n == FOUND_FRAMES)
		return;
	f = &stack->frame[stack->n];
	f->offset = strtoull(text, &end, 16);
	f->file = strdup(*end ? end + 1 : end);
	if (f->file)
		stack->n++;
}

static bool read_is_same_stack(const struct found_stack *a, const struct found_stack *b)
{
	u32 i;

	for (i = 0; i < a->n && a->n == b->n; i++)
		if (a->frame[i].offset != b->frame[i].offset ||
		    strcmp(a->frame[i].file, b->frame[i].file) != 0)
			return false;
	return a->n == b->n;
}

static struct found *read_find_same(const struct found_all *all, const struct found *f)
{
	u32 i;

	for (i = 0; i < all->n; i++) {
		struct found *g = all->found[i];

		if (g->id == f->id && g->here.n && read_is_same_stack(&g->here, &f->here) &&
		    read_is_same_stack(&g->other, &f->other))
			return g;
	}
	return NULL;
}

bool found_has(const struct found_all *all, const struct found *f)
{
	return read_find_same(all, f);
}

/* Adds a finding, or finds the same one of another process. */
static struct found *read_merge(struct found_all *all, struct found *f)
{
	struct found *same = read_find_same(all, f);

	if (same) {
		same->times++;
		free(f);
		return same;
	}
	if (all->n == FOUND_MAX) {
		all->lost = true;
		free(f);
		return NULL;
	}
	f->times = 1;
	all->found[all->n++] = f;
	return f;
}

static void read_count(struct read_file *file, const char *text)
{
	char *end;
	u64 at = strtoull(text, &end, 10), times = strtoull(end, NULL, 10);

	/* One was counted when the finding itself was read. */
	if (at < file->n && file->found[at] && times)
		file->found[at]->times += times - 1;
}

static void read_begin_finding(struct found_all *all, struct read_file *file, const char *name)
{
	int id = finding_find(name);

	file->open = id < 0 ? NULL : calloc(1, sizeof(*file->open));
	if (!file->open) {
		all->lost = true;
		return;
	}
	file->open->id = (enum finding_id)id;
	file->open->pid = file->pid;
	memcpy(file->open->program, file->program, sizeof(file->program));
	file->stack = &file->open->here;
}

/* A stack that other processes name. */
static void read_begin_shown(struct found_all *all, struct read_file *file, const char *number)
{
	struct found_shown *s = all->n_shown < FOUND_MAX ? calloc(1, sizeof(*s)) : NULL;

	file->stack = s ? &s->frames : NULL;
	if (!s)
		return;
	s->pid = file->pid;
	s->stack = (u32)strtoul(number, NULL, 10);
	all->shown[all->n_shown++] = s;
}

/* The other place of a finding is in another process. */
static void read_find_shown(const struct found_all *all, struct found *f)
{
	u32 i;

	for (i = 0; f->other_pid && i < all->n_shown; i++)
		if (all->shown[i]->pid == f->other_pid && all->shown[i]->stack == f->other_stack)
			f->other = all->shown[i]->frames;
}

static void read_line(struct found_all *all, struct read_file *file, const char *line)
{
	const char *value = strchr(line, ' ');
	struct found *f = file->open;
	char *end;

	value = value ? value + 1 : "";
	if (!strncmp(line, "program ", 8)) {
		file->pid = (int)strtol(value, &end, 10);
		snprintf(file->program, sizeof(file->program), "%s", *end ? end + 1 : end);
	} else if (!strncmp(line, "finding ", 8)) {
		read_begin_finding(all, file, value);
	} else if (!strncmp(line, "count ", 6)) {
		read_count(file, value);
	} else if (f && !strncmp(line, "text ", 5)) {
		snprintf(f->text, sizeof(f->text), "%s", value);
	} else if (!strncmp(line, "frame ", 6)) {
		read_frame(file->stack, value);
	} else if (f && !strncmp(line, "other ", 6)) {
		snprintf(f->other_title, sizeof(f->other_title), "%s", value);
		file->stack = &f->other;
	} else if (f && !strncmp(line, "remote ", 7)) {
		f->other_pid = (int)strtol(value, &end, 10);
		f->other_stack = (u32)strtoul(end, NULL, 10);
	} else if (!strncmp(line, "stack ", 6)) {
		read_begin_shown(all, file, value);
	} else if (f && !strcmp(line, "end")) {
		if (file->n < FOUND_MAX)
			file->found[file->n++] = read_merge(all, f);
		file->open = NULL;
		file->stack = NULL;
	}
}

static void read_one_file(struct found_all *all, const char *path)
{
	static struct read_file file;
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f) {
		all->lost = true;
		return;
	}
	memset(&file, 0, sizeof(file));
	while ((n = getline(&line, &size, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		read_line(all, &file, line);
	}
	all->lost |= ferror(f) || file.open;
	free(file.open);
	free(line);
	fclose(f);
}

static int read_is_report(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

void found_read(struct found_all *all, const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, read_is_report, alphasort), i;
	char path[PATH_MAX];
	u32 j;

	all->lost |= n < 0;
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		read_one_file(all, path);
		free(names[i]);
	}
	free(names);
	for (j = 0; j < all->n; j++)
		read_find_shown(all, all->found[j]);
}
