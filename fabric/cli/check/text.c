/* SPDX-License-Identifier: MIT */
/* Findings as text for people. */
#include "fabric/cli/check/found.h"

static void text_put_stack(const struct found_stack *stack, const char *indent)
{
	const struct found_frame *f;
	u32 i;

	for (i = 0; i < stack->n; i++) {
		f = &stack->frame[i];
		fprintf(stderr, "%s%s %s (", indent, i ? "by" : "at",
			f->function ? f->function : "?");
		if (f->source)
			fprintf(stderr, "%s:%d)\n", f->source, f->line);
		else
			fprintf(stderr, "%s+0x%llx)\n", f->file, (unsigned long long)f->offset);
	}
}

void found_print(const struct found *f, bool suppression)
{
	const struct finding_def *d = &finding_defs[f->id];

	fprintf(stderr, "rdmaemu: %s %s: %s[%d]: %s", finding_severity_name(d->severity), d->name,
		f->program, f->pid, f->text);
	if (f->times > 1)
		fprintf(stderr, " (%llu times)", (unsigned long long)f->times);
	fputc('\n', stderr);
	text_put_stack(&f->here, "    ");
	if (f->other_title[0]) {
		fprintf(stderr, "  %s\n", f->other_title);
		text_put_stack(&f->other, "    ");
	}
	fprintf(stderr, "  rule: %s\n  mend: %s\n", d->source, d->mend);
	if (suppression) {
		fputs("  suppress: ", stderr);
		suppress_put_line(stderr, f);
	}
}
