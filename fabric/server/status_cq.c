/* SPDX-License-Identifier: MIT */
/* The completion queues in a status, and the memory that programs have registered. */
#include "emulator/ring.h"
#include "fabric/core/fabric.h"
#include "fabric/common/json.h"
#include "fabric/server/status.h"

#define REGISTERED_MAX (1ULL << 47) /* a longer region is all of the program's address space */

/*
 * Entries that the program has not polled. It polls without the engine, so its place is in its own
 * segment, and is read first: entries that come meanwhile count, and none is counted as less than
 * 0. A value that the program has spoiled shows as an empty or a full queue.
 */
static u32 status_cq_entries(struct fabric *f, const struct hca_cq *cq, u32 client)
{
	u64 at = load_relaxed(&cq->ring);
	const struct cq_ctl *ctl;
	struct seg_hdr *seg;
	u32 cons;
	s32 n;

	if (client >= HCA_MAX_CLIENTS || !seg_range_ok(at, CQ_HDR) ||
	    at + CQ_HDR > load_relaxed(&f->hca->client[client].seg_used))
		return 0;
	seg = seg_of(&f->engine, client + 1);
	if (!seg)
		return 0;
	ctl = seg_ptr(seg, at);
	cons = load_acquire(&ctl->cons);
	n = (s32)(load_relaxed(&cq->prod) - cons);
	return n > 0 ? (u32)n : 0;
}

static struct json_object *status_cq_json(struct fabric *f, u32 i)
{
	const struct hca_cq *cq = &f->hca->cq[i];
	u32 depth = load_relaxed(&cq->depth), client = load_relaxed(&cq->client) - 1;
	struct json_object *o = json_object_new_object();

	json_add_int(o, "cq", i);
	json_add(o, "client", json_object_new_int64((s32)client));
	json_add_int(o, "depth", depth);
	json_add_int(o, "entries", min_u32(status_cq_entries(f, cq, client), depth));
	return o;
}

struct json_object *status_cqs(struct fabric *f)
{
	struct json_object *all = json_object_new_array();
	u32 i, n = min_u32(load_relaxed(&f->hca->tab[TAB_CQ].high), HCA_MAX_CQ);

	for (i = 0; i < n; i++)
		if (load_acquire(&f->hca->cq[i].client))
			json_append(all, status_cq_json(f, i));
	return all;
}

void status_registered(const struct fabric *f, u64 bytes[HCA_MAX_CLIENTS])
{
	u32 i, client, n = min_u32(load_relaxed(&f->hca->tab[TAB_MR].high), HCA_MAX_MR);
	const struct hca_mr *mr;
	u64 len;

	memset(bytes, 0, HCA_MAX_CLIENTS * sizeof(*bytes));
	for (i = 0; i < n; i++) {
		mr = &f->hca->mr[i];
		client = load_acquire(&mr->client) - 1;
		len = load_relaxed(&mr->len);
		if (client < HCA_MAX_CLIENTS && mr->kind == MR_USER && len < REGISTERED_MAX)
			bytes[client] += len;
	}
}
