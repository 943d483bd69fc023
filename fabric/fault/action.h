/* SPDX-License-Identifier: MIT */
/**
 * DOC: how the actions of fault rules are carried out: what action.c has in its table.
 */
#ifndef FABRIC_FAULT_ACTION_H
#define FABRIC_FAULT_ACTION_H

#include "fabric/fault/fault.h"

/**
 * struct fault_backend - how an action is carried out; those of packets are tx.c's.
 * @there: the action can be asked for
 * @check: whether this rule can be carried out here, 0 or fault_refuse(). May be NULL.
 * @added: FAULT_ON_STATE: its window has opened. Others: it was added. May be NULL.
 * @removed: the rule goes, or its window has closed: undo what it did. May be NULL.
 * @fire: FAULT_ON_TIME: its time has come (again), or the packet *p has triggered it (NULL: none). It may
 *	call fault_rule_set_due() to be called again, with rule->phase and ->state as it likes. Token held.
 *	Return: whether it was carried out on anything: that is a hit.
 */
struct fault_backend {
	bool there;
	int (*check)(const struct fabric *f, const struct fault_rule *r, struct fault_bad *bad);
	void (*added)(struct fabric *f, struct fault_rule *r);
	void (*removed)(struct fabric *f, struct fault_rule *r);
	bool (*fire)(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
};
extern const struct fault_backend fault_backends[FA_COUNT];

/* --- port.c --- */

bool fault_link_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
void fault_link_removed(struct fabric *f, struct fault_rule *r);
/** fault_match_cut() - the partition, or link between two nodes, that a packet cannot pass, or NULL. Counts. */
struct fault_rule *fault_match_cut(struct fabric *f, const struct fault_pkt *p);
void fault_partition_added(struct fabric *f, struct fault_rule *r);
void fault_partition_removed(struct fabric *f, struct fault_rule *r);
bool fault_heal_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p);
/** fault_is_port_event() - whether an event is one of ports. fault_port_event_fire() raises it. */
bool fault_is_port_event(u32 event);
bool fault_port_event_fire(struct fabric *f, struct fault_rule *r);

#endif
