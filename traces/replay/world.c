/* SPDX-License-Identifier: MIT */
/*
 * Opens the trace of a replay, and lays out the memory that its processes share: struct rp_share,
 * the slots of all threads, struct rp_made of all objects, and struct rp_seen of all programs.
 */
#include "traces/replay/world.h"
#include "traces/replay/atomics.h"
#include "traces/replay/files.h"
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"
#include "traces/replay/trace_index.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const enum vobj made_kind[RP_MADE_COUNT] = {
	[RP_MR] = VOBJ_MR,   [RP_MW] = VOBJ_MW, [RP_QP] = VOBJ_QP, [RP_SRQ] = VOBJ_SRQ,
	[RP_CTX] = VOBJ_CTX, [RP_PD] = VOBJ_PD, [RP_DM] = VOBJ_DM, [RP_PORT] = VOBJ_ID
};

static void world_lay_out(struct rp_world *w)
{
	size_t size = (sizeof(struct rp_share) + 63) & ~(size_t)63;
	uint32_t prog, kind;

	for (prog = 0; prog < w->dir.n_progs; prog++)
		w->n_slots += w->dir.prog[prog].n_threads + 1;
	size += w->n_slots * sizeof(struct rp_slot);
	for (prog = 0; prog < w->dir.n_progs; prog++)
		for (kind = 0; kind < RP_MADE_COUNT; kind++)
			size += w->n_obj[prog][made_kind[kind]] * sizeof(struct rp_made);
	w->share_size = size + w->dir.n_progs * sizeof(struct rp_seen);
}

int rp_world_open(struct rp_world *w, const char *dir, struct vt_error *err)
{
	const char *payload;
	int ret;

	memset(w, 0, sizeof(*w));
	ret = vt_dir_open(&w->dir, dir, err);
	if (ret)
		return ret;
	payload = vt_info_get(&w->dir.about, "payload");
	w->full = !payload || !strcmp(payload, "full");
	ret = rp_index_read(w);
	if (!ret)
		ret = rp_words_init(w);
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s: no memory", dir);
	else
		world_lay_out(w);
	return ret;
}

/* Sets each slot to the thread's first record, which no other thread may overtake. */
static void slots_init(struct rp_world *w, uint32_t prog, struct rp_slot *slot)
{
	const struct vt_program *p = &w->dir.prog[prog];
	const struct vt_rec *rec;
	uint64_t off;
	uint32_t i;

	for (i = 0; i <= p->n_threads; i++) {
		slot[i].prog = prog;
		slot[i].thread = i;
		slot[i].next_end = RP_DONE;
		slot[i].wanted = RP_DONE;
	}
	for (off = 0; (rec = vt_rec_next(p, &off));)
		if (slot[rec->thread].next_end == RP_DONE)
			slot[rec->thread].next_end = rec->end;
}

int rp_world_map(struct rp_world *w, int fd, bool fresh)
{
	struct rp_slot *slot;
	uint32_t prog, kind;
	uint8_t *at;

	at = mmap(NULL, w->share_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	w->share = (struct rp_share *)at;
	if (!fresh && w->share->magic != RP_MAGIC)
		return -EINVAL;
	w->share->magic = RP_MAGIC;
	at += (sizeof(struct rp_share) + 63) & ~(size_t)63;
	w->slot = slot = (struct rp_slot *)at;
	for (prog = 0; prog < w->dir.n_progs; prog++) {
		if (fresh)
			slots_init(w, prog, slot);
		slot += w->dir.prog[prog].n_threads + 1;
	}
	at = (uint8_t *)slot;
	for (prog = 0; prog < w->dir.n_progs; prog++)
		for (kind = 0; kind < RP_MADE_COUNT; kind++) {
			w->made[prog][kind] = (struct rp_made *)at;
			at += w->n_obj[prog][made_kind[kind]] * sizeof(struct rp_made);
		}
	w->seen = (struct rp_seen *)at;
	return fresh ? rp_files_make(w) : 0;
}

struct rp_slot *rp_slots_of(const struct rp_world *w, uint32_t prog)
{
	struct rp_slot *slot = w->slot;
	uint32_t i;

	for (i = 0; i < prog; i++)
		slot += w->dir.prog[i].n_threads + 1;
	return slot;
}
