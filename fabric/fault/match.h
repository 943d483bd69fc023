/* SPDX-License-Identifier: MIT */
/**
 * DOC: matching: which rules a packet, a call or a work request hits.
 */
#ifndef FABRIC_FAULT_MATCH_H
#define FABRIC_FAULT_MATCH_H

#include "fabric/fault/packet.h"
#include "fabric/proto/work_filter.h"

struct fabric;
struct proto_work;

#define FAULT_ACT(act) (1u << (act))
/* Actions on packets where they leave a port, and where they arrive. */
#define FAULT_ACTS_SEND                                                                            \
	(FAULT_ACT(FA_DROP) | FAULT_ACT(FA_CORRUPT) | FAULT_ACT(FA_DUPLICATE) |                    \
	 FAULT_ACT(FA_DELAY) | FAULT_ACT(FA_REORDER) | FAULT_ACT(FA_RATE))
#define FAULT_ACTS_ARRIVAL                                                                         \
	(FAULT_ACT(FA_RNR) | FAULT_ACT(FA_NAK) | FAULT_ACT(FA_REJECT) | FAULT_ACT(FA_MRA))

/**
 * fault_rule_is_on_pkt() - whether the packet matches the rule's where part, regardless of its
 * counters.
 */
bool fault_rule_is_on_pkt(const struct fabric *f, const struct fault_rule *r,
			  const struct fault_pkt *p);
/**
 * fault_rule_count() - count an event that matches the rule. @key: identity of the event, which
 * decides about probabilities.
 * Return: whether the rule hits.
 */
bool fault_rule_count(struct fabric *f, struct fault_rule *r, u64 key);
/**
 * fault_match_wire() - the next rule that hits the packet, among the actions in @acts
 * (FAULT_ACT()).
 * @at: 0 for the first call
 */
struct fault_rule *fault_match_wire(struct fabric *f, const struct fault_pkt *p, u32 acts, u32 *at);
/**
 * fault_match_call() - client @client calls @call (enum call_id): the rule that makes it fail, or
 * NULL.
 */
struct fault_rule *fault_match_call(struct fabric *f, u32 client, u32 call);
/**
 * fault_match_wr() - a QP is about to start a work request: the rule of action @act that hits it,
 * or NULL.
 */
struct fault_rule *fault_match_wr(struct fabric *f, const struct hca_work *work, u32 act);
/** fault_match_work() - likewise, of client @client on a real device: the rule of action @act. */
struct fault_rule *fault_match_work(struct fabric *f, u32 client, const struct proto_work *work,
				    u32 act);
/**
 * fault_work_rule() - what a rule about work requests on real devices selects, but for the client.
 */
struct work_rule fault_work_rule(const struct fault_where *w);
/**
 * fault_match_cm() - client @client on a real device is about to get what a message of the CM has
 * caused, enum cm_attr: the rule that drops or rejects it, or NULL.
 */
struct fault_rule *fault_match_cm(struct fabric *f, u32 client, u32 attr);
/** fault_rule_is_on_client() - whether node=, program= and pid= match that client. */
bool fault_rule_is_on_client(const struct fabric *f, const struct fault_where *w, u32 client);
/**
 * fault_rule_is_on_port() - whether node=, device= and port= match that port; @port 0: any port of
 * the device.
 */
bool fault_rule_is_on_port(const struct fabric *f, const struct fault_where *w, u32 dev, u32 port);
/** fault_rule_is_open() - whether the rule's window is open. */
bool fault_rule_is_open(const struct fabric *f, const struct fault_rule *r);
/** fault_rule_random() - a number that the seed, the rule and @key decide. @n: which of several */
u64 fault_rule_random(const struct fabric *f, const struct fault_rule *r, u64 key, u32 n);
/** fault_pkt_key() - the identity of a packet. */
u64 fault_pkt_key(const struct fault_pkt *p);

#endif
