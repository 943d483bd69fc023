/* SPDX-License-Identifier: MIT */
/** DOC: a ladder as text: a line for each step, so that grep(1) finds it whole. */
#include "fabric/cli/ladder/ladder.h"
#include "fabric/common/text_io.h"

#include <string.h>

#define TEXT_TIME  13u /* columns before the first lane */
#define TEXT_LEAST 36u /* columns between two lanes */
#define TEXT_LINE  (TEXT_TIME + 2 + LADDER_LANES * 64u)

static u32 ladder_text_column(const struct ladder *l, u32 lane)
{
	return TEXT_TIME + lane * l->spacing;
}

/* A line with only the lanes. */
static void ladder_text_blank(const struct ladder *l, char line[TEXT_LINE])
{
	u32 i;

	memset(line, ' ', TEXT_LINE);
	for (i = 0; i < l->n_lanes; i++)
		line[ladder_text_column(l, i)] = '|';
	line[ladder_text_column(l, l->n_lanes - 1) + 1] = '\0';
}

static void ladder_text_head(struct ladder *l)
{
	u32 i, room, width = text_width(l->out);

	if (!l->n_lanes)
		return;
	room = width > TEXT_TIME + 1 ? width - TEXT_TIME - 1 : 0;
	l->spacing = l->n_lanes > 1 ? room / (l->n_lanes - 1) : TEXT_LEAST;
	if (l->spacing < TEXT_LEAST)
		l->spacing = TEXT_LEAST;
	if (l->spacing > 64)
		l->spacing = 64;
	fprintf(l->out, "%*s", (int)TEXT_TIME, "");
	for (i = 0; i + 1 < l->n_lanes; i++)
		fprintf(l->out, "%-*.*s", (int)l->spacing, (int)l->spacing - 1, l->lane[i]);
	fputs(l->lane[i], l->out);
	fputc('\n', l->out);
}

/* "---- label --->" between two lanes; a lost one ends in an x before the other lane. */
static void ladder_text_arrow(const struct ladder *l, const struct ladder_step *s, char *line)
{
	u32 from = ladder_text_column(l, s->from), to = ladder_text_column(l, s->to);
	u32 left = (from < to ? from : to) + 1, right = (from < to ? to : from) - 1;
	u32 room = right - left + 1, n = (u32)strlen(s->label), at;

	for (n = n > room - 6 ? room - 6 : n; n && s->label[n - 1] == ' '; n--)
		;
	if (s->lost && from < to)
		right -= 3;
	else if (s->lost)
		left += 3;
	memset(line + left, '-', right - left + 1);
	at = left + (right - left + 1 - n - 2) / 2;
	line[at] = ' ';
	memcpy(line + at + 1, s->label, n);
	line[at + 1 + n] = ' ';
	line[from < to ? right : left] = (char)(s->lost ? 'x' : from < to ? '>' : '<');
}

static void ladder_text_step(struct ladder *l, const struct ladder_step *s)
{
	u64 us = (s->ns - l->begin) / 1000, idle = ladder_idle(l, s);
	char line[TEXT_LINE];

	ladder_text_blank(l, line);
	if (idle)
		fprintf(l->out, "%*s%s  %.3f s later\n", (int)TEXT_TIME, "", line + TEXT_TIME,
			(double)idle / 1e9);
	if (s->from != s->to)
		ladder_text_arrow(l, s, line);
	else
		line[ladder_text_column(l, s->from)] = '*';
	fprintf(l->out, "%4llu.%06llu  %s", (unsigned long long)us / 1000000,
		(unsigned long long)us % 1000000, line + TEXT_TIME);
	if (s->from == s->to)
		fprintf(l->out, "  %s: %s", l->lane[s->from], s->label);
	if (s->note[0])
		fprintf(l->out, "  %s", s->note);
	fputc('\n', l->out);
}

static void ladder_text_end(struct ladder *l)
{
	(void)l;
}

const struct ladder_format ladder_text = { ladder_text_head, ladder_text_step, ladder_text_end };
