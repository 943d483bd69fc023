/* SPDX-License-Identifier: MIT */
/**
 * DOC: what rules can ask for beyond packets. What a rule leaves open is filled in.
 */
#ifndef FABRIC_FAULT_CAPABILITY_H
#define FABRIC_FAULT_CAPABILITY_H

#include "fabric/fault/fault.h"

/** fault_check_call() - a rule about calls: the call, and its error. Return: 0 or -EINVAL with *bad. */
int fault_check_call(struct fault_rule *r, struct fault_bad *bad);
/** fault_check_work() - whether the status can come of what the rule names. Return: as above. */
int fault_check_work(struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_check_event() - an event that is none of ports. One that comes of a call makes the rule one about
 * that call. Return: as above.
 */
int fault_check_event(struct fault_rule *r, struct fault_bad *bad);
/** fault_check_limit() - whether there are limits of these names. Return: as above. */
int fault_check_limit(const struct fault_rule *r, struct fault_bad *bad);
/** fault_limit_shrink() - a limit becomes no larger than @value. Return: whether it was. */
bool fault_limit_shrink(struct hca_limits *l, const char *name, u64 value);

#endif
