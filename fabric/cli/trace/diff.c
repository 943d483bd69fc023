/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace diff`.
 *
 * Each trace is split into sequences whose order is the same in every run: the lines of a thread,
 * the posts to a queue, the completions of one side of a QP. How the sequences interleave and how
 * polls were grouped may differ, and so may addresses, keys, numbers and wr_id (often an address).
 */
#include "fabric/common/json.h"
#include "fabric/cli/trace/trace.h"

#include <errno.h>
#include <stdlib.h>

#define SHOWN 10u /* differences to print */

enum part_kind {
	PART_LINE,
	PART_POST,
	PART_WC,
	PART_MEM,
};

/** struct part - an element of a sequence. @key: names the sequence; @n: its place there */
struct part {
	u64 key;
	u64 n;
	const struct vt_rec *rec;
	const void *what; /* struct vt_wr, vt_wc */
};

struct parts {
	struct part *part;
	size_t n, cap;
};

static int trace_diff_add_part(struct parts *p, enum part_kind kind, u32 a, u32 b,
			       const struct vt_rec *rec, const void *what)
{
	void *more;

	if (p->n == p->cap) {
		more = realloc(p->part, (p->cap + 1024) * 2 * sizeof(*p->part));
		if (!more)
			return -ENOMEM;
		p->part = more;
		p->cap = (p->cap + 1024) * 2;
	}
	p->part[p->n] = (struct part){
		.key = (u64)kind << 56 | (u64)a << 32 | b, .n = p->n, .rec = rec, .what = what
	};
	p->n++;
	return 0;
}

static int trace_diff_add_post(struct parts *p, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	u32 kind = vt_is_send(rec->kind) ? VT_POST_SEND : rec->kind, i;
	int ret = 0;

	for (i = 0; i < post->n && !ret; i++, wr = vt_wr_next(wr))
		ret = trace_diff_add_part(p, PART_POST, kind, post->obj, rec, wr);
	return ret;
}

static int trace_diff_add_rec(struct parts *p, const struct vt_rec *rec, bool data)
{
	const struct vt_wc *wc;
	int ret = 0;
	u32 i;

	if (vt_is_post(rec->kind))
		return trace_diff_add_post(p, rec);
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		return trace_diff_add_part(p, PART_LINE, 0, rec->thread, rec, NULL);
	case VT_POLL:
		for (i = 0, wc = vt_poll_wcs(rec); i < VT_BODY(vt_poll, rec)->n && !ret; i++)
			ret = trace_diff_add_part(
				p, PART_WC, wc[i].status == WCS_SUCCESS && wc[i].opcode & WCO_RECV,
				wc[i].qp, rec, &wc[i]);
		return ret;
	case VT_MEM:
		return data && VT_BODY(vt_mem, rec)->what == VT_MEM_FINAL
			       ? trace_diff_add_part(p, PART_MEM, 0, VT_BODY(vt_mem, rec)->mr, rec,
						     NULL)
			       : 0;
	default:
		return 0;
	}
}

static int trace_diff_by_key(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static int trace_diff_split(struct parts *p, const struct vt_program *prog, bool data)
{
	const struct vt_rec *rec;
	u64 off = 0;
	int ret = 0;

	while (!ret && (rec = vt_rec_next(prog, &off)))
		ret = trace_diff_add_rec(p, rec, data);
	if (p->n)
		qsort(p->part, p->n, sizeof(*p->part), trace_diff_by_key);
	return ret;
}

/* The text of an element without what may differ: equal elements have equal texts. */
static void trace_diff_part_text(const struct vt_program *p, const struct part *x, bool data,
				 char *text, size_t size)
{
	const struct vt_mem *mem;
	const struct vt_wr *wr = x->what;
	const struct vt_wc *wc = x->what;
	char queue[24];
	size_t len;

	switch ((enum part_kind)(x->key >> 56)) {
	case PART_LINE:
		snprintf(text, size, "%s", vt_rec_line(p, x->rec, &len));
		break;
	case PART_POST:
		trace_queue_name(x->rec, queue, sizeof(queue));
		snprintf(text, size, "%s %s %llu bytes, %u entries, send_flags=%#x imm=%#x", queue,
			 trace_wr_opcode_name(x->rec, wr), (unsigned long long)trace_wr_bytes(wr),
			 wr->n_sge, wr->send_flags, wr->opcode == WR_SEND_WITH_INV ? 0 : wr->imm);
		len = strlen(text);
		if (data && wr->flags & VT_WR_CRC)
			snprintf(text + len, size - len, " payload crc=%08x", wr->crc);
		break;
	case PART_WC:
		snprintf(text, size, "qp%u %s %s byte_len=%u imm=%#x wc_flags=%#x", wc->qp,
			 ib_wc_status_name(wc->status), trace_wc_opcode_name(wc),
			 wc->status == WCS_SUCCESS ? wc->byte_len : 0,
			 wc->wc_flags & WCF_WITH_IMM ? wc->imm : 0, wc->wc_flags);
		len = strlen(text);
		if (data && wc->flags & VT_WC_CRC)
			snprintf(text + len, size - len, " payload crc=%08x", wc->crc);
		break;
	case PART_MEM:
		mem = VT_BODY(vt_mem, x->rec);
		snprintf(text, size, "mr%u %llu bytes crc=%08x", mem->mr,
			 (unsigned long long)mem->len, mem->crc);
	}
}

/** struct diff - a comparison of two programs. */
struct diff {
	const struct vt_program *a, *b;
	struct json_object *json;
	bool data;
	u32 found;
};

static void trace_diff_side_text(const struct vt_program *p, const struct part *x, bool data,
				 char *place, char *text)
{
	if (!x) {
		place[0] = '\0';
		snprintf(text, VT_MAX_LINE, "nothing");
		return;
	}
	vt_rec_place(p, x->rec, place, 64);
	trace_diff_part_text(p, x, data, text, VT_MAX_LINE);
}

/* Count a difference. Only the first ones are printed. */
static void trace_diff_print(struct diff *d, const char *at_a, const char *a, const char *at_b,
			     const char *b)
{
	struct json_object *o;

	if (++d->found > SHOWN)
		return;
	if (d->json) {
		o = json_object_new_object();
		json_add_str(o, "place_a", at_a);
		json_add_str(o, "a", a);
		json_add_str(o, "place_b", at_b);
		json_add_str(o, "b", b);
		json_object_array_add(d->json, o);
	} else {
		printf("- %s: %s\n+ %s: %s\n", *at_a ? at_a : "-", a, *at_b ? at_b : "-", b);
	}
}

/* Return: whether they are the same. */
static bool trace_diff_is_same(struct diff *d, const struct part *x, const struct part *y)
{
	static char a[VT_MAX_LINE], b[VT_MAX_LINE];
	char at_a[64], at_b[64];

	trace_diff_side_text(d->a, x, d->data, at_a, a);
	trace_diff_side_text(d->b, y, d->data, at_b, b);
	if (x && y && !strcmp(a, b))
		return true;
	trace_diff_print(d, at_a, a, at_b, b);
	return false;
}

/* The first difference of each sequence. */
static void trace_diff_parts(struct diff *d, const struct parts *a, const struct parts *b)
{
	size_t i = 0, j = 0;
	u64 key;

	while (i < a->n || j < b->n) {
		if (j == b->n || (i < a->n && a->part[i].key < b->part[j].key)) {
			key = a->part[i].key;
			trace_diff_is_same(d, &a->part[i], NULL);
		} else if (i == a->n || b->part[j].key < a->part[i].key) {
			key = b->part[j].key;
			trace_diff_is_same(d, NULL, &b->part[j]);
		} else {
			key = a->part[i].key;
			if (trace_diff_is_same(d, &a->part[i], &b->part[j])) {
				i++;
				j++;
				continue;
			}
		}
		while (i < a->n && a->part[i].key == key)
			i++;
		while (j < b->n && b->part[j].key == key)
			j++;
	}
}

static int trace_diff_programs(struct diff *d)
{
	struct parts a = { 0 }, b = { 0 };
	int ret = trace_diff_split(&a, d->a, d->data);

	if (!ret)
		ret = trace_diff_split(&b, d->b, d->data);
	if (!ret)
		trace_diff_parts(d, &a, &b);
	free(a.part);
	free(b.part);
	return ret;
}

int trace_diff_dirs(const struct vt_dir *a, const struct vt_dir *b, bool data,
		    struct json_object *json)
{
	struct diff d = { .json = json, .data = data };
	char n_a[32], n_b[32];
	u32 i;

	snprintf(n_a, sizeof(n_a), "%u programs", a->n_progs);
	snprintf(n_b, sizeof(n_b), "%u programs", b->n_progs);
	if (a->n_progs != b->n_progs)
		trace_diff_print(&d, a->path, n_a, b->path, n_b);
	for (i = 0; i < a->n_progs && i < b->n_progs; i++) {
		d.a = &a->prog[i];
		d.b = &b->prog[i];
		if (trace_diff_programs(&d))
			return -ENOMEM;
	}
	if (!json && d.found > SHOWN)
		printf("and %u more\n", d.found - SHOWN);
	return (int)d.found;
}
