/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu trace show`. */
#include "fabric/cli/trace/trace.h"

#include <stdlib.h>

#define HEX_BYTES 64u /* of a payload in a line */

static void trace_show_hex(const char *what, const uint8_t *bytes, u64 len)
{
	u64 i;

	if (!bytes || !len)
		return;
	printf("      %s:", what);
	for (i = 0; i < len && i < HEX_BYTES; i++)
		printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
	printf("%s\n", len > HEX_BYTES ? " ..." : "");
}

static void trace_show_sges(const struct vt_wr *wr)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		if (sge[i].mr)
			printf(" [mr%u %#llx+%u]", sge[i].mr, (unsigned long long)sge[i].addr,
			       sge[i].len);
		else
			printf(" [inline %u]", sge[i].len);
	}
}

static void trace_show_op(const struct vt_rec *rec, const struct vt_wr *wr)
{
	printf("      wr_id=%#llx %s flags=%#x unexpected_cnt=%u", (unsigned long long)wr->wr_id,
	       trace_wr_opcode_name(rec, wr), wr->send_flags, wr->imm);
	if (wr->opcode != VT_TAG_SYNC)
		printf(" handle=%u", wr->rkey);
	if (wr->opcode == VT_TAG_ADD)
		printf(" recv_wr_id=%#llx tag=%#llx mask=%#llx",
		       (unsigned long long)wr->remote_addr, (unsigned long long)wr->compare_add,
		       (unsigned long long)wr->swap);
	trace_show_sges(wr);
	putchar('\n');
}

static void trace_show_wr(const struct vt_rec *rec, const struct vt_wr *wr, bool data)
{
	printf("      wr_id=%#llx %s", (unsigned long long)wr->wr_id,
	       trace_wr_opcode_name(rec, wr));
	if (wr->send_flags)
		printf(" flags=%#x", wr->send_flags);
	if (wr->imm)
		printf(" imm=%#x", wr->imm);
	if (wr->remote_addr || wr->rkey)
		printf(" remote=%#llx rkey=%#x", (unsigned long long)wr->remote_addr, wr->rkey);
	if (wr->flags & VT_WR_FLUSH)
		printf(" length=%llu type=%#x level=%u", (unsigned long long)wr->mw_len,
		       wr->mw_access & 15, wr->mw_access >> 4);
	if (wr->compare_add || wr->swap)
		printf(" compare_add=%#llx swap=%#llx", (unsigned long long)wr->compare_add,
		       (unsigned long long)wr->swap);
	if (wr->ah)
		printf(" ah%u remote_qpn=%#x", wr->ah, wr->remote_qpn);
	trace_show_sges(wr);
	if (wr->flags & VT_WR_CRC)
		printf(" crc=%08x", wr->crc);
	putchar('\n');
	if (data)
		trace_show_hex("payload", vt_wr_bytes(wr), wr->payload);
}

static void trace_show_post(const struct vt_rec *rec, bool data)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	char queue[24];
	u32 i;

	trace_queue_name(rec, queue, sizeof(queue));
	printf("%s %s: %u work requests%s = %d", vt_kind_name(rec->kind), queue, post->n,
	       post->how == VT_ABORTED ? ", aborted" : "", post->ret);
	if (post->bad < post->n)
		printf(" bad_wr=%u", post->bad);
	putchar('\n');
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr))
		if (rec->kind == VT_POST_OPS)
			trace_show_op(rec, wr);
		else
			trace_show_wr(rec, wr, data);
}

static void trace_show_poll(const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = vt_poll_wcs(rec);
	u32 i;

	printf("poll cq%u = %d", poll->cq, poll->ret);
	if (poll->empty)
		printf(" after %llu empty", (unsigned long long)poll->empty);
	putchar('\n');
	for (i = 0; i < poll->n; i++, wc++) {
		printf("      qp%u wr_id=%#llx %s %s", wc->qp, (unsigned long long)wc->wr_id,
		       ib_wc_status_name(wc->status), trace_wc_opcode_name(wc));
		if (wc->status == WCS_SUCCESS)
			printf(" byte_len=%u", wc->byte_len);
		if (wc->imm)
			printf(" imm=%#x", wc->imm);
		if (wc->wc_flags)
			printf(" wc_flags=%#x", wc->wc_flags);
		if (wc->src_qp)
			printf(" src_qp=%#x", wc->src_qp);
		if (wc->flags & VT_WC_CRC)
			printf(" crc=%08x", wc->crc);
		putchar('\n');
	}
}

static void trace_show_mem(const struct vt_rec *rec, bool data)
{
	static const char *const what[] = { "first", "changed", "final" };
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);

	printf("mem mr%u %s: +%#llx %llu bytes crc=%08x\n", mem->mr, what[mem->what],
	       (unsigned long long)mem->off, (unsigned long long)mem->len, mem->crc);
	if (data)
		trace_show_hex("bytes", vt_mem_bytes(rec), mem->stored);
}

static void trace_show_dm(const struct vt_rec *rec, bool data)
{
	const struct vt_dm *dm = VT_BODY(vt_dm, rec);

	printf("dm%u %s: +%#llx %llu bytes crc=%08x = %d\n", dm->dm, dm->to ? "to" : "from",
	       (unsigned long long)dm->off, (unsigned long long)dm->len, dm->crc, dm->ret);
	if (data)
		trace_show_hex("bytes", vt_dm_bytes(rec), dm->stored);
}

static void trace_show_cqop(const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);

	printf("%s cq%u", vt_kind_name(rec->kind), op->cq);
	if (op->obj2)
		printf(" ch%u", op->obj2);
	if (rec->kind != VT_CQ_EVENT)
		printf(" n=%llu", (unsigned long long)op->n);
	printf(" = %d\n", op->ret);
}

static void trace_show_rec(const struct vt_program *p, const struct vt_rec *rec, u64 t0, bool data)
{
	size_t len;

	printf("  %12.6f t%u ", (double)(rec->t_begin - t0) / 1e9, rec->thread);
	if (vt_is_post(rec->kind)) {
		trace_show_post(rec, data);
		return;
	}
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		puts(vt_rec_line(p, rec, &len));
		break;
	case VT_POLL:
		trace_show_poll(rec);
		break;
	case VT_MEM:
		trace_show_mem(rec, data);
		break;
	case VT_DM:
		trace_show_dm(rec, data);
		break;
	case VT_NOTE:
		printf("note: %.*s\n", (int)VT_BODY(vt_note, rec)->len,
		       VT_BODY(vt_note, rec)->text);
		break;
	case VT_END:
		puts("end");
		break;
	default:
		trace_show_cqop(rec);
	}
}

static u64 trace_show_first_time(const struct vt_dir *d)
{
	u64 t0 = ~0ULL, off;
	const struct vt_rec *rec;
	u32 i;

	for (i = 0; i < d->n_progs; i++)
		for (off = 0; (rec = vt_rec_next(&d->prog[i], &off));)
			if (rec->t_begin < t0)
				t0 = rec->t_begin;
	return t0;
}

int verb_trace_show(struct opts *o, const struct fabric_paths *paths, int argc, char **argv)
{
	static struct vt_dir d;
	const struct vt_rec *rec;
	u64 off, t0;
	u32 i;

	(void)paths;
	if (trace_dir_open_one(&d, o, "trace show", argc, argv))
		return EXIT_USAGE;
	t0 = trace_show_first_time(&d);
	if (o->json)
		trace_show_json(o, &d, t0);
	for (i = 0; i < d.n_progs && !o->json; i++) {
		if (!trace_program_is_wanted(o, &d.prog[i]))
			continue;
		printf("p%u %s: %s\n", d.prog[i].num, trace_program_name(&d.prog[i]),
		       vt_info_get(&d.prog[i].about, "command") ?: "nothing was recorded");
		for (off = 0; (rec = vt_rec_next(&d.prog[i], &off));)
			trace_show_rec(&d.prog[i], rec, t0, o->data);
	}
	vt_dir_close(&d);
	return ferror(stdout) ? 1 : 0;
}
