/* SPDX-License-Identifier: MIT */
/**
 * DOC: which work requests of a program on real devices a rule may be about.
 *
 * A message for each post would take microseconds. So the fabric process writes what its rules
 * about work requests select into the client's segment, and the program's process asks about those
 * requests only (libtap/users/work_faults.c). The fabric process matches by work_rule_matches(),
 * too. Rules that are not about this client are not in the table.
 *
 * @seq guards the table: it is odd while the fabric process changes it (fabric/fault/real_work.c).
 * A reader that meets a change takes the request for one to ask about.
 */
#ifndef FABRIC_PROTO_WORK_FILTER_H
#define FABRIC_PROTO_WORK_FILTER_H

#include "fabric/proto/real_objects.h"
#include "fabric/proto/tapped.h"

#define WORK_FILTER_OFF	  ALIGN_UP(REAL_OBJECTS_OFF + sizeof(struct real_objects), 65536u)
#define WORK_FILTER_RULES 8u /* with more, all requests are asked about */
#define WORK_FILTER_ALL	  (~0u)

#define WORK_RECV_OP	    31u /* stands for a receive among opcodes */
#define WORK_RULE_HAS_QPN   1u
#define WORK_RULE_HAS_WR_ID 2u

/**
 * struct work_rule - what a rule selects.
 * @size_min, @size_max: bytes of the message, inclusive; ~0 is PROTO_NO_SIZE
 * @ops: a bit for each enum ib_wr_opcode, and WORK_RECV_OP
 * @types: a bit for each enum ib_qp_type
 * @has: WORK_RULE_HAS_*: which of @qpn and @wr_id count
 */
struct work_rule {
	u64 wr_id;
	u64 size_min;
	u64 size_max;
	u32 ops;
	u32 types;
	u32 qpn;
	u32 has;
};

/** struct work_filter - @n: rules in use, or WORK_FILTER_ALL; @ops: those of all rules together */
struct work_filter {
	u32 seq;
	u32 n;
	u32 ops;
	u32 unused;
	struct work_rule rule[WORK_FILTER_RULES];
};

_Static_assert(WORK_FILTER_OFF + sizeof(struct work_filter) <= SEG_FIRST, "it is mapped at first");

/**
 * struct work_key - what rules select a request by. @op, @type: its bit in work_rule.ops and
 * work_rule.types
 */
struct work_key {
	u64 wr_id;
	u64 size;
	u32 op;
	u32 type;
	u32 qpn;
};

/** work_op_bit() - the bit of a work request in work_rule.ops. */
static inline u32 work_op_bit(bool recv, u32 opcode)
{
	return 1u << (recv ? WORK_RECV_OP : opcode & 31);
}

/** work_type_bit() - the bit of a queue pair, of an enum ib_qp_type, in work_rule.types. */
static inline u32 work_type_bit(u32 type)
{
	return 1u << (type & 31);
}

static inline struct work_key work_key_of(const struct proto_work *w)
{
	return (struct work_key){
		.wr_id = w->wr_id,
		.size = w->size,
		.op = work_op_bit(w->recv, w->opcode),
		.type = work_type_bit(w->type),
		.qpn = w->qpn,
	};
}

/** work_rule_matches() - whether the rule selects that request. */
static inline bool work_rule_matches(const struct work_rule *r, const struct work_key *k)
{
	u32 has;

	if (!(load_relaxed(&r->ops) & k->op) || !(load_relaxed(&r->types) & k->type) ||
	    k->size < load_relaxed(&r->size_min) || k->size > load_relaxed(&r->size_max))
		return false;
	has = load_relaxed(&r->has);
	return (!(has & WORK_RULE_HAS_QPN) || k->qpn == load_relaxed(&r->qpn)) &&
	       (!(has & WORK_RULE_HAS_WR_ID) || k->wr_id == load_relaxed(&r->wr_id));
}

/** work_filter_has_op() - whether a rule may be about requests with that bit of work_rule.ops. */
static inline bool work_filter_has_op(const struct work_filter *f, u32 bit)
{
	return load_relaxed(&f->ops) & bit;
}

/** work_filter_matches() - whether a rule may be about that request. */
static inline bool work_filter_matches(const struct work_filter *f, const struct work_key *k)
{
	const u32 seq = load_acquire(&f->seq), n = load_relaxed(&f->n);
	u32 i;

	if (seq & 1 || n > WORK_FILTER_RULES)
		return true;
	for (i = 0; i < n; i++)
		if (work_rule_matches(&f->rule[i], k))
			return true;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_relaxed(&f->seq) != seq;
}

#endif
