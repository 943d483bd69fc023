/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu top --batch`: samples as text, for logs. An empty line is between two of them. */
#include "fabric/cli/top/top.h"
#include "fabric/common/text_io.h"

#include <stdlib.h>
#include <time.h>

static int batch_print(const struct top_sample *s)
{
	struct top_order order = { .column = top_column_default() };
	const struct top_qp **list = calloc(s->n_qps + 1, sizeof(*list));
	u32 i, n, width = text_width(stdout);
	char line[TOP_LINE];

	if (!list)
		return -ENOMEM;
	for (i = 0; top_summary(s, i, line, sizeof(line)); i++)
		puts(line);
	top_columns_head(line, width, s->n_fabrics > 1);
	puts(line);
	n = top_select(s, &order, list);
	for (i = 0; i < n; i++) {
		top_columns_qp(line, width, s->n_fabrics > 1, list[i]);
		puts(line);
	}
	for (i = 0; i < s->n_faults; i++) {
		top_fault_line(&s->fault[i], line, sizeof(line));
		puts(line);
	}
	for (i = 0; i < s->n_journal; i++)
		printf("log %s\n", s->journal[i]);
	free(list);
	return 0;
}

static void batch_wait(u32 ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

int top_batch(struct top_source *s)
{
	struct top_sample old = { 0 }, new;
	u64 i;
	int err;

	for (i = 0; !s->o->count || i < s->o->count; i++) {
		if (i)
			batch_wait(s->o->interval_ms);
		err = top_sample_take(s, &new, i ? &old : NULL);
		/* The fabric has ended, and with it what was to be shown. */
		if (err == -EPIPE && i)
			break;
		if (err)
			return ctl_print_error(s->o, err);
		if (i)
			putchar('\n');
		if (batch_print(&new)) {
			top_sample_free(&new);
			return ctl_print_error(s->o, -ENOMEM);
		}
		top_sample_free(&old);
		old = new;
		if (fflush(stdout))
			break;
	}
	top_sample_free(&old);
	return 0;
}
