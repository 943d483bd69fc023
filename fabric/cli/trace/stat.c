/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu trace stat`. */
#include "fabric/common/json.h"
#include "fabric/cli/trace/trace.h"

#include <stdlib.h>

/* As vt_recorded(), without its message. */
static bool trace_stat_is_recorded(const struct vt_program *p)
{
	return p->begun && p->about.n;
}

static struct json_object *trace_stat_json(const struct vt_program *p, const struct vt_sum *s)
{
	struct json_object *o = json_object_new_object(), *ops = json_object_new_object(),
			   *status = json_object_new_object(), *lat = json_object_new_object();
	u32 i;

	json_add_int(o, "program", p->num);
	json_add_str(o, "name", trace_program_name(p));
	json_object_object_add(o, "recorded", json_object_new_boolean(trace_stat_is_recorded(p)));
	json_object_object_add(o, "ended", json_object_new_boolean(p->ended));
	json_add_int(o, "threads", p->n_threads);
	json_add_int(o, "calls", s->calls);
	json_add_int(o, "failed_calls", s->failed_calls);
	json_add_int(o, "posts", s->posts);
	for (i = 0; i < ARRAY_SIZE(s->wrs); i++)
		if (s->wrs[i])
			json_add_int(ops, ib_wr_opcode_name(i), s->wrs[i]);
	json_object_object_add(o, "work_requests", ops);
	json_add_int(o, "receives_posted", s->recv_wrs);
	json_add_int(o, "bytes", s->bytes);
	json_add_int(o, "tag_operations", s->tag_ops);
	json_add_int(o, "dm_copies", s->dm_copies);
	json_add_int(o, "dm_bytes", s->dm_bytes);
	json_add_int(o, "polls", s->polls);
	json_add_int(o, "empty_polls", s->empty);
	json_add_int(o, "completions", s->wcs);
	for (i = 0; i < ARRAY_SIZE(s->status); i++)
		if (s->status[i])
			json_add_int(status, ib_wc_status_name(i), s->status[i]);
	json_object_object_add(o, "completions_by_status", status);
	json_add_int(o, "notifies", s->notifies);
	json_add_int(o, "cq_events", s->events);
	json_add_int(o, "notes", s->notes);
	json_add_int(o, "unfinished", s->unfinished);
	json_add_int(lat, "count", s->lat.n);
	if (s->lat.n) {
		json_add_int(lat, "min_ns", s->lat.min);
		json_add_int(lat, "mean_ns", s->lat.sum / s->lat.n);
		json_add_int(lat, "p50_ns", trace_latency_at(&s->lat, 500));
		json_add_int(lat, "p99_ns", trace_latency_at(&s->lat, 990));
		json_add_int(lat, "max_ns", s->lat.max);
	}
	json_object_object_add(o, "latency", lat);
	return o;
}

static void trace_stat_print(const struct vt_program *p, const struct vt_sum *s)
{
	u32 i;

	if (!trace_stat_is_recorded(p)) {
		printf("p%u %s: nothing was recorded\n", p->num, trace_program_name(p));
		return;
	}

	printf("p%u %s: %u thread%s%s\n", p->num, trace_program_name(p), p->n_threads,
	       p->n_threads == 1 ? "" : "s", p->ended ? "" : ", killed");
	printf("  calls: %llu, %llu failed\n", (unsigned long long)s->calls,
	       (unsigned long long)s->failed_calls);
	for (i = 0; i < ARRAY_SIZE(s->wrs); i++)
		if (s->wrs[i])
			printf("  %s: %llu work requests, %llu bytes\n", ib_wr_opcode_name(i),
			       (unsigned long long)s->wrs[i], (unsigned long long)s->wr_bytes[i]);
	printf("  receives: %llu posted\n", (unsigned long long)s->recv_wrs);
	if (s->tag_ops)
		printf("  tag matching: %llu operations\n", (unsigned long long)s->tag_ops);
	if (s->dm_copies)
		printf("  device memory: %llu copies, %llu bytes\n",
		       (unsigned long long)s->dm_copies, (unsigned long long)s->dm_bytes);
	for (i = 0; i < ARRAY_SIZE(s->status); i++)
		if (s->status[i])
			printf("  completions %s: %llu\n", ib_wc_status_name(i),
			       (unsigned long long)s->status[i]);
	printf("  polls: %llu with completions, %llu empty\n", (unsigned long long)s->polls,
	       (unsigned long long)s->empty);
	if (s->notifies)
		printf("  CQ events: armed %llu times, %llu events\n",
		       (unsigned long long)s->notifies, (unsigned long long)s->events);
	if (s->lat.n)
		printf("  post to completion: min %.2f us, mean %.2f us, p50 %.2f us, p99 %.2f us, "
		       "max %.2f us\n",
		       (double)s->lat.min / 1e3, (double)s->lat.sum / (double)s->lat.n / 1e3,
		       (double)trace_latency_at(&s->lat, 500) / 1e3,
		       (double)trace_latency_at(&s->lat, 990) / 1e3, (double)s->lat.max / 1e3);
	if (s->notes)
		printf("  not recorded: %llu notes, see 'rdmaemu trace show'\n",
		       (unsigned long long)s->notes);
	if (s->unfinished)
		printf("  unfinished: %llu records\n", (unsigned long long)s->unfinished);
}

int verb_trace_stat(struct opts *o, const struct fabric_paths *paths, int argc, char **argv)
{
	struct json_object *all;
	static struct vt_sum s;
	static struct vt_dir d;
	int ret = 0;
	u32 i;

	(void)paths;
	if (trace_dir_open_one(&d, o, "trace stat", argc, argv))
		return EXIT_USAGE;
	all = o->json ? json_object_new_array() : NULL;
	for (i = 0; i < d.n_progs && !ret; i++) {
		if (!trace_program_is_wanted(o, &d.prog[i]))
			continue;
		ret = trace_sum_program(&d.prog[i], &s);
		if (ret)
			break;
		if (all)
			json_object_array_add(all, trace_stat_json(&d.prog[i], &s));
		else
			trace_stat_print(&d.prog[i], &s);
	}
	if (all)
		json_print(stdout, all);
	vt_dir_close(&d);
	return ret ? print_error("trace stat: no memory"), EXIT_USAGE : 0;
}
