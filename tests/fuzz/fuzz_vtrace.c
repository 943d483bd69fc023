/* SPDX-License-Identifier: MIT */
/*
 * A program's part of a trace of verbs, for libFuzzer: `make fuzz`.
 *
 * An input is the length of the text in two bytes, the text of calls, and the records of data
 * without their head. The checks of the records are made right, so that what they guard is reached;
 * what the reader then believes is read as the programs do that use it.
 */
#include "traces/calls/calls.h"
#include "traces/vtrace/check.h"
#include "traces/vtrace/write.h"

#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink;

static void see(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len--)
		sink += *at++;
}

static void post(const struct vt_rec *rec)
{
	const struct vt_wr *wr = vt_wr_first(rec);
	uint32_t i;

	for (i = 0; i < VT_BODY(vt_post, rec)->n; i++, wr = vt_wr_next(wr)) {
		see(vt_wr_sge(wr), wr->n_sge * sizeof(struct vt_sge));
		see(vt_wr_tso(wr), wr->tso_hdr);
		if (vt_wr_bytes(wr))
			see(vt_wr_bytes(wr), wr->payload);
	}
}

static void call(const struct vt_program *p, const struct vt_rec *rec)
{
	static struct vcall_parsed parsed;
	const struct vt_call *c = VT_BODY(vt_call, rec);
	struct vcall_env env = { 0 };
	size_t len;
	const char *line = vt_rec_line(p, rec, &len);

	see(line, len + 1);
	if (vcall_parse(&parsed, line, len, c->fact, c->n_facts, &env))
		see(parsed.why, strlen(parsed.why));
	else
		see(line + parsed.out, strlen(line + parsed.out));
}

static void record(const struct vt_program *p, const struct vt_rec *rec)
{
	char place[64];

	vt_rec_place(p, rec, place, sizeof(place));
	see(vt_kind_name(rec->kind), 1);
	if (vt_is_post(rec->kind)) {
		post(rec);
		return;
	}
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		call(p, rec);
		break;
	case VT_POLL:
		see(vt_poll_wcs(rec), VT_BODY(vt_poll, rec)->n * sizeof(struct vt_wc));
		break;
	case VT_MEM:
		if (vt_mem_bytes(rec))
			see(vt_mem_bytes(rec), VT_BODY(vt_mem, rec)->stored);
		break;
	case VT_NOTE:
		see(VT_BODY(vt_note, rec)->text, VT_BODY(vt_note, rec)->len);
		break;
	default:
		see(rec, rec->size);
	}
}

/* Checks as a writer would have made them. */
static void make_right(uint8_t *data, size_t len)
{
	struct vt_rec *rec;
	size_t off;

	for (off = sizeof(struct vt_head); len - off >= sizeof(*rec); off += rec->size) {
		rec = (struct vt_rec *)(data + off);
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > len - off)
			return;
		if (!rec->check)
			continue;
		rec->check = vt_crc(0, &rec->kind, rec->size - offsetof(struct vt_rec, kind));
		rec->check += !rec->check;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vt_head head = { .magic = VT_MAGIC, .version = VT_VERSION, .order = VT_ORDER };
	struct vt_program p = { .num = 1 };
	struct vt_info things = { 0 };
	const struct vt_rec *rec;
	struct vt_error err;
	size_t text;
	uint64_t off = 0;
	uint8_t *bytes;

	if (size < 2)
		return 0;
	text = data[0] | (size_t)data[1] << 8;
	text = text > size - 2 ? size - 2 : text;
	p.calls = malloc(text + 1);
	p.calls_len = text;
	memcpy(p.calls, data + 2, text);
	p.calls[text] = '\0';
	p.mapped = sizeof(head) + size - 2 - text;
	bytes = malloc(p.mapped);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), data + 2 + text, size - 2 - text);
	make_right(bytes, p.mapped);
	p.data = bytes;
	if (!vt_program_split_lines(&p, "calls", &err) && !vt_program_check(&p, "data", &err))
		while ((rec = vt_rec_next(&p, &off)))
			record(&p, rec);
	else
		see(err.text, strlen(err.text));
	memcpy(p.calls, data + 2, text);
	vt_info_parse(&things, "trace", p.calls, &err);
	vt_info_free(&things);
	memcpy(p.calls, data + 2, text);
	vt_devices_parse(&p.devices, "devices", p.calls, &err);
	vt_devices_free(&p.devices);
	free(p.calls);
	free(p.line);
	free(p.line_len);
	free(bytes);
	return 0;
}
