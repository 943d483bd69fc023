/* SPDX-License-Identifier: MIT */
/**
 * DOC: what rules other than those on packets can ask for. The checks fill in what a rule leaves
 * open.
 */
#ifndef FABRIC_FAULT_CAPABILITY_H
#define FABRIC_FAULT_CAPABILITY_H

#include "fabric/fault/rule.h"

/** fault_check_call() - check the call and its errno. Return: 0 or -EINVAL with *bad. */
int fault_check_call(struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_check_work() - check that the work requests of the rule can end with its status. Return: as
 * above.
 */
int fault_check_work(struct fault_rule *r, struct fault_bad *bad);
/** fault_check_defer() - check that a queue pair posts what the rule names. Return: as above. */
int fault_check_defer(struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_check_event() - check an event that is not a port event. A rule on an event that a call
 * reports becomes a rule on that call. Return: as above.
 */
int fault_check_event(struct fault_rule *r, struct fault_bad *bad);
/** fault_check_limit() - check that limits of these names exist. Return: as above. */
int fault_check_limit(const struct fault_rule *r, struct fault_bad *bad);
/** fault_limit_shrink() - lower a limit to @value. Return: whether it was larger before. */
bool fault_limit_shrink(struct hca_limits *l, const char *name, u64 value);

#endif
