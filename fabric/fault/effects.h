/* SPDX-License-Identifier: MIT */
/**
 * DOC: what fault rules do beyond packets: to calls, work requests, objects, programs and limits.
 * Functions that change the HCA are called with the token held.
 */
#ifndef FABRIC_FAULT_EFFECTS_H
#define FABRIC_FAULT_EFFECTS_H

#include "fabric/server/fabric.h"
#include "fabric/fault/capability.h"

/* --- call.c ------------------------------------------------------------------------------ */

/** fault_call_request() - PROTO_CALL: a client is in a call. @m becomes the answer. Return: 0 or -EINVAL. */
int fault_call_request(struct fabric *f, const struct client *cl, struct proto_msg *m);
/** fault_call_flush_journal() - calls that have failed are journalled. Token held. */
void fault_call_flush_journal(struct fabric *f);
/** fault_call_update_masks() - rules have changed, or @cl (NULL: all) has come: which calls ask. */
void fault_call_update_masks(struct fabric *f, struct client *cl);

/* --- work_request.c ------------------------------------------------------------------------------ */

/** fault_wr_status() - as hca_host.fault. */
u32 fault_wr_status(void *ctx, struct hca_work *work);

/* --- event.c ----------------------------------------------------------------------------- */

/** fault_object_event_fire() - as fault_backend.fire: raise the event on all that the rule names. */
bool fault_object_event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);

/* --- process.c ------------------------------------------------------------------------------ */

/** fault_kill_fire(), fault_pause_fire(), fault_resume_fire() - as fault_backend.fire: clients' processes. */
bool fault_kill_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_pause_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_resume_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
/** fault_pause_removed() - as fault_backend.removed: who was paused by the rule goes on. */
void fault_pause_removed(struct fabric *f, struct fault_rule *r);
/** fault_resume_all() - the fabric ends: nobody stays paused. */
void fault_resume_all(struct fabric *f);

/* --- limit.c ----------------------------------------------------------------------------- */

/** fault_limit_added(), fault_limit_removed() - as fault_backend.added, .removed. */
void fault_limit_added(struct fabric *f, struct fault_rule *r);
void fault_limit_removed(struct fabric *f, struct fault_rule *r);
/** fault_limit_update() - devices came: they have the limits that rules set. */
void fault_limit_update(struct fabric *f);

#endif
