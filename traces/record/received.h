/* SPDX-License-Identifier: MIT */
/** DOC: the CRC of received data. */
#ifndef TRACES_RECORD_RECEIVED_H
#define TRACES_RECORD_RECEIVED_H

#include "traces/record/object.h"

/** rec_recv_posted() - @n receives are about to be posted to a QP or SRQ. @o: NULL: unknown */
void rec_recv_posted(struct rec_obj *o, const struct ibv_recv_wr *wr, u32 n);
/** rec_recv_refused() - the last @n of them were refused, from @bad on. */
void rec_recv_refused(struct rec_obj *o, const struct ibv_recv_wr *bad, u32 n);
/** rec_recv_reset() - a QP was reset. @o: NULL: unknown */
void rec_recv_reset(struct rec_obj *o);
/** rec_recv_completed() - set the CRC of what a completion has received, if it is known. */
void rec_recv_completed(struct vt_wc *wc, const struct tap_obj *ctx);
void rec_recv_free(struct rec_obj *o);
/** rec_recv_forget() - in a child of fork(). */
void rec_recv_forget(void);

#endif
