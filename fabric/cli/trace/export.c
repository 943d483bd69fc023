/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu trace export --chrome`: see export.h. */
#include "fabric/cli/trace/export.h"
#include "fabric/cli/trace/chrome.h"

#include <errno.h>
#include <stdlib.h>

/* --- names of processes and threads ----------------------------------------------------------- */

static void name_print(struct export *x, const char *what, u32 pid, u32 tid, const char *name)
{
	struct chrome_at at = { pid, tid, 0 };

	chrome_begin(x->out, 'M', "__metadata", what, &at);
	chrome_arg_text(x->out, "name", name);
	chrome_end(x->out);
}

static void names_print_queues(struct export *x, const struct export_program *p,
			       enum export_queue_kind kind, u32 tid, const char *what)
{
	char name[32];
	u32 i;

	for (i = 1; i < p->n_queues[kind]; i++) {
		if (!p->queue[kind][i].cap)
			continue;
		snprintf(name, sizeof(name), "%s%u", what, i);
		name_print(x, "thread_name", p->p->num, tid + i, name);
	}
}

static void names_print(struct export *x, const struct export_program *p)
{
	const char *node = vt_info_get(&p->p->about, "node");
	const char *pid = vt_info_get(&p->p->about, "pid");
	char name[256];
	u32 i;

	snprintf(name, sizeof(name), "%s[%s]%s%s", trace_program_name(p->p), pid ? pid : "?",
		 node ? "@" : "", node ? node : "");
	name_print(x, "process_name", p->p->num, 0, name);
	for (i = 1; i < p->n_qps; i++) {
		if (!p->qp[i].num)
			continue;
		snprintf(name, sizeof(name), "qp%u %s 0x%06x", i, p->qp[i].type, p->qp[i].num);
		name_print(x, "thread_name", p->p->num, EXPORT_TID_QP + i, name);
	}
	names_print_queues(x, p, EXPORT_SRQ, EXPORT_TID_SRQ, "srq");
	names_print_queues(x, p, EXPORT_WQ, EXPORT_TID_WQ, "wq");
	for (i = 1; i <= p->p->n_threads; i++) {
		snprintf(name, sizeof(name), "calls of thread %u", i);
		name_print(x, "thread_name", p->p->num, EXPORT_TID_THREAD + i, name);
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

static void slice_begin(struct export *x, const struct export_program *p, const struct vt_rec *rec,
			const char *name)
{
	struct chrome_at at = { p->p->num, EXPORT_TID_THREAD + rec->thread,
				rec->t_begin - x->begin };

	chrome_begin(x->out, 'X', "call", name, &at);
	chrome_duration(x->out, rec->t_end > rec->t_begin ? rec->t_end - rec->t_begin : 0);
}

static void instant_print(struct export *x, const struct export_program *p, const char *category,
			  const char *name, u32 qp, u64 ns)
{
	struct chrome_at at = { p->p->num, EXPORT_TID_QP + qp, ns - x->begin };

	chrome_begin(x->out, 'i', category, name, &at);
	chrome_member(x->out, "s", "t");
	chrome_end(x->out);
}

/* Print the new state of a queue pair, or an event about it, that a call has. */
static void call_instant(struct export *x, const struct export_program *p, const struct vt_rec *rec,
			 const char *line)
{
	char text[128], name[128];
	u32 id;

	if (!strncmp(line, "ibv_modify_qp ", 14) && strstr(line, " = 0")) {
		export_line_value(line, false, "attr.qp_state", name, sizeof(name));
		export_line_value(line, false, "qp", text, sizeof(text));
		if (name[0])
			instant_print(x, p, "state", name, export_ordinal(text, "qp"), rec->t_end);
	} else if (!strncmp(line, "ibv_get_async_event ", 20)) {
		export_line_value(line, true, "event.event_type", name, sizeof(name));
		export_line_value(line, true, "event.element", text, sizeof(text));
		if (name[0])
			instant_print(x, p, "event", name, export_ordinal(text, "qp"), rec->t_end);
	} else if (!strncmp(line, "rdma_get_cm_event ", 18)) {
		export_line_value(line, true, "event.event", name, sizeof(name));
		export_line_value(line, true, "event.id", text, sizeof(text));
		id = export_ordinal(text, "id");
		if (name[0] && id && id < p->n_ids && p->id[id].qp)
			instant_print(x, p, "cm", name, p->id[id].qp, rec->t_end);
	}
}

static void call_print(struct export *x, const struct export_program *p, const struct vt_rec *rec)
{
	size_t len;
	const char *line = vt_rec_line(p->p, rec, &len);
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " "), line);
	slice_begin(x, p, rec, name);
	chrome_arg_text(x->out, "line", line);
	chrome_end(x->out);
	call_instant(x, p, rec, line);
}

static void post_print(struct export *x, const struct export_program *p, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	char queue[24];

	trace_queue_name(rec, queue, sizeof(queue));
	slice_begin(x, p, rec, vt_kind_name(rec->kind));
	chrome_arg_text(x->out, "queue", queue);
	chrome_arg(x->out, "work requests", post->n);
	chrome_arg(x->out, "result", (u64)(u32)post->ret);
	chrome_end(x->out);
}

static void poll_print(struct export *x, const struct export_program *p, const struct vt_rec *rec)
{
	slice_begin(x, p, rec, vt_kind_name(rec->kind));
	chrome_arg(x->out, "cq", VT_BODY(vt_poll, rec)->cq);
	chrome_arg(x->out, "completions", VT_BODY(vt_poll, rec)->n);
	chrome_arg(x->out, "empty polls before", VT_BODY(vt_poll, rec)->empty);
	chrome_end(x->out);
}

/* Return: 0 or -ENOMEM */
static int record_print(struct export *x, struct export_program *p, const struct vt_rec *rec)
{
	if (vt_is_post(rec->kind)) {
		post_print(x, p, rec);
		/* Operations of tag matching have no completion that says which one it is of. */
		return rec->kind == VT_POST_OPS ? 0 : export_post(x, p, rec);
	}
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		call_print(x, p, rec);
		break;
	case VT_POLL:
		poll_print(x, p, rec);
		export_poll(x, p, rec);
		break;
	case VT_NOTIFY:
	case VT_CQ_EVENT:
	case VT_ACK:
		slice_begin(x, p, rec, vt_kind_name(rec->kind));
		chrome_arg(x->out, "cq", VT_BODY(vt_cqop, rec)->cq);
		chrome_end(x->out);
		break;
	default:
		break;
	}
	return 0;
}

/* --- the whole trace -------------------------------------------------------------------------- */

static int export_programs(struct export *x)
{
	struct export_program *p;
	const struct vt_rec *rec;
	int ret = export_scan(x);
	u64 off;
	u32 i;

	for (i = 0; i < x->n_progs && !ret; i++) {
		p = &x->prog[i];
		for (off = 0; !ret && (rec = vt_rec_next(p->p, &off));)
			ret = record_print(x, p, rec);
		export_unfinished(x, p);
		names_print(x, p);
	}
	return ret;
}

/* Return: exit status. */
static int export_dir(const struct opts *o, const struct vt_dir *d)
{
	struct export x = { .begin = ~0ULL };
	int ret;
	u32 i;

	x.prog = calloc(d->n_progs, sizeof(*x.prog));
	x.out = x.prog ? chrome_open(o->chrome) : NULL;
	if (!x.out) {
		free(x.prog);
		return 1;
	}
	for (i = 0; i < d->n_progs; i++)
		if (trace_program_is_wanted(o, &d->prog[i]))
			x.prog[x.n_progs++].p = &d->prog[i];
	ret = export_programs(&x);
	if (ret)
		print_error("trace export: %s", strerror(-ret));
	else
		export_wire(&x, d->path);
	if (chrome_close(x.out))
		ret = -EIO;
	export_free(&x);
	return ret ? 1 : 0;
}

int verb_trace_export(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct vt_dir d;
	int ret;

	(void)p;
	if (!o->chrome[0]) {
		print_error("trace export: expected --chrome FILE");
		return EXIT_USAGE;
	}
	if (trace_dir_open_one(&d, o, "trace export", argc, argv))
		return EXIT_USAGE;
	ret = export_dir(o, &d);
	vt_dir_close(&d);
	return ret;
}
