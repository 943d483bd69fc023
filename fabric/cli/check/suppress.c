/* SPDX-License-Identifier: MIT */
/*
 * Suppressions: lines `NAME [PLACE]`. NAME is a pattern of names of findings. PLACE is a pattern of
 * a function, a source file or a library, which any frame of the finding's stack may match.
 */
#include "fabric/cli/check/found.h"
#include "fabric/common/text_io.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUPPRESS_MAX (1u << 20) /* bytes of a file */

struct suppress_rule {
	char name[64];
	char place[256]; /* "": anywhere */
};

/* Reads a line. Return: false: it has no rule; @why is set if it should have one. */
static bool suppress_parse(char *line, struct suppress_rule *r, const char **why)
{
	char *save = NULL, *name, *place;

	*why = NULL;
	line[strcspn(line, "#")] = '\0';
	name = strtok_r(line, " \t\r\n", &save);
	place = strtok_r(NULL, " \t\r\n", &save);
	if (!name)
		return false;
	if (!finding_pattern_is_known(name))
		*why = "expected the name of a finding, as CQ:NOTIFY:LOST or QP:*";
	else if (strlen(name) >= sizeof(r->name) || (place && strlen(place) >= sizeof(r->place)) ||
		 strtok_r(NULL, " \t\r\n", &save))
		*why = "expected NAME [PLACE], PLACE a function, source file or library";
	if (*why)
		return false;
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->place, sizeof(r->place), "%s", place ? place : "");
	return true;
}

static const char *suppress_basename(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool suppress_matches_text(const struct suppress_rule *r, const char *text)
{
	return text && finding_pattern_matches(r->place, strlen(r->place), text);
}

static bool suppress_matches(const struct suppress_rule *r, const struct found *f)
{
	u32 i;

	if (!finding_pattern_matches(r->name, strlen(r->name), finding_defs[f->id].name))
		return false;
	for (i = 0; r->place[0] && i < f->here.n; i++) {
		const struct found_frame *at = &f->here.frame[i];

		if (suppress_matches_text(r, at->function) ||
		    suppress_matches_text(r, suppress_basename(at->source)) ||
		    suppress_matches_text(r, suppress_basename(at->file)))
			return true;
	}
	return !r->place[0];
}

static void suppress_mark(struct found_all *all, const struct suppress_rule *r)
{
	u32 i;

	for (i = 0; i < all->n; i++)
		if (suppress_matches(r, all->found[i]))
			all->found[i]->suppressed = true;
}

/* @all: NULL: only check the text. Return: 0, or -1 after one line on stderr. */
static int suppress_read_lines(struct found_all *all, const struct suppress_file *file)
{
	FILE *f = fmemopen(file->text, file->len, "re");
	struct suppress_rule r;
	const char *why = NULL;
	char *line = NULL;
	size_t size = 0;
	u32 at;

	if (!f)
		return print_error("--check-suppress: %s: %s", file->path, strerror(errno));
	for (at = 1; !why && getline(&line, &size, f) > 0; at++) {
		if (suppress_parse(line, &r, &why) && all)
			suppress_mark(all, &r);
		if (why)
			print_error("%s:%u: %s: %s", file->path, at, line, why);
	}
	free(line);
	fclose(f);
	return why ? -1 : 0;
}

int suppress_file_load(struct suppress_file *file, const char *path)
{
	file->path = path;
	file->text = text_input_read("--check-suppress:", path, SUPPRESS_MAX, &file->len);
	return file->text ? suppress_read_lines(NULL, file) : -1;
}

void suppress_apply(struct found_all *all, const struct suppress_file *file)
{
	if (file->text && suppress_read_lines(all, file))
		all->lost = true;
}

void suppress_put_line(FILE *out, const struct found *f)
{
	const struct found_frame *at = f->here.n ? &f->here.frame[0] : NULL;
	const char *place = !at ? "" : at->function ? at->function : suppress_basename(at->file);

	fprintf(out, "%s%s%s\n", finding_defs[f->id].name, *place ? " " : "", place);
}
