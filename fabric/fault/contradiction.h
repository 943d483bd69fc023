/* SPDX-License-Identifier: MIT */
/**
 * DOC: refusal of rules that can never hit. A test with such a rule would pass without its fault.
 * They return 0, or -EINVAL with *bad; call them when the rule's opcodes and types are settled.
 */
#ifndef FABRIC_FAULT_CONTRADICTION_H
#define FABRIC_FAULT_CONTRADICTION_H

#include "fabric/fault/rule.h"

/** fault_check_packet_words() - a rule on packets: sizes, rounds and ends that none has. */
int fault_check_packet_words(const struct fault_rule *r, struct fault_bad *bad);
/** fault_check_link_words() - link=, node=, peer= and direction= that no packet has together. */
int fault_check_link_words(const struct fault_where *w, struct fault_bad *bad);
/** fault_check_work_words() - a rule on work requests. */
int fault_check_work_words(const struct fault_rule *r, struct fault_bad *bad);

#endif
