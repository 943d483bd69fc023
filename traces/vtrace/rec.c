/* SPDX-License-Identifier: MIT */
/* Access to the records of a program that vt_program_check() has checked. */
#include "traces/vtrace/read.h"

#include <stdio.h>
#include <string.h>

const struct vt_rec *vt_rec_next(const struct vt_program *p, uint64_t *off)
{
	const struct vt_rec *rec;

	if (!*off)
		*off = sizeof(struct vt_head);
	while (*off < p->size) {
		rec = (const struct vt_rec *)(p->data + *off);
		*off += rec->size;
		if (rec->check)
			return rec;
	}
	return NULL;
}

void vt_rec_place(const struct vt_program *p, const struct vt_rec *rec, char *text, size_t cap)
{
	if (rec->kind == VT_CALL)
		snprintf(text, cap, "p%u/calls:%u", p->num, VT_BODY(vt_call, rec)->line);
	else
		snprintf(text, cap, "p%u/data:%llu", p->num,
			 (unsigned long long)((const uint8_t *)rec - p->data));
}

const char *vt_rec_line(const struct vt_program *p, const struct vt_rec *rec, size_t *len)
{
	uint32_t i = VT_BODY(vt_call, rec)->line - 1;

	*len = p->line_len[i];
	return p->line[i];
}

bool vt_rec_fact(const struct vt_program *p, const struct vt_rec *rec, bool out, const char *name,
		 uint64_t *v)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	size_t len, name_len = strlen(name);
	const char *at = vt_rec_line(p, rec, &len);
	bool quoted = false, behind = false, wanted = false;
	uint32_t i = 0;

	for (; *at; at++) {
		if (*at == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if (!strncmp(at, " = ", 3))
			behind = true;
		if (*at == ' ')
			wanted = behind == out && !strncmp(at + 1, name, name_len) &&
				 at[1 + name_len] == '=';
		if (*at != '~')
			continue;
		if (i >= call->n_facts)
			return false;
		if (wanted) {
			*v = call->fact[i];
			return true;
		}
		i++;
	}
	return false;
}

const struct vt_wr *vt_wr_first(const struct vt_rec *rec)
{
	return (const struct vt_wr *)(VT_BODY(vt_post, rec) + 1);
}

const struct vt_wr *vt_wr_next(const struct vt_wr *wr)
{
	return (const struct vt_wr *)((const uint8_t *)wr + wr->size);
}

const struct vt_sge *vt_wr_sge(const struct vt_wr *wr)
{
	return (const struct vt_sge *)(wr + 1);
}

const uint8_t *vt_wr_tso(const struct vt_wr *wr)
{
	return (const uint8_t *)(vt_wr_sge(wr) + wr->n_sge);
}

const uint8_t *vt_wr_bytes(const struct vt_wr *wr)
{
	return wr->flags & VT_WR_BYTES ? vt_wr_tso(wr) + wr->tso_hdr : NULL;
}

const struct vt_wc *vt_poll_wcs(const struct vt_rec *rec)
{
	return (const struct vt_wc *)(VT_BODY(vt_poll, rec) + 1);
}

const uint8_t *vt_mem_bytes(const struct vt_rec *rec)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);

	return mem->stored ? (const uint8_t *)(mem + 1) : NULL;
}

const uint8_t *vt_dm_bytes(const struct vt_rec *rec)
{
	const struct vt_dm *dm = VT_BODY(vt_dm, rec);

	return dm->stored ? (const uint8_t *)(dm + 1) : NULL;
}

const char *vt_kind_name(unsigned int kind)
{
	static const char *const names[] = {
#define NAME(kind, text) [VT_##kind] = (text),
		VT_KINDS(NAME)
#undef NAME
	};

	return kind && kind < VT_KIND_COUNT ? names[kind] : "?";
}
