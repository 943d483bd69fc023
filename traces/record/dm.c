/* SPDX-License-Identifier: MIT */
/* Copies to and from device memory, through function pointers in a DM. */
#include "traces/record/dm.h"
#include "traces/record/memory.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

/* A DM may be as large as a record; the bytes of longer copies are not stored. */
#define STORED_MAX (64u << 20)

static void rec_dm_record_copy(const struct rec_obj *o, struct rec_span span,
			       const struct vt_dm *what, u64 host)
{
	u32 stored = what->to && !what->ret && rec.payload == REC_FULL && what->len <= STORED_MAX
			     ? (u32)what->len
			     : 0;
	struct vt_dm *body;
	struct vt_rec *r;

	r = rec_record_begin(VT_DM, sizeof(*body) + stored);
	if (!r)
		return;
	body = vt_rec_body(r);
	*body = *what;
	body->dm = o->ord;
	body->stored = stored;
	if (stored)
		rec_mem_read(body + 1, host, stored);
	if (!what->ret && rec.payload != REC_NONE)
		body->crc = stored ? vt_crc(0, body + 1, stored) : rec_mem_crc(0, host, what->len);
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

static int rec_dm_copy_to(struct ibv_dm *dm, uint64_t offset, const void *host, size_t length)
{
	struct rec_obj *o = rec_obj_find(VOBJ_DM, dm);
	__typeof__(dm->memcpy_to_dm) lower = (__typeof__(lower))o->low[0];
	struct vt_dm what = { .to = 1, .off = offset, .len = length };
	struct rec_span span;
	int saved;

	if (!rec_enter())
		return lower(dm, offset, host, length);
	rec_mem_scan_exposed(false);
	span = rec_span_begin();
	what.ret = lower(dm, offset, host, length);
	saved = errno;
	rec_dm_record_copy(o, span, &what, (uintptr_t)host);
	rec_leave();
	errno = saved;
	return what.ret;
}

static int rec_dm_copy_from(void *host, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	struct rec_obj *o = rec_obj_find(VOBJ_DM, dm);
	__typeof__(dm->memcpy_from_dm) lower = (__typeof__(lower))o->low[1];
	struct vt_dm what = { .off = offset, .len = length };
	struct rec_span span;
	int saved;

	if (!rec_enter())
		return lower(host, dm, offset, length);
	rec_mem_scan_exposed(false);
	span = rec_span_begin();
	what.ret = lower(host, dm, offset, length);
	saved = errno;
	rec_dm_record_copy(o, span, &what, (uintptr_t)host);
	rec_leave();
	errno = saved;
	return what.ret;
}

void rec_dm_attach(struct rec_obj *o, struct ibv_dm *dm)
{
	o->low[0] = (void *)dm->memcpy_to_dm;
	o->low[1] = (void *)dm->memcpy_from_dm;
	dm->memcpy_to_dm = rec_dm_copy_to;
	dm->memcpy_from_dm = rec_dm_copy_from;
}
