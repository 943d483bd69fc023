// SPDX-License-Identifier: MIT
/* `rdmaemu trace show --json`: an array with an object for each record, printed one by one. */
#include "fabric/vt.h"

#include <stdlib.h>

static void num(struct json_object *o, const char *key, u64 v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

static void str(struct json_object *o, const char *key, const char *s)
{
	json_object_object_add(o, key, json_object_new_string(s));
}

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

	num(o, "wr_id", wr->wr_id);
	str(o, "opcode", vt_wr_op(rec, wr));
	num(o, "send_flags", wr->send_flags);
	num(o, "imm", wr->imm);
	num(o, "remote_addr", wr->remote_addr);
	num(o, "rkey", wr->rkey);
	num(o, "compare_add", wr->compare_add);
	num(o, "swap", wr->swap);
	num(o, "ah", wr->ah);
	num(o, "remote_qpn", wr->remote_qpn);
	num(o, "bytes", vt_wr_bytes_of(wr));
	for (i = 0; i < wr->n_sge; i++) {
		s = json_object_new_object();
		num(s, "mr", sge[i].mr);
		num(s, "addr", sge[i].addr);
		num(s, "length", sge[i].len);
		json_object_array_add(sges, s);
	}
	json_object_object_add(o, "sge", sges);
	if (wr->flags & VT_WR_CRC)
		num(o, "crc", wr->crc);
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
	str(o, "queue", queue);
	json_object_object_add(o, "ret", json_object_new_int(post->ret));
	num(o, "accepted", post->bad);
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

	num(o, "cq", poll->cq);
	json_object_object_add(o, "ret", json_object_new_int(poll->ret));
	num(o, "empty", poll->empty);
	for (i = 0; i < poll->n; i++, wc++) {
		w = json_object_new_object();
		num(w, "qp", wc->qp);
		num(w, "wr_id", wc->wr_id);
		str(w, "status", ib_wc_status_name(wc->status));
		str(w, "opcode", vt_wc_op(wc));
		num(w, "byte_len", wc->byte_len);
		num(w, "imm", wc->imm);
		num(w, "wc_flags", wc->wc_flags);
		num(w, "qp_num", wc->qp_num);
		num(w, "src_qp", wc->src_qp);
		if (wc->flags & VT_WC_CRC)
			num(w, "crc", wc->crc);
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
	size_t len;

	switch (rec->kind) {
	case VT_CALL:
		str(o, "line", vt_rec_line(p, rec, &len));
		break;
	case VT_MEM:
		num(o, "mr", mem->mr);
		num(o, "what", mem->what);
		num(o, "off", mem->off);
		num(o, "length", mem->len);
		num(o, "crc", mem->crc);
		if (data)
			hex(o, "bytes", vt_mem_bytes(rec), mem->stored);
		break;
	case VT_NOTE:
		json_object_object_add(o, "text",
				       json_object_new_string_len(note->text, (int)note->len));
		break;
	case VT_NOTIFY:
	case VT_CQ_EVENT:
	case VT_ACK:
	case VT_EMPTY:
		num(o, "cq", op->cq);
		num(o, "channel", op->obj2);
		num(o, "n", op->n);
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
	num(o, "program", p->num);
	str(o, "place", place);
	str(o, "kind", vt_kind_name(rec->kind));
	num(o, "thread", rec->thread);
	num(o, "begin", rec->begin);
	num(o, "end", rec->end);
	num(o, "t_begin_ns", rec->t_begin - t0);
	num(o, "t_end_ns", rec->t_end - t0);
	if (vt_is_recv(rec->kind) || rec->kind == VT_POST_SEND || rec->kind == VT_WR)
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
