/* SPDX-License-Identifier: MIT */
/**
 * DOC: the actions of fault rules other than those on packets (tx.h): on calls, work requests,
 * objects, links, processes and limits. Functions that change the HCA are called with the token
 * held.
 */
#ifndef FABRIC_FAULT_ACTION_H
#define FABRIC_FAULT_ACTION_H

#include "emulator/engine.h"
#include "fabric/fault/rule.h"
#include "fabric/proto/tapped.h"

struct client;
struct fabric;
struct fault_pkt;
struct hca_work;
struct journal_entry;
struct proto_msg;

/* --- action.c --------------------------------------------------------------------------------- */

/**
 * struct fault_action - what carries out an action. Each function may be NULL; actions on packets,
 * calls and work requests have none: their matchers return the rule.
 * @added: FAULT_ON_STATE: the rule's window has opened. Others: the rule was added.
 * @removed: the rule is removed, or its window has closed: undo what it did.
 * @fire: FAULT_ON_TIME: the rule is due, or the packet *p has triggered it (NULL: none). It may
 *	call fault_rule_set_due() to be called again; rule->phase and ->state are its own. Token
 *	held. Return: whether it has acted on anything: that is a hit.
 */
struct fault_action {
	void (*added)(struct fabric *f, struct fault_rule *r);
	void (*removed)(struct fabric *f, struct fault_rule *r);
	bool (*fire)(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
};
extern const struct fault_action fault_actions[FA_COUNT];

/** fault_wr_status() - engine_ops.fault: how a work request is to end, and how late it begins. */
u32 fault_wr_status(void *ctx, struct hca_work *work);

/* --- call.c ----------------------------------------------------------------------------------- */

/**
 * fault_call_request() - PROTO_CALL: a client makes a call. @m becomes the answer. Return: 0 or
 * -EINVAL.
 */
int fault_call_request(struct fabric *f, const struct client *cl, struct proto_msg *m);
/** fault_call_failed() - PROTO_CALL_FAILED. Return: 0, -EINVAL or -EOPNOTSUPP. */
int fault_call_failed(struct fabric *f, const struct client *cl, const struct proto_msg *m);
/** fault_program_text() - copy a text of a program, with "?" for what is no text on terminals. */
void fault_program_text(char to[PROTO_ARGS], const char from[PROTO_ARGS]);
/** fault_call_journal() - put an entry into the journal, as soon as the token can be taken. */
void fault_call_journal(struct fabric *f, const struct journal_entry *j);
/** fault_call_flush_journal() - put entries that wait into the journal. Token held. */
void fault_call_flush_journal(struct fabric *f);
/**
 * fault_call_update_masks() - rules have changed, or @cl (NULL: all) is new: set which of its calls
 * ask.
 */
void fault_call_update_masks(struct fabric *f, struct client *cl);

/* --- real_work.c ------------------------------------------------------------------------------ */

/**
 * fault_work_request() - PROTO_WORK: a client on real devices posts a work request. @m becomes the
 * answer. Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int fault_work_request(struct fabric *f, const struct client *cl, struct proto_msg *m);
/**
 * fault_work_publish_filter() - write into the segment of a client on real devices which of its
 * work requests ask: fabric/proto/work_filter.h.
 */
void fault_work_publish_filter(const struct fabric *f, struct client *cl);
/** fault_work_failed() - PROTO_WORK_FAILED. Return: as fault_work_request(). */
int fault_work_failed(struct fabric *f, const struct client *cl, const struct proto_msg *m);

/* --- real_event.c ----------------------------------------------------------------------------- */

/**
 * fault_cm_request() - PROTO_CM: a client on real devices is about to get an event of the rdma_cm.
 * @m becomes the answer. Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int fault_cm_request(struct fabric *f, const struct client *cl, struct proto_msg *m);
/** fault_event_seen() - PROTO_EVENT_SEEN. Return: as fault_cm_request(). */
int fault_event_seen(struct fabric *f, const struct client *cl, const struct proto_msg *m);
/** fault_qp_unseen() - PROTO_UNSEEN. Return: as fault_cm_request(). */
int fault_qp_unseen(struct fabric *f, const struct client *cl, const struct proto_msg *m);

/* --- real_raise.c ----------------------------------------------------------------------------- */

/**
 * fault_real_event_fire() - let the programs on real devices that the rule names raise its event.
 * Return: false: the rule is hit when they have.
 */
bool fault_real_event_fire(struct fabric *f, const struct fault_rule *r);
/** fault_events_open() - PROTO_EVENTS. Return: 0, -errno, or as fault_cm_request(). */
int fault_events_open(struct fabric *f, struct client *cl, int *fds, u32 *n_fds);
/** fault_event_next() - PROTO_EVENT_NEXT: @m becomes the answer. Return: 0 or -EAGAIN. */
int fault_event_next(struct fabric *f, struct client *cl, struct proto_msg *m);
/** fault_event_raised() - PROTO_EVENT_RAISED. Return: as fault_cm_request(). */
int fault_event_raised(struct fabric *f, const struct client *cl, const struct proto_msg *m);

/* --- hold.c ----------------------------------------------------------------------------------- */

/**
 * fault_hold_request() - PROTO_HOLD: completions of a client's CQ can be withheld. @m becomes the
 * answer. Return: 0 or -EINVAL.
 */
int fault_hold_request(struct fabric *f, const struct client *cl, struct proto_msg *m);

/* --- event.c ---------------------------------------------------------------------------------- */

/** fault_object_event_fire() - raise the event on every object that the rule names. */
bool fault_object_event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);

/* --- port.c ----------------------------------------------------------------------------------- */

/** fault_port_event_fire() - raise a port event on every port that the rule names. */
bool fault_port_event_fire(struct fabric *f, struct fault_rule *r);
bool fault_link_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
void fault_link_removed(struct fabric *f, struct fault_rule *r);
void fault_partition_added(struct fabric *f, struct fault_rule *r);
void fault_partition_removed(struct fabric *f, struct fault_rule *r);
bool fault_heal_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
/**
 * fault_match_cut() - the partition, or link between two nodes, that a packet cannot pass, or NULL.
 * Counts the packet.
 */
struct fault_rule *fault_match_cut(struct fabric *f, const struct fault_pkt *p);

/* --- process.c -------------------------------------------------------------------------------- */

/** fault_kill_fire(), fault_pause_fire(), fault_resume_fire() - signal the clients that match. */
bool fault_kill_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_pause_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
bool fault_resume_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
/** fault_process_is_there() - whether a running program is one that the rule is about. */
bool fault_process_is_there(struct fabric *f, const struct fault_rule *r);
/** fault_pause_removed() - resume the processes that the rule has paused. */
void fault_pause_removed(struct fabric *f, struct fault_rule *r);
/** fault_resume_all() - the fabric ends: resume every paused process. */
void fault_resume_all(struct fabric *f);

/* --- limit.c ---------------------------------------------------------------------------------- */

void fault_limit_added(struct fabric *f, struct fault_rule *r);
void fault_limit_removed(struct fabric *f, struct fault_rule *r);
/**
 * fault_limit_check() - check that the rule lowers a limit of a device, unless a node that it is
 * about may still come. Return: 0 or -EINVAL with *bad.
 */
int fault_limit_check(const struct fabric *f, const struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_limits_request() - PROTO_LIMITS: a client on real devices is about to create or query
 * something. Return: 0 or -EOPNOTSUPP.
 */
int fault_limits_request(struct fabric *f, struct proto_msg *m);
/** fault_limit_rule() - the id of the first rule that lowers limits now; 0: none does. */
u32 fault_limit_rule(const struct fabric *f);
/** fault_limit_update() - set the limits of all devices, also of new ones, from the rules. */
void fault_limit_update(struct fabric *f);

#endif
