/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw Ethernet: frames from work requests to receivers. See raw.c.
 */
#ifndef EMULATOR_TRANSPORT_RAW_H
#define EMULATOR_TRANSPORT_RAW_H

#include "emulator/engine.h"
#include "emulator/transport/wqe.h"

/* --- raw.c --- */

/**
 * raw_send() - put the next frame of a RAW_PACKET work request on the wire.
 * @at: where it has got: 0 at first; kept by the caller between calls
 * Return: 0 when that was the last; 1 with *at moved on: another is to come; -EAGAIN with *at moved
 * on: the rest of this one is to be tried again; another negative value: a WC status, negated,
 * which the work request fails with; *v has its cause and info.
 */
int raw_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	     const struct sq_wqe *w, u64 *at, struct verdict *v);
/**
 * raw_input() - an Ethernet frame arrives at port b->dst_port of b->dst_dev, over links. Token
 * held.
 * @frame: its bytes, which @b refers to, and its check sequence after them
 * @next: which flow rule is next, 0 at first
 * Return: as hca_input(); with -EAGAIN *next has moved on, for the next try.
 */
int raw_input(struct engine *e, const struct burst *b, u8 *frame, u32 *next);

#endif
