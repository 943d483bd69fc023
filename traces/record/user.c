/* SPDX-License-Identifier: MIT */
/* The hooks of the recorder. It only watches: each call and work request passes unchanged. */
#include "traces/record/hooks.h"
#include "traces/record/start.h"

static const struct tap_user rec_user = {
	.slot = TAP_RECORD,
	.objects = true,
	.start = rec_start,
	.thread_start = rec_thread_start,
	.thread_end = rec_thread_end,
	.fork_child = rec_fork_child,
	.finish = rec_finish,
	.note = rec_note_text,
	.call_begin = rec_call_begin,
	.call_returned = rec_call_returned,
	.call_end = rec_call_end,
	.object_new = rec_object_new,
	.object_gone = rec_object_gone,
	.post_begin = rec_post_begin,
	.post_end = rec_post_end,
	.wr = rec_wr,
	.wr_batch_begin = rec_wr_batch_begin,
	.wr_batch_end = rec_wr_batch_end,
	.poll_begin = rec_poll_cq_begin,
	.poll_end = rec_poll_cq_end,
	.cqex_begin = rec_cqex_begin,
	.cqex_end = rec_cqex_end,
	.cq_begin = rec_cq_begin,
	.cq_end = rec_cq_end,
	.dm_begin = rec_dm_begin,
	.dm_end = rec_dm_end,
};

TAP_USER(rec_user);
