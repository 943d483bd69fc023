/* SPDX-License-Identifier: MIT */
/**
 * DOC: chaos: no faults, but everything that the specification leaves open is randomised. See
 * chaos.c.
 */
#ifndef FABRIC_LINK_CHAOS_H
#define FABRIC_LINK_CHAOS_H

#include "fabric/core/fabric.h"
#include "fabric/link/queue.h"

/** chaos_make() - start chaos, with the seed hca->chaos_seed. Return: 0 or -ENOMEM. */
int chaos_make(struct fabric *f);
/**
 * chaos_now() - as engine_ops.now: the time at which the event that is being handled was due.
 * The engine dates all that follows from the event by that time, even if the fabric process is
 * late, so that the order does not depend on its speed.
 */
u64 chaos_now(const struct fabric *f);
/**
 * chaos_hold() - whether the QP of a burst has to wait before it sends it, as if its turn had not
 * come.
 * @at: receives the end of the wait, fabric time
 */
bool chaos_hold(struct fabric *f, const struct burst *b, u64 *at);
/** chaos_arrival() - the time at which a burst arrives that takes @extra ns over links. */
u64 chaos_arrival(struct fabric *f, const struct burst *b, u64 extra);
/** chaos_set_arriving() - a burst that was due @at is being delivered; 0: it has been. */
void chaos_set_arriving(struct fabric *f, u64 at);
/**
 * chaos_coalesce_ack() - burst @b follows @last, which is still queued in the same flow: one ACK
 * may cover both.
 */
void chaos_coalesce_ack(struct fabric *f, const struct burst *b, struct burst *last);
/**
 * chaos_send_rnr() - a request arrives: refuse it by an RNR NAK, or not. The requester sends it
 * again. Token held.
 * Return: false: deliver it; true: it was refused, with *ret as hca_input().
 */
bool chaos_send_rnr(struct fabric *f, const struct burst *b, int *ret);
/** chaos_delay_event() - as engine_ops.late. */
bool chaos_delay_event(void *ctx, u32 owner, u32 chan, const struct chan_event *ev);
/** chaos_next() - fabric time at which the next delayed event is due, or NEVER. */
u64 chaos_next(const struct fabric *f);
/** chaos_work() - deliver the delayed events that are due. Only with chaos. Token held. */
void chaos_work(struct fabric *f);

#endif
