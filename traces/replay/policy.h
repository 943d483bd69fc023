/* SPDX-License-Identifier: MIT */
/** DOC: what to do about unexpected messages and events. */
#ifndef TRACES_REPLAY_POLICY_H
#define TRACES_REPLAY_POLICY_H

#include "traces/replay/replay.h"

/** rp_policy_set() - set the policy by its name. Returns false: unknown name. */
bool rp_policy_set(struct rp_world *w, const char *name);
/** rp_policy_note() - count an unexpected message or event, and print it if it is put aside. */
void rp_policy_note(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		    const char *got);
/**
 * rp_policy_get_event() - call rdma_get_cm_event() until the event is the one of the recorded
 * result @want.
 */
int rp_policy_get_event(struct rp_thread *t, const struct vt_rec *rec, const char *want,
			struct rdma_event_channel *channel, struct rdma_cm_event **ev);
/**
 * rp_policy_drop_events() - discard events of an identifier, whose destruction would wait for them.
 */
void rp_policy_drop_events(struct rp_prog *g, const struct rdma_cm_id *id);
/**
 * rp_recv_repost() - repost a receive that an ignored message has consumed. The caller holds the
 * lock.
 */
void rp_recv_repost(struct rp_thread *t, const struct vt_rec *rec, uint32_t qp, struct rp_recv *r);

#endif
