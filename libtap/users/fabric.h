/* SPDX-License-Identifier: MIT */
/**
 * DOC: this process as a client of the fabric that has the rules for programs on real devices.
 *
 * Such a client has no devices in the fabric. It reads from its segment which calls rules are
 * about, and asks the fabric process about these only: fabric/proto/calls.h.
 */
#ifndef LIBTAP_USERS_FABRIC_H
#define LIBTAP_USERS_FABRIC_H

#include "fabric/proto/calls.h"
#include "fabric/proto/proto.h"
#include "fabric/proto/real_objects.h"
#include "fabric/proto/work_filter.h"
#include "traces/calls/calls.h"

/** tap_fabric_calls - a bit for each enum call_id that a rule is about. Never NULL. */
extern const u64 *tap_fabric_calls;
/** tap_fabric_filter - the work requests that a rule may be about. Never NULL. */
extern const struct work_filter *tap_fabric_filter;
/** tap_fabric_objects - where this process counts its objects; NULL: it is not a client. */
extern struct real_objects *tap_fabric_objects;

/**
 * tap_fabric_join() - become a client of the fabric that PROTO_REAL_ENV names, if it names one.
 * Return: whether this process is its client. A fabric that cannot be joined is reported on stderr.
 */
bool tap_fabric_join(void);
/** tap_fabric_forked() - in a child of fork(): it is not a client. */
void tap_fabric_forked(void);
/**
 * tap_fabric_ask() - ask whether a rule makes a call fail that the process begins. The rule counts
 * it. Any thread may ask. @line: the call's, or NULL
 * Return: the value of errno, or 0: it does not fail, or the fabric has ended.
 */
int tap_fabric_ask(enum call_id call, const struct vcall_text *line);

/**
 * tap_fabric_report() - tell the journal of a call that has failed.
 * @limited: a rule about limits has made it fail; otherwise none has
 */
void tap_fabric_report(enum call_id call, const struct vcall_text *line, int err, bool limited);

/**
 * tap_fabric_work() - ask how a work request ends that the process posts. Rules count it.
 * @work: gets @status and @delay_ns, both 0: it ends as the device says; and @hold_ns
 */
void tap_fabric_work(struct proto_work *work);
/** tap_fabric_report_work() - tell the journal of a completion in error, work.status. */
void tap_fabric_report_work(const struct proto_failed_work *failed);

/**
 * tap_fabric_cm() - ask what becomes of an event of the rdma_cm. A rule counts it.
 * Return: enum proto_cm_act
 */
u32 tap_fabric_cm(const struct proto_cm *cm);
/** tap_fabric_report_event() - tell the journal of an asynchronous event. */
void tap_fabric_report_event(const struct proto_event *event);

/** tap_fabric_events_fd() - the eventfd that says that a rule raises events. Return: or -errno. */
int tap_fabric_events_fd(void);
/** tap_fabric_next_event() - what a rule raises. Return: false: nothing more. */
bool tap_fabric_next_event(struct proto_raise *raise);
/** tap_fabric_report_raised() - an event of a rule was raised. */
void tap_fabric_report_raised(const struct proto_event *event);

/** tap_fabric_report_unseen() - tell the journal of a QP that the program uses past verbs. */
void tap_fabric_report_unseen(u32 qpn);

/**
 * tap_fabric_hold() - ask for how long completions may be withheld from the CQ with that handle. A
 * rule counts it. Return: in ns; 0: not at all.
 */
u64 tap_fabric_hold(u32 cq);

/** tap_fabric_has_hold() - whether a rule is about completions that can be withheld. */
static inline bool tap_fabric_has_hold(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_HOLD / 64]) & BIT64(CALLS_HOLD % 64);
}

/** tap_fabric_has_poll() - whether a rule is about one of these, or makes ibv_poll_cq() fail. */
static inline bool tap_fabric_has_poll(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_POLL / 64]) & BIT64(CALLS_POLL % 64);
}

/** tap_fabric_has_post() - whether a rule is about work requests, or makes a post fail. */
static inline bool tap_fabric_has_post(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_POST / 64]) & BIT64(CALLS_POST % 64);
}

/** tap_fabric_limits() - ask for the limits in force. Return: whether there was an answer. */
bool tap_fabric_limits(struct hca_limits *limits);

/** tap_fabric_has_limits() - whether a rule lowers limits. */
static inline bool tap_fabric_has_limits(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_LIMIT / 64]) & BIT64(CALLS_LIMIT % 64);
}

/** tap_fabric_has_work() - whether a rule is about work requests. */
static inline bool tap_fabric_has_work(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_WORK / 64]) & BIT64(CALLS_WORK % 64);
}

/** tap_fabric_has_cm() - whether a rule is about messages of connection management. */
static inline bool tap_fabric_has_cm(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_CM / 64]) & BIT64(CALLS_CM % 64);
}

/** tap_fabric_has_event() - whether a rule raises asynchronous events. */
static inline bool tap_fabric_has_event(void)
{
	return load_relaxed(&tap_fabric_calls[CALLS_EVENT / 64]) & BIT64(CALLS_EVENT % 64);
}

/** tap_fabric_has_call() - whether a rule makes that call fail. */
static inline bool tap_fabric_has_call(enum call_id call)
{
	return load_relaxed(&tap_fabric_calls[call / 64]) & BIT64(call % 64);
}

/** tap_fabric_call_error() - as tap_fabric_ask(), which is only called if there is a rule. */
static inline int tap_fabric_call_error(enum call_id call, const struct vcall_text *line)
{
	if (likely(!tap_fabric_has_call(call)))
		return 0;
	return tap_fabric_ask(call, line);
}

/** tap_fabric_error() - likewise for a call of the data path, which has no line. */
static inline int tap_fabric_error(enum call_id call)
{
	return tap_fabric_call_error(call, NULL);
}

#endif
