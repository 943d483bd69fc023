/* SPDX-License-Identifier: MIT */
/* Programs of a trace in a report: work requests, completions by status, latencies by opcode. */
#include "fabric/cli/report/calls.h"
#include "fabric/cli/report/memory.h"
#include "fabric/common/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Buckets that are not empty, as the time at which they begin and the number in them. */
static struct json_object *trace_buckets(const struct vt_lat *l)
{
	struct json_object *all = json_object_new_array(), *one;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(l->bucket); i++) {
		if (!l->bucket[i])
			continue;
		one = json_object_new_array();
		json_append(one, json_object_new_int64((int64_t)trace_latency_bucket_begin(i)));
		json_append(one, json_object_new_int64((int64_t)l->bucket[i]));
		json_append(all, one);
	}
	return all;
}

static struct json_object *trace_latency(const struct vt_lat *l)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "count", l->n);
	json_add_int(o, "min_ns", l->min);
	json_add_int(o, "mean_ns", l->sum / l->n);
	json_add_int(o, "p50_ns", trace_latency_at(l, 500));
	json_add_int(o, "p99_ns", trace_latency_at(l, 990));
	json_add_int(o, "max_ns", l->max);
	json_add(o, "buckets", trace_buckets(l));
	return o;
}

static struct json_object *trace_latencies(const struct vt_sum *s)
{
	struct json_object *all = json_object_new_object();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->op_lat); i++)
		if (s->op_lat[i].n)
			json_add(all, ib_wr_opcode_name(i), trace_latency(&s->op_lat[i]));
	return all;
}

static struct json_object *trace_opcodes(const struct vt_sum *s)
{
	struct json_object *all = json_object_new_object();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->wrs); i++)
		if (s->wrs[i])
			json_add_int(all, ib_wr_opcode_name(i), s->wrs[i]);
	if (s->recv_wrs)
		json_add_int(all, "RECV", s->recv_wrs);
	return all;
}

static struct json_object *trace_statuses(const struct vt_sum *s)
{
	struct json_object *all = json_object_new_object();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->status); i++)
		if (s->status[i])
			json_add_int(all, ib_wc_status_name(i), s->status[i]);
	return all;
}

static void trace_add_info(struct json_object *o, const struct vt_program *p, const char *key)
{
	const char *value = vt_info_get(&p->about, key);

	if (value)
		json_add_str(o, key, value);
}

static struct json_object *trace_program(const struct vt_program *p, const struct vt_sum *s)
{
	struct json_object *o = json_object_new_object();

	json_add_str(o, "name", trace_program_name(p));
	trace_add_info(o, p, "pid");
	trace_add_info(o, p, "node");
	json_add(o, "ended", json_object_new_boolean(p->ended));
	json_add_int(o, "calls", s->calls);
	json_add_int(o, "failed_calls", s->failed_calls);
	json_add_int(o, "bytes", s->bytes);
	json_add(o, "work_requests", trace_opcodes(s));
	json_add(o, "completions", trace_statuses(s));
	json_add(o, "latency", trace_latencies(s));
	return o;
}

static int trace_add_memory(struct report *r, const struct vt_dir *d)
{
	struct report_memory *m = memory_make();
	u32 i;

	if (!m)
		return -ENOMEM;
	for (i = 0; i < d->n_progs; i++)
		memory_learn(m, &d->prog[i]);
	for (i = 0; i < d->n_progs; i++)
		memory_count(m, &d->prog[i]);
	report_memory_add(m, r);
	memory_free(m);
	return 0;
}

/* Return: 0 or -ENOMEM */
static int trace_add_calls(struct report *r, const struct vt_dir *d)
{
	struct export x = { .begin = ~0ULL };
	int ret = -ENOMEM;
	u32 i;

	x.prog = calloc(d->n_progs + 1, sizeof(*x.prog));
	for (i = 0; x.prog && i < d->n_progs; i++)
		x.prog[x.n_progs++].p = &d->prog[i];
	if (x.prog)
		ret = export_scan(&x);
	if (!ret)
		ret = report_calls_add(r, d, &x);
	export_free(&x);
	return ret;
}

/* The packets that `rdmaemu record --capture` has captured. Return: 0, or -1 after one line. */
static int trace_add_wire(struct report *r, const char *path)
{
	char wire[PATH_MAX];

	if (snprintf(wire, sizeof(wire), "%s/wire.pcapng", path) >= (int)sizeof(wire) ||
	    access(wire, R_OK))
		return 0;
	return report_add_capture(r, wire);
}

static void trace_add_source(struct report *r, const struct vt_dir *d, const char *path)
{
	report_add_source(r, vt_dir_is_real(d) ? "real trace" : "trace", path);
}

int report_add_trace(struct report *r, const char *path)
{
	static struct vt_sum s;
	static struct vt_dir d;
	struct vt_error err;
	int ret;
	u32 i;

	ret = vt_dir_open(&d, path, &err);
	if (ret)
		return print_error("report: %s", err.text);
	trace_add_source(r, &d, path);
	for (i = 0; i < d.n_progs && !ret; i++) {
		ret = trace_sum_program(&d.prog[i], &s);
		if (!ret)
			report_append(r, "programs", trace_program(&d.prog[i], &s));
	}
	if (!ret)
		ret = trace_add_memory(r, &d);
	if (!ret)
		ret = trace_add_calls(r, &d);
	vt_dir_close(&d);
	return ret ? print_error("report: %s", strerror(-ret)) : trace_add_wire(r, path);
}
