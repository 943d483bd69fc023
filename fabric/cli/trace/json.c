/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace show --json`: an array with an object for each record, printed one by one.
 */
#include "fabric/common/json.h"
#include "fabric/cli/trace/trace.h"

#include <stdlib.h>

static void trace_json_hex(struct json_object *o, const char *key, const uint8_t *bytes, u64 len)
{
	static const char digits[] = "0123456789abcdef";
	char *text = bytes && len < 1u << 30 ? malloc(2 * len + 1) : NULL;
	u64 i;

	for (i = 0; text && i < len; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	if (text)
		json_object_object_add(o, key, json_object_new_string_len(text, (int)(2 * len)));
	free(text);
}

static struct json_object *trace_json_wr(const struct vt_rec *rec, const struct vt_wr *wr,
					 bool data)
{
	struct json_object *o = json_object_new_object(), *sges = json_object_new_array(), *s;
	const struct vt_sge *sge = vt_wr_sge(wr);
	u32 i;

	json_add_int(o, "wr_id", wr->wr_id);
	json_add_str(o, "opcode", trace_wr_opcode_name(rec, wr));
	json_add_int(o, rec->kind == VT_POST_OPS ? "flags" : "send_flags", wr->send_flags);
	json_add_int(o, rec->kind == VT_POST_OPS ? "unexpected_cnt" : "imm", wr->imm);
	json_add_int(o, rec->kind == VT_POST_OPS ? "recv_wr_id" : "remote_addr", wr->remote_addr);
	json_add_int(o, rec->kind == VT_POST_OPS ? "handle" : "rkey", wr->rkey);
	json_add_int(o, rec->kind == VT_POST_OPS ? "tag" : "compare_add", wr->compare_add);
	json_add_int(o, rec->kind == VT_POST_OPS ? "mask" : "swap", wr->swap);
	if (wr->flags & VT_WR_FLUSH) {
		json_add_int(o, "flush_length", wr->mw_len);
		json_add_int(o, "flush_type", wr->mw_access & 15);
		json_add_int(o, "flush_level", wr->mw_access >> 4);
	}
	json_add_int(o, "ah", wr->ah);
	json_add_int(o, "remote_qpn", wr->remote_qpn);
	json_add_int(o, "bytes", trace_wr_bytes(wr));
	for (i = 0; i < wr->n_sge; i++) {
		s = json_object_new_object();
		json_add_int(s, "mr", sge[i].mr);
		json_add_int(s, "addr", sge[i].addr);
		json_add_int(s, "length", sge[i].len);
		json_object_array_add(sges, s);
	}
	json_object_object_add(o, "sge", sges);
	if (wr->flags & VT_WR_CRC)
		json_add_int(o, "crc", wr->crc);
	if (data)
		trace_json_hex(o, "payload", vt_wr_bytes(wr), wr->payload);
	return o;
}

static void trace_json_post(struct json_object *o, const struct vt_rec *rec, bool data)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct json_object *wrs = json_object_new_array();
	const struct vt_wr *wr = vt_wr_first(rec);
	char queue[24];
	u32 i;

	trace_queue_name(rec, queue, sizeof(queue));
	json_add_str(o, "queue", queue);
	json_object_object_add(o, "ret", json_object_new_int(post->ret));
	json_add_int(o, "accepted", post->bad);
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr))
		json_object_array_add(wrs, trace_json_wr(rec, wr, data));
	json_object_object_add(o, "wr", wrs);
}

static void trace_json_poll(struct json_object *o, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	struct json_object *wcs = json_object_new_array(), *w;
	const struct vt_wc *wc = vt_poll_wcs(rec);
	u32 i;

	json_add_int(o, "cq", poll->cq);
	json_object_object_add(o, "ret", json_object_new_int(poll->ret));
	json_add_int(o, "empty", poll->empty);
	for (i = 0; i < poll->n; i++, wc++) {
		w = json_object_new_object();
		json_add_int(w, "qp", wc->qp);
		json_add_int(w, "wr_id", wc->wr_id);
		json_add_str(w, "status", ib_wc_status_name(wc->status));
		json_add_str(w, "opcode", trace_wc_opcode_name(wc));
		json_add_int(w, "byte_len", wc->byte_len);
		json_add_int(w, "imm", wc->imm);
		json_add_int(w, "wc_flags", wc->wc_flags);
		json_add_int(w, "qp_num", wc->qp_num);
		json_add_int(w, "src_qp", wc->src_qp);
		if (wc->flags & VT_WC_CRC)
			json_add_int(w, "crc", wc->crc);
		json_object_array_add(wcs, w);
	}
	json_object_object_add(o, "wc", wcs);
}

static void trace_json_other(struct json_object *o, const struct vt_program *p,
			     const struct vt_rec *rec, bool data)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	const struct vt_note *note = VT_BODY(vt_note, rec);
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const struct vt_dm *dm = VT_BODY(vt_dm, rec);
	size_t len;

	switch (rec->kind) {
	case VT_CALL:
		json_add_str(o, "line", vt_rec_line(p, rec, &len));
		break;
	case VT_MEM:
		json_add_int(o, "mr", mem->mr);
		json_add_int(o, "what", mem->what);
		json_add_int(o, "off", mem->off);
		json_add_int(o, "length", mem->len);
		json_add_int(o, "crc", mem->crc);
		if (data)
			trace_json_hex(o, "bytes", vt_mem_bytes(rec), mem->stored);
		break;
	case VT_DM:
		json_add_int(o, "dm", dm->dm);
		json_object_object_add(o, "to", json_object_new_boolean((int)dm->to));
		json_add_int(o, "off", dm->off);
		json_add_int(o, "length", dm->len);
		json_add_int(o, "crc", dm->crc);
		json_object_object_add(o, "ret", json_object_new_int(dm->ret));
		if (data)
			trace_json_hex(o, "bytes", vt_dm_bytes(rec), dm->stored);
		break;
	case VT_NOTE:
		json_object_object_add(o, "text",
				       json_object_new_string_len(note->text, (int)note->len));
		break;
	case VT_NOTIFY:
	case VT_CQ_EVENT:
	case VT_ACK:
	case VT_EMPTY:
		json_add_int(o, "cq", op->cq);
		json_add_int(o, "channel", op->obj2);
		json_add_int(o, "n", op->n);
		json_object_object_add(o, "ret", json_object_new_int(op->ret));
		break;
	default:
		break;
	}
}

static struct json_object *trace_json_rec(const struct vt_program *p, const struct vt_rec *rec,
					  u64 t0, bool data)
{
	struct json_object *o = json_object_new_object();
	char place[64];

	vt_rec_place(p, rec, place, sizeof(place));
	json_add_int(o, "program", p->num);
	json_add_str(o, "place", place);
	json_add_str(o, "kind", vt_kind_name(rec->kind));
	json_add_int(o, "thread", rec->thread);
	json_add_int(o, "begin", rec->begin);
	json_add_int(o, "end", rec->end);
	json_add_int(o, "t_begin_ns", rec->t_begin - t0);
	json_add_int(o, "t_end_ns", rec->t_end - t0);
	if (vt_is_post(rec->kind))
		trace_json_post(o, rec, data);
	else if (rec->kind == VT_POLL)
		trace_json_poll(o, rec);
	else
		trace_json_other(o, p, rec, data);
	return o;
}

void trace_show_json(const struct opts *o, const struct vt_dir *d, u64 t0)
{
	const struct vt_rec *rec;
	const char *comma = "";
	struct json_object *j;
	u64 off;
	u32 i;

	printf("[");
	for (i = 0; i < d->n_progs; i++) {
		if (!trace_program_is_wanted(o, &d->prog[i]))
			continue;
		for (off = 0; (rec = vt_rec_next(&d->prog[i], &off));) {
			j = trace_json_rec(&d->prog[i], rec, t0, o->data);
			printf("%s\n%s", comma,
			       json_object_to_json_string_ext(j, JSON_C_TO_STRING_NOSLASHESCAPE));
			json_object_put(j);
			comma = ",";
		}
	}
	printf("\n]\n");
}
