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

/** fault_call() - PROTO_CALL: a client is in a call. @m becomes the answer. Return: 0 or -EINVAL. */
int fault_call(struct fabric *f, const struct client *cl, struct proto_msg *m);
/** fault_calls_journal() - calls that have failed are journalled. Token held. */
void fault_calls_journal(struct fabric *f);
/** fault_calls() - rules have changed, or @cl (NULL: all) has come: which calls ask. */
void fault_calls(struct fabric *f, struct client *cl);

/* --- work_request.c ------------------------------------------------------------------------------ */

/** fault_work() - as hca_host.fault. */
u32 fault_work(void *ctx, struct hca_work *work);

/* --- event.c ----------------------------------------------------------------------------- */

/** fault_event() - as fault_backend.fire: raise the event on all that the rule names. */
bool fault_event(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);

/* --- process.c ------------------------------------------------------------------------------ */

/** fault_kill(), fault_pause(), fault_resume() - as fault_backend.fire: clients' processes. */
bool fault_kill(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_pause(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_resume(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
/** fault_unpause() - as fault_backend.removed: who was paused by the rule goes on. */
void fault_unpause(struct fabric *f, struct fault_rule *r);
/** fault_unpause_all() - the fabric ends: nobody stays paused. */
void fault_unpause_all(struct fabric *f);

/* --- limit.c ----------------------------------------------------------------------------- */

/** fault_limit(), fault_unlimit() - as fault_backend.added, .removed. */
void fault_limit(struct fabric *f, struct fault_rule *r);
void fault_unlimit(struct fabric *f, struct fault_rule *r);
/** fault_limits() - devices came: they have the limits that rules set. */
void fault_limits(struct fabric *f);

#endif
