/* SPDX-License-Identifier: MIT */
/** DOC: when packets leave: what rules delay them by, and senders that wait for rules. */
#ifndef FABRIC_FAULT_PACE_H
#define FABRIC_FAULT_PACE_H

#include "fabric/fault/packet.h"
#include "fabric/fault/rule.h"

struct burst;
struct fabric;

/** fault_op_is_answer() - whether packets of this opcode answer requests. */
bool fault_op_is_answer(u32 op);
/** fault_delay_ns() - how long a rule delays the packet with this key, with jitter. */
u64 fault_delay_ns(struct fabric *f, const struct fault_rule *r, u64 key);
/**
 * fault_rate_wait_ns() - how long a packet of @wire bytes waits for a rule's rate, which all
 * packets that the rule hits share, one after the other. r->state: busy until then.
 */
u64 fault_rate_wait_ns(const struct fabric *f, struct fault_rule *r, u64 wire);
/** fault_rule_lane() - packets that one rule delays stay in order; others may overtake them. */
u8 fault_rule_lane(const struct fabric *f, const struct fault_rule *r);
/**
 * fault_check_rates() - whether a rate rule has so much queued that the sender has to wait.
 * Return: 0 or -EAGAIN.
 */
int fault_check_rates(struct fabric *f, const struct burst *b);
/**
 * fault_check_window() - whether the QP has so many packets under way that it has to wait for ACKs:
 * all packets after a lost one are sent again. Return: 0 or -EAGAIN.
 */
int fault_check_window(struct fabric *f, const struct burst *b);

#endif
