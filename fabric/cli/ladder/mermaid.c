/* SPDX-License-Identifier: MIT */
/**
 * DOC: a ladder as Mermaid's sequenceDiagram, which code hosts draw in issues and pages.
 *
 * A semicolon or the end of the line ends a statement of Mermaid, `#` begins a code of a character,
 * and `%%{` a directive, wherever it stands: they are written as such codes.
 */
#include "fabric/cli/ladder/ladder.h"
#include "fabric/common/unicode.h"

#include <string.h>

static void mermaid_print(FILE *out, const char *text)
{
	size_t n;

	for (; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (!n)
			fputs("\xef\xbf\xbd", out);
		else if ((u8)*text < ' ')
			fputc(' ', out);
		else if (strchr(";#%<>", *text))
			fprintf(out, "#%d;", *text);
		else
			fwrite(text, 1, n, out);
	}
}

static void mermaid_head(struct ladder *l)
{
	u32 i;

	fputs("sequenceDiagram\n", l->out);
	for (i = 0; i < l->n_lanes; i++) {
		fprintf(l->out, "    participant L%u as ", i);
		mermaid_print(l->out, l->lane[i]);
		fputc('\n', l->out);
	}
}

static void mermaid_note(struct ladder *l, u32 a, u32 b, const char *text)
{
	if (a == b)
		fprintf(l->out, "    Note right of L%u: ", a);
	else
		fprintf(l->out, "    Note over L%u,L%u: ", a < b ? a : b, a < b ? b : a);
	mermaid_print(l->out, text);
	fputc('\n', l->out);
}

static void mermaid_step(struct ladder *l, const struct ladder_step *s)
{
	u64 idle = ladder_idle(l, s);
	char text[64];

	if (idle) {
		snprintf(text, sizeof(text), "%.3f s later", (double)idle / 1e9);
		mermaid_note(l, 0, l->n_lanes - 1, text);
	}
	if (s->from == s->to) {
		mermaid_note(l, s->from, s->to, s->label);
	} else {
		fprintf(l->out, "    L%u%sL%u: ", s->from, s->lost ? "--x" : "->>", s->to);
		mermaid_print(l->out, s->label);
		fputc('\n', l->out);
	}
	if (s->note[0])
		mermaid_note(l, s->from, s->to, s->note);
}

static void mermaid_end(struct ladder *l)
{
	(void)l;
}

const struct ladder_format ladder_mermaid = { mermaid_head, mermaid_step, mermaid_end };
