/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls of recorded programs: posts, polls that found something, events, and the control path.
 *
 * A page has the latest REPORT_CALLS of each trace. They stand on the fabric's time if each program
 * of each trace has noted it (trace/fabric_time.c), and otherwise on the time since their trace's
 * begin, which no packet has.
 */
#include "fabric/cli/report/calls.h"
#include "fabric/cli/trace/fabric_time.h"
#include "fabric/common/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PICKS (2ul * REPORT_CALLS) /* sorted out when there are so many */

#define CALL_TEXT 400u /* bytes of a line */

/** struct call_pick - a record that a page may have. @prog: index of its program in the export */
struct call_pick {
	const struct vt_rec *rec;
	u32 prog;
};

/** struct call_picks - the latest records so far, and at most as many older ones. */
struct call_picks {
	struct call_pick *pick;
	size_t n;
	u64 total;
};

/* --- which calls ------------------------------------------------------------------------------ */

static const char *call_name(const struct vt_rec *rec)
{
	switch ((enum vt_kind)rec->kind) {
	case VT_POST_SEND:
		return "ibv_post_send";
	case VT_POST_RECV:
		return "ibv_post_recv";
	case VT_POST_SRQ:
		return "ibv_post_srq_recv";
	case VT_POST_WQ:
		return "ibv_post_wq_recv";
	case VT_POST_OPS:
		return "ibv_post_srq_ops";
	case VT_WR:
		return "ibv_wr_complete";
	case VT_POLL:
		return VT_BODY(vt_poll, rec)->ex ? "ibv_start_poll" : "ibv_poll_cq";
	case VT_NOTIFY:
		return "ibv_req_notify_cq";
	case VT_CQ_EVENT:
		return "ibv_get_cq_event";
	default:
		return NULL;
	}
}

static bool call_is_wanted(const struct vt_rec *rec)
{
	return rec->kind == VT_CALL || call_name(rec);
}

/* The latest first. Numbers of the trace order the calls of all its programs. */
static int pick_compare(const void *a, const void *b)
{
	const struct call_pick *x = a, *y = b;

	return x->rec->begin < y->rec->begin ? 1 : x->rec->begin > y->rec->begin ? -1 : 0;
}

static void picks_keep_latest(struct call_picks *all)
{
	qsort(all->pick, all->n, sizeof(*all->pick), pick_compare);
	if (all->n > REPORT_CALLS)
		all->n = REPORT_CALLS;
}

static void picks_add_program(struct call_picks *all, const struct export *x, u32 prog)
{
	const struct vt_rec *rec;
	u64 off = 0;

	while ((rec = vt_rec_next(x->prog[prog].p, &off))) {
		if (!call_is_wanted(rec))
			continue;
		if (all->n == PICKS)
			picks_keep_latest(all);
		all->pick[all->n++] = (struct call_pick){ rec, prog };
		all->total++;
	}
}

/* --- what they say ---------------------------------------------------------------------------- */

static u32 call_qpn(const struct export_program *p, u32 ordinal)
{
	const struct export_qp *qp = export_qp_of(p, ordinal);

	return qp ? qp->num : 0;
}

static void call_describe_line(const struct vt_program *p, const struct vt_rec *rec,
			       const struct export_program *x, struct report_call *c, char *text)
{
	size_t len;
	const char *line = vt_rec_line(p, rec, &len), *at = line + strcspn(line, " ");
	char qp[32];

	snprintf(text, CALL_TEXT, "%.*s", (int)(CALL_TEXT - 1), *at ? at + 1 : at);
	export_line_value(line, false, "qp", qp, sizeof(qp));
	c->qpn = call_qpn(x, export_ordinal(qp, "qp"));
	if (trace_call_has_failed(line))
		c->flags |= REPORT_CALL_FAILED;
}

static void call_describe_post(const struct vt_rec *rec, const struct export_program *x,
			       struct report_call *c, char *text)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	char more[32] = "", failed[48] = "";

	c->flags |= REPORT_CALL_INTO;
	if (post->n) {
		c->wr_id = wr->wr_id;
		c->flags |= REPORT_CALL_WR;
	}
	if (rec->kind == VT_POST_SEND || rec->kind == VT_WR || rec->kind == VT_POST_RECV)
		c->qpn = call_qpn(x, post->obj);
	if (post->n > 1)
		snprintf(more, sizeof(more), ", and %u more", post->n - 1);
	if (post->ret) {
		snprintf(failed, sizeof(failed), ": %.40s", strerror(abs(post->ret)));
		c->flags |= REPORT_CALL_FAILED;
	}
	snprintf(text, CALL_TEXT, "%s, %llu bytes%s%s",
		 post->n ? trace_wr_opcode_name(rec, wr) : "nothing",
		 post->n ? (unsigned long long)trace_wr_bytes(wr) : 0ULL, more, failed);
}

/* The first completion with an error, or else the first one. */
static const struct vt_wc *call_first_wc(const struct vt_rec *rec)
{
	const struct vt_wc *wc = vt_poll_wcs(rec);
	u32 i;

	for (i = 0; i < VT_BODY(vt_poll, rec)->n; i++)
		if (wc[i].status != WCS_SUCCESS)
			return &wc[i];
	return wc;
}

static void call_describe_poll(const struct vt_rec *rec, const struct export_program *x,
			       struct report_call *c, char *text)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = call_first_wc(rec);
	char more[32] = "";

	if (!poll->n) {
		snprintf(text, CALL_TEXT, "cq%u: %d", poll->cq, poll->ret);
		c->flags |= REPORT_CALL_FAILED;
		return;
	}
	if (poll->n > 1)
		snprintf(more, sizeof(more), ", and %u more", poll->n - 1);
	c->flags |= REPORT_CALL_WR | (wc->status == WCS_SUCCESS ? 0 : REPORT_CALL_FAILED);
	c->wr_id = wc->wr_id;
	c->qpn = call_qpn(x, wc->qp);
	if (!c->qpn)
		c->qpn = wc->qp_num;
	if (wc->status == WCS_SUCCESS)
		snprintf(text, CALL_TEXT, "%s%s", trace_wc_opcode_name(wc), more);
	else
		snprintf(text, CALL_TEXT, "%s%s", ib_wc_status_name(wc->status), more);
}

static void call_describe(const struct vt_rec *rec, const struct export_program *x,
			  struct report_call *c, char *text)
{
	const struct vt_cqop *op;

	text[0] = '\0';
	if (rec->kind == VT_CALL) {
		call_describe_line(x->p, rec, x, c, text);
	} else if (vt_is_post(rec->kind)) {
		call_describe_post(rec, x, c, text);
	} else if (rec->kind == VT_POLL) {
		call_describe_poll(rec, x, c, text);
	} else {
		op = VT_BODY(vt_cqop, rec);
		snprintf(text, CALL_TEXT, "cq%u", op->cq);
		c->flags |= rec->kind == VT_NOTIFY ? REPORT_CALL_INTO : 0;
		c->flags |= op->ret ? REPORT_CALL_FAILED : 0;
	}
}

/* --- a trace ---------------------------------------------------------------------------------- */

static u64 call_time(const struct export *x, const struct hca_clock *c, u64 ns)
{
	return c->own ? hca_clock_at(c, ns) : ns - x->begin;
}

static void call_add(struct report_calls *calls, const struct export *x,
		     const struct call_pick *pick, const struct hca_clock *clock)
{
	const struct vt_rec *rec = pick->rec;
	struct report_call *c = &calls->row[calls->n];
	const char *name = call_name(rec);
	char text[CALL_TEXT];
	size_t len;
	const char *line = name ? name : vt_rec_line(x->prog[pick->prog].p, rec, &len);

	*c = (struct report_call){ .ns = call_time(x, clock, rec->t_begin), .order = calls->n };
	if (rec->t_end > rec->t_begin)
		c->took_ns = call_time(x, clock, rec->t_end) - c->ns;
	c->program = calls->n_programs + pick->prog;
	call_describe(rec, &x->prog[pick->prog], c, text);
	c->name = strings_number(&calls->strings, line, strcspn(line, " "));
	c->text = strings_number(&calls->strings, text, sizeof(text));
	calls->n++;
}

static int calls_make_room(struct report_calls *calls, size_t n)
{
	struct report_call *more = realloc(calls->row, (calls->n + n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	calls->row = more;
	return 0;
}

int report_calls_add(struct report *r, const struct vt_dir *d, struct export *x)
{
	struct report_calls *calls = &r->calls;
	struct call_picks all = { .pick = malloc(PICKS * sizeof(*all.pick)) };
	bool fabric = trace_has_fabric_time(d);
	struct hca_clock clock;
	u32 i;
	int ret = -ENOMEM;

	for (i = 0; all.pick && i < x->n_progs; i++)
		picks_add_program(&all, x, i);
	if (all.pick) {
		picks_keep_latest(&all);
		ret = calls_make_room(calls, all.n);
	}
	while (!ret && all.n--) {
		clock.own = 0;
		if (fabric)
			trace_fabric_time_read(x->prog[all.pick[all.n].prog].p, &clock);
		call_add(calls, x, &all.pick[all.n], &clock);
	}
	if (!ret) {
		calls->total += all.total;
		calls->own_time |= !fabric;
		calls->n_programs += x->n_progs;
	}
	free(all.pick);
	return ret;
}
