/* SPDX-License-Identifier: MIT */
/**
 * DOC: a ladder as SVG 1.1, without scripts or fonts of its own: for pages and issues. Its colours
 * can be told apart on light and dark ground, and lost and bad steps are also dashed or bold.
 */
#include "fabric/cli/ladder/ladder.h"
#include "fabric/common/markup.h"

#define SVG_TIME  110u
#define SVG_LANE  320u
#define SVG_ROW	  22u
#define SVG_TOP	  50u
#define SVG_NOTES 620u /* for notes, right of the last lane */

static u32 svg_x(u32 lane)
{
	return SVG_TIME + SVG_LANE / 2 + lane * SVG_LANE;
}

static u64 svg_y(const struct ladder *l)
{
	return SVG_TOP + l->row * SVG_ROW;
}

static void svg_text(struct ladder *l, u64 x, u64 y, const char *attributes, const char *text)
{
	fprintf(l->out, "<text x=\"%llu\" y=\"%llu\"%s>", (unsigned long long)x,
		(unsigned long long)y, attributes);
	markup_print(l->out, text);
	fputs("</text>\n", l->out);
}

static void svg_head(struct ladder *l)
{
	u64 height = SVG_TOP + (l->steps + l->idles + 1) * SVG_ROW;
	u32 width = SVG_TIME + l->n_lanes * SVG_LANE + SVG_NOTES, i;

	fprintf(l->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%llu\" "
		"viewBox=\"0 0 %u %llu\" role=\"img\" font-family=\"monospace\" font-size=\"12\" "
		"fill=\"#777\">\n<title>Ladder of %llu steps</title>\n"
		"<defs><marker id=\"to\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" "
		"refY=\"4\" "
		"orient=\"auto\"><path d=\"M0,0 L9,4 L0,8 z\" fill=\"#2a7ab0\"/></marker></defs>\n",
		width, (unsigned long long)height, width, (unsigned long long)height,
		(unsigned long long)l->steps);
	for (i = 0; i < l->n_lanes; i++) {
		fprintf(l->out,
			"<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%llu\" stroke=\"#999\"/>\n",
			svg_x(i), SVG_TOP - 14, svg_x(i), (unsigned long long)height);
		svg_text(l, svg_x(i), SVG_TOP - 24, " text-anchor=\"middle\" font-weight=\"bold\"",
			 l->lane[i]);
	}
}

static void svg_arrow(struct ladder *l, const struct ladder_step *s)
{
	u32 from = svg_x(s->from), to = svg_x(s->to);
	const char *colour = s->lost || s->bad ? "#c8502b" : "#2a7ab0";
	char attributes[96];
	u64 y = svg_y(l);

	if (s->lost)
		to = from < to ? to - SVG_LANE / 4 : to + SVG_LANE / 4;
	fprintf(l->out, "<line x1=\"%u\" y1=\"%llu\" x2=\"%u\" y2=\"%llu\" stroke=\"%s\"%s%s/>\n",
		from, (unsigned long long)y, to, (unsigned long long)y, colour,
		s->lost ? " stroke-dasharray=\"5 3\"" : " marker-end=\"url(#to)\"",
		s->bad ? " stroke-width=\"2\"" : "");
	if (s->lost)
		svg_text(l, to, y + 4,
			 " text-anchor=\"middle\" font-weight=\"bold\" fill=\"#c8502b\"",
			 "\xc3\x97");
	snprintf(attributes, sizeof(attributes), " text-anchor=\"middle\" fill=\"%s\"", colour);
	svg_text(l, (svg_x(s->from) + svg_x(s->to)) / 2, y - 4, attributes, s->label);
}

static void svg_step(struct ladder *l, const struct ladder_step *s)
{
	u64 idle = ladder_idle(l, s);
	char text[LADDER_NAME + LADDER_LABEL];

	if (idle) {
		snprintf(text, sizeof(text), "%.3f s later", (double)idle / 1e9);
		svg_text(l, 4, svg_y(l), " font-style=\"italic\"", text);
		l->row++;
	}
	snprintf(text, sizeof(text), "%.6f", (double)(s->ns - l->begin) / 1e9);
	svg_text(l, 4, svg_y(l) + 4, "", text);
	if (s->from != s->to)
		svg_arrow(l, s);
	else
		svg_text(l, svg_x(s->from) + 6, svg_y(l) + 4,
			 s->bad ? " font-weight=\"bold\" fill=\"#c8502b\"" : "", s->label);
	if (s->note[0])
		svg_text(l, svg_x(l->n_lanes - 1) + 12, svg_y(l) + 4, "", s->note);
	l->row++;
}

static void svg_end(struct ladder *l)
{
	fputs("</svg>\n", l->out);
}

const struct ladder_format ladder_svg = { svg_head, svg_step, svg_end };
