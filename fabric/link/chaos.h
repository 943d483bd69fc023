/* SPDX-License-Identifier: MIT */
/**
 * DOC: chaos: no fault at all, but all the freedom that the specification gives an HCA. See chaos.c.
 */
#ifndef FABRIC_LINK_CHAOS_H
#define FABRIC_LINK_CHAOS_H

#include "fabric/core/fabric.h"
#include "fabric/link/queue.h"

/** chaos_make() - from its start on the fabric is like that, by hca->chaos_seed. Return: 0 or -ENOMEM. */
int chaos_make(struct fabric *f);
/**
 * chaos_now() - hca_host.now: what follows from something happens when that was to happen, though it may be
 * somewhat later by now: the order does not depend on how quick this process was.
 */
u64 chaos_now(const struct fabric *f);
/**
 * chaos_hold() - a burst is about to leave: whether its QP has to wait before that, as if it had not got its
 * turn yet. *at: until when, fabric time
 */
bool chaos_hold(struct fabric *f, const struct burst *b, u64 *at);
/** chaos_arrival() - when a burst arrives that takes @extra ns over links. */
u64 chaos_arrival(struct fabric *f, const struct burst *b, u64 extra);
/** chaos_set_arriving() - one is being delivered that was to arrive at @at; 0: it has been. */
void chaos_set_arriving(struct fabric *f, u64 at);
/**
 * chaos_coalesce_ack() - burst @b follows @last, which is still under way in the same flow: one acknowledge may do for
 * both.
 */
void chaos_coalesce_ack(struct fabric *f, const struct burst *b, struct burst *last);
/**
 * chaos_send_rnr() - a request arrives: whether it was refused by an RNR NAK, though it could be taken. It will
 * come again. Token held. Return: false; true: done with, *ret as hca_input().
 */
bool chaos_send_rnr(struct fabric *f, const struct burst *b, int *ret);
/** chaos_delay_event() - as hca_host.late. */
bool chaos_delay_event(void *ctx, u32 owner, u32 chan, const struct chan_event *ev);
/** chaos_next() - fabric time at which the next of these events is due, or NEVER. */
u64 chaos_next(const struct fabric *f);
/** chaos_work() - queue those that are due. With chaos; token held. */
void chaos_work(struct fabric *f);

#endif
