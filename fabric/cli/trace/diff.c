/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace diff`.
 *
 * Each trace is split into sequences whose order is the same in every run: the lines of a thread,
 * the posts to a queue, the completions of one side of a QP. How the sequences interleave and how
 * polls were grouped may differ, and so may addresses, keys, numbers and wr_id (often an address).
 * Fields that the API leaves undefined are not compared: devices set lengths, flags and immediates
 * of completions of sends as they like, and programs leave the immediate of a plain SEND unset.
 * diff_devices.c compares lines if the devices differ.
 */
#include "fabric/common/json.h"
#include "fabric/cli/trace/diff_devices.h"
#include "fabric/cli/trace/export.h"
#include "fabric/cli/trace/trace.h"

#include <endian.h>
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

/** struct diff_qp - a queue pair. @num: its number; @datagrams: it is one of UD */
struct diff_qp {
	u32 num;
	bool datagrams;
};

/** struct parts - the sequences of a program. @qp: by ordinal */
struct parts {
	struct part *part;
	size_t n, cap;
	struct diff_qp *qp;
	u32 n_qps;
};

/* --- queue pairs --- */

static u32 trace_diff_created_qp(const char *line)
{
	const char *result = strstr(line, " = qp");
	char text[64];

	if (!strncmp(line, "rdma_create_qp", 14))
		return export_ordinal(export_line_value(line, true, "id.qp", text, sizeof(text)),
				      "qp");
	if (strncmp(line, "ibv_create_qp", 13) != 0 || !result)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(result + 3, " "), result + 3);
	return export_ordinal(text, "qp");
}

static int trace_diff_note_qp(struct parts *p, const struct vt_program *prog,
			      const struct vt_rec *rec)
{
	size_t len;
	const char *line = vt_rec_line(prog, rec, &len);
	u32 ordinal = trace_diff_created_qp(line);
	struct diff_qp *bigger;
	char type[64];
	u64 num;

	if (!ordinal)
		return 0;
	bigger = export_at(p->qp, &p->n_qps, ordinal, sizeof(*p->qp));
	if (!bigger)
		return -ENOMEM;
	p->qp = bigger;
	export_line_value(line, false, "attr.qp_type", type, sizeof(type));
	p->qp[ordinal].datagrams = !strcmp(type, "IBV_QPT_UD");
	if (vt_rec_fact(prog, rec, true, "qp_num", &num) ||
	    vt_rec_fact(prog, rec, true, "id.qp.qp_num", &num))
		p->qp[ordinal].num = (u32)num;
	return 0;
}

static struct diff_qp trace_diff_qp(const struct parts *p, u32 ordinal)
{
	return ordinal < p->n_qps ? p->qp[ordinal] : (struct diff_qp){ 0 };
}

/* --- sequences --- */

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

static int trace_diff_add_rec(struct parts *p, const struct vt_program *prog,
			      const struct vt_rec *rec, bool data)
{
	const struct vt_wc *wc;
	int ret = 0;
	u32 i;

	if (vt_is_post(rec->kind))
		return trace_diff_add_post(p, rec);
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		ret = trace_diff_note_qp(p, prog, rec);
		return ret ? ret : trace_diff_add_part(p, PART_LINE, 0, rec->thread, rec, NULL);
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
		ret = trace_diff_add_rec(p, prog, rec, data);
	if (p->n)
		qsort(p->part, p->n, sizeof(*p->part), trace_diff_by_key);
	return ret;
}

/* --- texts --- */

/*
 * An immediate, in network byte order. Programs send the number of their queue pair, which differs.
 */
static void trace_diff_imm_text(u32 imm, u32 num, char *text, size_t size)
{
	size_t len = strlen(text);

	if (num && be32toh(imm) == num)
		snprintf(text + len, size - len, " imm=the sender's number");
	else
		snprintf(text + len, size - len, " imm=%#x", imm);
}

static void trace_diff_wr_text(const struct parts *parts, const struct part *x, bool data,
			       char *text, size_t size)
{
	const struct vt_post *post = VT_BODY(vt_post, x->rec);
	const struct vt_wr *wr = x->what;
	char queue[24];
	size_t len;

	trace_queue_name(x->rec, queue, sizeof(queue));
	snprintf(text, size, "%s %s %llu bytes, %u entries, send_flags=%#x", queue,
		 trace_wr_opcode_name(x->rec, wr), (unsigned long long)trace_wr_bytes(wr),
		 wr->n_sge, wr->send_flags);
	if (vt_is_send(x->rec->kind) &&
	    (wr->opcode == WR_SEND_WITH_IMM || wr->opcode == WR_RDMA_WRITE_WITH_IMM))
		trace_diff_imm_text(wr->imm, trace_diff_qp(parts, post->obj).num, text, size);
	len = strlen(text);
	if (data && wr->flags & VT_WR_CRC)
		snprintf(text + len, size - len, " payload crc=%08x", wr->crc);
}

static void trace_diff_wc_text(const struct parts *parts, const struct part *x, bool data,
			       char *text, size_t size)
{
	const struct vt_wc *wc = x->what;
	const bool received = wc->status == WCS_SUCCESS && wc->opcode & WCO_RECV;
	u32 flags = wc->wc_flags;
	size_t len;

	if (!trace_diff_qp(parts, wc->qp).datagrams)
		flags &= ~(u32)WCF_GRH;
	snprintf(text, size, "qp%u %s %s", wc->qp, ib_wc_status_name(wc->status),
		 trace_wc_opcode_name(wc));
	len = strlen(text);
	if (!received)
		return;
	snprintf(text + len, size - len, " byte_len=%u wc_flags=%#x", wc->byte_len, flags);
	if (flags & WCF_WITH_IMM)
		trace_diff_imm_text(wc->imm, wc->src_qp, text, size);
	len = strlen(text);
	if (data && wc->flags & VT_WC_CRC)
		snprintf(text + len, size - len, " payload crc=%08x", wc->crc);
}

/* The text of an element without what may differ: equal elements have equal texts. */
static void trace_diff_part_text(const struct vt_program *p, const struct parts *parts,
				 const struct part *x, bool data, char *text, size_t size)
{
	const struct vt_mem *mem;
	size_t len;

	switch ((enum part_kind)(x->key >> 56)) {
	case PART_LINE:
		snprintf(text, size, "%s", vt_rec_line(p, x->rec, &len));
		break;
	case PART_POST:
		trace_diff_wr_text(parts, x, data, text, size);
		break;
	case PART_WC:
		trace_diff_wc_text(parts, x, data, text, size);
		break;
	case PART_MEM:
		mem = VT_BODY(vt_mem, x->rec);
		snprintf(text, size, "mr%u %llu bytes crc=%08x", mem->mr,
			 (unsigned long long)mem->len, mem->crc);
	}
}

/** struct diff - a comparison of two programs, and their sequences. */
struct diff {
	const struct vt_program *a, *b;
	struct parts parts_a, parts_b;
	struct diff_devices devices;
	struct json_object *json;
	bool data;
	u32 found;
};

static void trace_diff_side_text(const struct vt_program *p, const struct parts *parts,
				 const struct part *x, bool data, char *place, char *text)
{
	if (!x) {
		place[0] = '\0';
		snprintf(text, VT_MAX_LINE, "nothing");
		return;
	}
	vt_rec_place(p, x->rec, place, 64);
	trace_diff_part_text(p, parts, x, data, text, VT_MAX_LINE);
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

static bool trace_diff_is_line(const struct part *x)
{
	return x->key >> 56 == PART_LINE;
}

/* Return: whether they are the same. */
static bool trace_diff_is_same(struct diff *d, const struct part *x, const struct part *y)
{
	static char a[VT_MAX_LINE], b[VT_MAX_LINE];
	char at_a[64], at_b[64];

	trace_diff_side_text(d->a, &d->parts_a, x, d->data, at_a, a);
	trace_diff_side_text(d->b, &d->parts_b, y, d->data, at_b, b);
	if (x && y && !strcmp(a, b))
		return true;
	if (x && y && trace_diff_is_line(x) && diff_devices_is_same_line(&d->devices, a, b))
		return true;
	trace_diff_print(d, at_a, a, at_b, b);
	return false;
}

/* Which of two elements is a question to a device that the other trace does not have there. */
static int trace_diff_skip(struct diff *d, const struct part *x, const struct part *y)
{
	size_t len;

	if (!trace_diff_is_line(x ? x : y))
		return 0;
	return diff_devices_skip(&d->devices, x ? vt_rec_line(d->a, x->rec, &len) : NULL,
				 y ? vt_rec_line(d->b, y->rec, &len) : NULL);
}

/* The element at a place, if it belongs to the sequence. */
static const struct part *trace_diff_at(const struct parts *p, size_t i, u64 key)
{
	return i < p->n && p->part[i].key == key ? &p->part[i] : NULL;
}

/* The first difference of each sequence. */
static void trace_diff_parts(struct diff *d)
{
	const struct parts *a = &d->parts_a, *b = &d->parts_b;
	const struct part *x, *y;
	size_t i = 0, j = 0;
	int skip;
	u64 key;

	while (i < a->n || j < b->n) {
		key = j == b->n || (i < a->n && a->part[i].key < b->part[j].key) ? a->part[i].key
										 : b->part[j].key;
		x = trace_diff_at(a, i, key);
		y = trace_diff_at(b, j, key);
		skip = trace_diff_skip(d, x, y);
		if (skip || trace_diff_is_same(d, x, y)) {
			i += skip <= 0;
			j += skip >= 0;
			continue;
		}
		while (trace_diff_at(a, i, key))
			i++;
		while (trace_diff_at(b, j, key))
			j++;
	}
}

static void trace_diff_free(struct parts *p)
{
	free(p->part);
	free(p->qp);
	memset(p, 0, sizeof(*p));
}

static int trace_diff_programs(struct diff *d)
{
	int ret = trace_diff_split(&d->parts_a, d->a, d->data);

	if (!ret)
		ret = trace_diff_split(&d->parts_b, d->b, d->data);
	if (!ret)
		trace_diff_parts(d);
	trace_diff_free(&d->parts_a);
	trace_diff_free(&d->parts_b);
	return ret;
}

int trace_diff_dirs(const struct vt_dir *a, const struct vt_dir *b, const struct opts *o,
		    struct json_object *json)
{
	struct diff d = { .json = json, .data = o->data };
	char n_a[32], n_b[32];
	int ret = 0;
	u32 i;

	snprintf(n_a, sizeof(n_a), "%u programs", a->n_progs);
	snprintf(n_b, sizeof(n_b), "%u programs", b->n_progs);
	if (a->n_progs != b->n_progs)
		trace_diff_print(&d, a->path, n_a, b->path, n_b);
	diff_devices_init(&d.devices, a, b, o->capabilities);
	for (i = 0; i < a->n_progs && i < b->n_progs && !ret; i++) {
		d.a = &a->prog[i];
		d.b = &b->prog[i];
		ret = diff_devices_map(&d.devices, a, b, i);
		ret = ret ? ret : trace_diff_programs(&d);
	}
	if (!json && d.found > SHOWN)
		printf("and %u more\n", d.found - SHOWN);
	diff_devices_print(&d.devices, json);
	ret = ret ? ret : d.devices.failed;
	diff_devices_free(&d.devices);
	return ret ? ret : (int)d.found;
}
