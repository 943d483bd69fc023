/* SPDX-License-Identifier: MIT */
/* Records copies to and from device memory. */
#include "traces/record/hooks.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

/* A DM may be as large as a record; the bytes of longer copies are not stored. */
#define STORED_MAX (64u << 20)

static void rec_dm_record_copy(const struct tap_obj *o, struct rec_span span,
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

enum tap_verdict rec_dm_begin(struct tap_dm *d)
{
	rec_mem_scan_exposed(false);
	rec_span_keep(&d->op.scratch[TAP_RECORD], rec_span_begin());
	return TAP_PASS;
}

void rec_dm_end(struct tap_dm *d)
{
	struct vt_dm what = { .to = d->to, .off = d->off, .len = d->len, .ret = d->ret };

	rec_dm_record_copy(d->obj, rec_span_kept(&d->op.scratch[TAP_RECORD]), &what,
			   (uintptr_t)d->host);
}
