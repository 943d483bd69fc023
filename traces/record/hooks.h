/* SPDX-License-Identifier: MIT */
/** DOC: the hooks of the recorder, as struct tap_user describes them. */
#ifndef TRACES_RECORD_HOOKS_H
#define TRACES_RECORD_HOOKS_H

#include "libtap/tap.h"

/* --- call.c --- */

enum tap_verdict rec_call_begin(struct tap_call *c);
void rec_call_returned(struct tap_call *c);
void rec_call_end(struct tap_call *c);
void rec_object_new(struct tap_obj *o);
void rec_object_gone(struct tap_obj *o);

/* --- post.c --- */

enum tap_verdict rec_post_begin(struct tap_post *p);
void rec_post_end(struct tap_post *p);

/* --- wr.c --- */

void rec_wr(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op);
enum tap_verdict rec_wr_batch_begin(struct tap_batch *b);
void rec_wr_batch_end(struct tap_batch *b);

/* --- poll.c --- */

enum tap_verdict rec_poll_cq_begin(struct tap_poll *p);
void rec_poll_cq_end(struct tap_poll *p);
enum tap_verdict rec_cq_begin(struct tap_cqop *p);
void rec_cq_end(struct tap_cqop *p);

/* --- cq_ex.c --- */

enum tap_verdict rec_cqex_begin(struct tap_cqex *p);
void rec_cqex_end(struct tap_cqex *p);

/* --- dm.c --- */

enum tap_verdict rec_dm_begin(struct tap_dm *d);
void rec_dm_end(struct tap_dm *d);

#endif
