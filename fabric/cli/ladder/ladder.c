/* SPDX-License-Identifier: MIT */
/* See ladder.h. */
#include "fabric/cli/ladder/ladder.h"

#include <string.h>

void ladder_init(struct ladder *l, FILE *out, const struct opts *o)
{
	static const struct ladder_format *const formats[] = {
		[FORMAT_TEXT] = &ladder_text,
		[FORMAT_SVG] = &ladder_svg,
		[FORMAT_MERMAID] = &ladder_mermaid,
	};

	*l = (struct ladder){ .out = out, .format = formats[o->format] };
}

u32 ladder_lane(struct ladder *l, const char *name)
{
	u32 i;

	for (i = 0; i < l->n_lanes; i++)
		if (!strncmp(l->lane[i], name, LADDER_NAME - 1))
			return i;
	if (l->n_lanes == LADDER_LANES - 1)
		name = "others";
	if (l->n_lanes == LADDER_LANES)
		return LADDER_LANES - 1;
	snprintf(l->lane[l->n_lanes], LADDER_NAME, "%s", name);
	return l->n_lanes++;
}

/* Times of a journal need not ascend: an older entry may come after a newer one. */
static u64 ladder_gap(const struct ladder *l, u64 ns)
{
	return ns > l->last && ns - l->last > LADDER_IDLE ? ns - l->last : 0;
}

void ladder_count(struct ladder *l, u64 ns)
{
	if (!l->steps)
		l->begin = ns;
	else
		l->idles += ladder_gap(l, ns) != 0;
	if (ns < l->begin)
		l->begin = ns;
	l->last = ns;
	l->steps++;
}

void ladder_head(struct ladder *l)
{
	l->last = l->begin;
	l->format->head(l);
}

u64 ladder_idle(const struct ladder *l, const struct ladder_step *s)
{
	return l->n ? ladder_gap(l, s->ns) : 0;
}

void ladder_step(struct ladder *l, const struct ladder_step *s)
{
	l->format->step(l, s);
	l->last = s->ns;
	l->n++;
}

void ladder_end(struct ladder *l)
{
	l->format->end(l);
}
