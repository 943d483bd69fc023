/* SPDX-License-Identifier: MIT */
/* `rdmaemu trace show --json`: an array with an object for each record, printed one by one. */
#include "fabric/common/json.h"
#include "fabric/cli/trace/trace.h"

#include <stdlib.h>

static void hex(struct json_object *o, const char *key, const uint8_t *bytes, u64 len)
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

static struct json_object *wr_json(const struct vt_rec *rec, const struct vt_wr *wr, bool data)
{
	struct json_object *o = json_object_new_object(), *sges = json_object_new_array(), *s;
	const struct vt_sge *sge = vt_wr_sge(wr);
	u32 i;

	add_int(o, "wr_id", wr->wr_id);
	add_str(o, "opcode", vt_wr_op(rec, wr));
	add_int(o, rec->kind == VT_POST_OPS ? "flags" : "send_flags", wr->send_flags);
	add_int(o, rec->kind == VT_POST_OPS ? "unexpected_cnt" : "imm", wr->imm);
	add_int(o, rec->kind == VT_POST_OPS ? "recv_wr_id" : "remote_addr", wr->remote_addr);
	add_int(o, rec->kind == VT_POST_OPS ? "handle" : "rkey", wr->rkey);
	add_int(o, rec->kind == VT_POST_OPS ? "tag" : "compare_add", wr->compare_add);
	add_int(o, rec->kind == VT_POST_OPS ? "mask" : "swap", wr->swap);
	add_int(o, "ah", wr->ah);
	add_int(o, "remote_qpn", wr->remote_qpn);
	add_int(o, "bytes", vt_wr_bytes_of(wr));
	for (i = 0; i < wr->n_sge; i++) {
		s = json_object_new_object();
		add_int(s, "mr", sge[i].mr);
		add_int(s, "addr", sge[i].addr);
		add_int(s, "length", sge[i].len);
		json_object_array_add(sges, s);
	}
	json_object_object_add(o, "sge", sges);
	if (wr->flags & VT_WR_CRC)
		add_int(o, "crc", wr->crc);
	if (data)
		hex(o, "payload", vt_wr_bytes(wr), wr->payload);
	return o;
}

static void post_json(struct json_object *o, const struct vt_rec *rec, bool data)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct json_object *wrs = json_object_new_array();
	const struct vt_wr *wr = vt_wr_first(rec);
	char queue[24];
	u32 i;

	vt_queue(rec, queue, sizeof(queue));
	add_str(o, "queue", queue);
	json_object_object_add(o, "ret", json_object_new_int(post->ret));
	add_int(o, "accepted", post->bad);
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr))
		json_object_array_add(wrs, wr_json(rec, wr, data));
	json_object_object_add(o, "wr", wrs);
}

static void poll_json(struct json_object *o, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	struct json_object *wcs = json_object_new_array(), *w;
	const struct vt_wc *wc = vt_wcs(rec);
	u32 i;

	add_int(o, "cq", poll->cq);
	json_object_object_add(o, "ret", json_object_new_int(poll->ret));
	add_int(o, "empty", poll->empty);
	for (i = 0; i < poll->n; i++, wc++) {
		w = json_object_new_object();
		add_int(w, "qp", wc->qp);
		add_int(w, "wr_id", wc->wr_id);
		add_str(w, "status", ib_wc_status_name(wc->status));
		add_str(w, "opcode", vt_wc_op(wc));
		add_int(w, "byte_len", wc->byte_len);
		add_int(w, "imm", wc->imm);
		add_int(w, "wc_flags", wc->wc_flags);
		add_int(w, "qp_num", wc->qp_num);
		add_int(w, "src_qp", wc->src_qp);
		if (wc->flags & VT_WC_CRC)
			add_int(w, "crc", wc->crc);
		json_object_array_add(wcs, w);
	}
	json_object_object_add(o, "wc", wcs);
}

static void other_json(struct json_object *o, const struct vt_program *p, const struct vt_rec *rec,
		       bool data)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	const struct vt_note *note = VT_BODY(vt_note, rec);
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const struct vt_dm *dm = VT_BODY(vt_dm, rec);
	size_t len;

	switch (rec->kind) {
	case VT_CALL:
		add_str(o, "line", vt_rec_line(p, rec, &len));
		break;
	case VT_MEM:
		add_int(o, "mr", mem->mr);
		add_int(o, "what", mem->what);
		add_int(o, "off", mem->off);
		add_int(o, "length", mem->len);
		add_int(o, "crc", mem->crc);
		if (data)
			hex(o, "bytes", vt_mem_bytes(rec), mem->stored);
		break;
	case VT_DM:
		add_int(o, "dm", dm->dm);
		json_object_object_add(o, "to", json_object_new_boolean((int)dm->to));
		add_int(o, "off", dm->off);
		add_int(o, "length", dm->len);
		add_int(o, "crc", dm->crc);
		json_object_object_add(o, "ret", json_object_new_int(dm->ret));
		if (data)
			hex(o, "bytes", vt_dm_bytes(rec), dm->stored);
		break;
	case VT_NOTE:
		json_object_object_add(o, "text",
				       json_object_new_string_len(note->text, (int)note->len));
		break;
	case VT_NOTIFY:
	case VT_CQ_EVENT:
	case VT_ACK:
	case VT_EMPTY:
		add_int(o, "cq", op->cq);
		add_int(o, "channel", op->obj2);
		add_int(o, "n", op->n);
		json_object_object_add(o, "ret", json_object_new_int(op->ret));
		break;
	default:
		break;
	}
}

static struct json_object *rec_json(const struct vt_program *p, const struct vt_rec *rec, u64 t0,
				    bool data)
{
	struct json_object *o = json_object_new_object();
	char place[64];

	vt_place(p, rec, place, sizeof(place));
	add_int(o, "program", p->num);
	add_str(o, "place", place);
	add_str(o, "kind", vt_kind_name(rec->kind));
	add_int(o, "thread", rec->thread);
	add_int(o, "begin", rec->begin);
	add_int(o, "end", rec->end);
	add_int(o, "t_begin_ns", rec->t_begin - t0);
	add_int(o, "t_end_ns", rec->t_end - t0);
	if (vt_is_post(rec->kind))
		post_json(o, rec, data);
	else if (rec->kind == VT_POLL)
		poll_json(o, rec);
	else
		other_json(o, p, rec, data);
	return o;
}

void vt_show_json(const struct opts *o, const struct vt_dir *d, u64 t0)
{
	const struct vt_rec *rec;
	const char *comma = "";
	struct json_object *j;
	u64 off;
	u32 i;

	printf("[");
	for (i = 0; i < d->n_progs; i++) {
		if (!vt_wanted(o, &d->prog[i]))
			continue;
		for (off = 0; (rec = vt_next(&d->prog[i], &off));) {
			j = rec_json(&d->prog[i], rec, t0, o->data);
			printf("%s\n%s", comma,
			       json_object_to_json_string_ext(j, JSON_C_TO_STRING_NOSLASHESCAPE));
			json_object_put(j);
			comma = ",";
		}
	}
	printf("\n]\n");
}
