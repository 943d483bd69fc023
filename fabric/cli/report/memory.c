/* SPDX-License-Identifier: MIT */
/**
 * DOC: the registered memory of a trace's programs, and the accesses to it: those that work
 * requests make to their own memory, and those that peers make by its rkey.
 *
 * A region has the latest MEMORY_ACCESSES, which is enough for a picture, and counts all.
 */
#include "fabric/cli/report/memory.h"
#include "fabric/cli/trace/export.h"
#include "fabric/common/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_REGIONS	4096u /* of all programs */
#define MEMORY_ACCESSES 512u

/** struct memory_access - bytes of a region, from its begin on. */
struct memory_access {
	u64 from, to;
	const char *how;
};

/** struct memory_region - a region. @mr: its ordinal in its program. @local, @remote: accesses */
struct memory_region {
	const struct vt_program *p;
	u32 mr;
	u64 addr, length, rkey;
	char access[256];
	bool deregistered;
	u64 local, remote;
	struct memory_access used[MEMORY_ACCESSES];
};

/** struct report_memory - regions of a trace. @lost: more than there is room for */
struct report_memory {
	struct memory_region *region[MEMORY_REGIONS];
	u32 n;
	bool lost;
};

struct report_memory *memory_make(void)
{
	return calloc(1, sizeof(struct report_memory));
}

void memory_free(struct report_memory *m)
{
	u32 i;

	for (i = 0; m && i < m->n; i++)
		free(m->region[i]);
	free(m);
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The latest one of that ordinal. */
static struct memory_region *report_region_find(struct report_memory *m, const struct vt_program *p,
						u32 mr)
{
	u32 i;

	for (i = m->n; i--;)
		if (m->region[i]->p == p && m->region[i]->mr == mr)
			return m->region[i];
	return NULL;
}

/* The latest one with that rkey that has the address. */
static struct memory_region *report_region_find_remote(struct report_memory *m, u32 rkey, u64 addr)
{
	struct memory_region *r;
	u32 i;

	for (i = m->n; i--;) {
		r = m->region[i];
		if (r->rkey == rkey && addr >= r->addr && addr - r->addr < r->length)
			return r;
	}
	return NULL;
}

/* "... = mr3 ...": the ordinal of the result; 0: it is none. */
static u32 memory_result(const char *line)
{
	const char *at = strstr(line, " = mr");
	char word[16];

	if (!at)
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + 3, " "), at + 3);
	return export_ordinal(word, "mr");
}

static void memory_add(struct report_memory *m, const struct vt_program *p,
		       const struct vt_rec *rec, const char *line, u32 mr)
{
	struct memory_region *r;
	char text[256];
	u64 v;

	r = m->n < MEMORY_REGIONS ? calloc(1, sizeof(*r)) : NULL;
	if (!r) {
		m->lost = true;
		return;
	}
	r->p = p;
	r->mr = mr;
	if (vt_rec_fact(p, rec, true, "addr", &v))
		r->addr = v;
	if (vt_rec_fact(p, rec, true, "rkey", &v))
		r->rkey = v;
	r->length = strtoull(export_line_value(line, true, "length", text, sizeof(text)), NULL, 0);
	export_line_value(line, false, "access", r->access, sizeof(r->access));
	m->region[m->n++] = r;
}

static void memory_call(struct report_memory *m, const struct vt_program *p,
			const struct vt_rec *rec)
{
	struct memory_region *r;
	char text[64];
	size_t len;
	const char *line = vt_rec_line(p, rec, &len);
	u32 mr;

	if (!strncmp(line, "ibv_dereg_mr ", 13)) {
		mr = export_ordinal(export_line_value(line, false, "mr", text, sizeof(text)), "mr");
		r = report_region_find(m, p, mr);
		if (r)
			r->deregistered = true;
		return;
	}
	mr = memory_result(line);
	if (mr)
		memory_add(m, p, rec, line, mr);
}

/* --- accesses --------------------------------------------------------------------------------- */

static void memory_use(struct memory_region *r, u64 addr, u64 len, bool remote, const char *how)
{
	u64 n = r->local + r->remote, from = addr - r->addr;
	u64 room = r->length - from;

	r->used[n % MEMORY_ACCESSES] =
		(struct memory_access){ from, from + (len < room ? len : room), how };
	*(remote ? &r->remote : &r->local) += 1;
}

static void memory_use_local(struct report_memory *m, const struct vt_program *p,
			     const struct vt_wr *wr, bool written)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	struct memory_region *r;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		r = sge[i].mr ? report_region_find(m, p, sge[i].mr) : NULL;
		if (r && sge[i].addr >= r->addr && sge[i].addr - r->addr < r->length)
			memory_use(r, sge[i].addr, sge[i].len, false, written ? "write" : "read");
	}
}

static bool memory_is_remote(u32 opcode)
{
	return opcode == WR_RDMA_WRITE || opcode == WR_RDMA_WRITE_WITH_IMM ||
	       opcode == WR_RDMA_READ || opcode == WR_ATOMIC_CMP_AND_SWP ||
	       opcode == WR_ATOMIC_FETCH_AND_ADD;
}

static void memory_post(struct report_memory *m, const struct vt_program *p,
			const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	bool receive = vt_is_recv(rec->kind);
	struct memory_region *r;
	u32 i;

	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		memory_use_local(m, p, wr,
				 receive || wr->opcode == WR_RDMA_READ ||
					 wr->opcode == WR_ATOMIC_CMP_AND_SWP ||
					 wr->opcode == WR_ATOMIC_FETCH_AND_ADD);
		if (receive || !memory_is_remote(wr->opcode))
			continue;
		r = report_region_find_remote(m, wr->rkey, wr->remote_addr);
		if (r)
			memory_use(r, wr->remote_addr, trace_wr_bytes(wr), true, "remote");
	}
}

/* First the regions of all programs: a peer's accesses may come before them in its own file. */
void memory_learn(struct report_memory *m, const struct vt_program *p)
{
	const struct vt_rec *rec;
	u64 off = 0;

	while ((rec = vt_rec_next(p, &off)))
		if (rec->kind == VT_CALL)
			memory_call(m, p, rec);
}

void memory_count(struct report_memory *m, const struct vt_program *p)
{
	const struct vt_rec *rec;
	u64 off = 0;

	while ((rec = vt_rec_next(p, &off)))
		if (vt_is_send(rec->kind) || vt_is_recv(rec->kind))
			memory_post(m, p, rec);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static struct json_object *memory_accesses(const struct memory_region *r)
{
	struct json_object *all = json_object_new_array(), *one;
	u64 i, n = r->local + r->remote;

	for (i = 0; i < n && i < MEMORY_ACCESSES; i++) {
		one = json_object_new_array();
		json_append(one, json_object_new_int64((int64_t)r->used[i].from));
		json_append(one, json_object_new_int64((int64_t)r->used[i].to));
		json_append(one, json_object_new_string(r->used[i].how));
		json_append(all, one);
	}
	return all;
}

static struct json_object *memory_json(const struct memory_region *r)
{
	struct json_object *o = json_object_new_object();
	char text[64];

	snprintf(text, sizeof(text), "%.40s p%u", trace_program_name(r->p), r->p->num);
	json_add_str(o, "program", text);
	snprintf(text, sizeof(text), "mr%u", r->mr);
	json_add_str(o, "name", text);
	/* Addresses have more bits than numbers of JavaScript. */
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)r->addr);
	json_add_str(o, "addr", text);
	json_add_int(o, "length", r->length);
	json_add_int(o, "rkey", r->rkey);
	json_add_str(o, "access", r->access);
	json_add(o, "deregistered", json_object_new_boolean(r->deregistered));
	json_add_int(o, "local", r->local);
	json_add_int(o, "remote", r->remote);
	json_add(o, "accesses", memory_accesses(r));
	return o;
}

void report_memory_add(const struct report_memory *m, struct report *r)
{
	u32 i;

	for (i = 0; i < m->n; i++)
		report_append(r, "memory", memory_json(m->region[i]));
	if (m->lost)
		json_add(r->doc, "memory_lost", json_object_new_boolean(true));
}
