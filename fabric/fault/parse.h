/* SPDX-License-Identifier: MIT */
/**
 * DOC: from text to fault rules: parsing, names, and the checks of a parsed rule.
 */
#ifndef FABRIC_FAULT_PARSE_H
#define FABRIC_FAULT_PARSE_H

#include "fabric/fault/rule.h"

/* --- parse.c: from words to rules ------------------------------------------------------------- */

/**
 * fault_parse() - parse a rule. Sets the fields that the line gives; those of the table stay zero.
 * Return: 0, or -EINVAL with *bad.
 */
int fault_parse(struct fault_rule *r, const char *text, struct fault_bad *bad);
/** fault_refuse() - fill in *bad. Return: -EINVAL. */
int fault_refuse(struct fault_bad *bad, const char *word, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/**
 * fault_parse_lines() - split a scenario into rules: one per line, or several separated by ';'; '#'
 * begins a comment. Calls @each for every rule with its line number; stops when @each returns
 * non-zero.
 * Return: the last return value of @each; -EINVAL for a line that is too long, with *bad and *line.
 */
int fault_parse_lines(const char *text, size_t len, struct fault_bad *bad, u32 *line,
		      int (*each)(void *ctx, const char *rule, u32 line), void *ctx);

/* --- keys.c, names.c -------------------------------------------------------------------------- */

/** fault_act_name() - the word that the rule was written with, e.g. "loss". */
const char *fault_act_name(const struct fault_rule *r);
/** fault_op_name() - the name that rules use for a wire opcode. */
const char *fault_op_name(u32 op);
/** fault_mad_name() - the name of an enum cm_attr. */
const char *fault_mad_name(u32 attr);
/**
 * fault_op_parse() - a wire opcode, an IBV_WR_* opcode (the prefix may be omitted), or a class of
 * packets. The bits are added to @ops and @wr_ops. Return: whether the name is known.
 */
bool fault_op_parse(const char *name, u64 *ops, u32 *wr_ops);
bool fault_mad_parse(const char *name, u32 *bit);
bool fault_type_parse(const char *name, u32 *bits);
bool fault_errno_parse(const char *name, s32 *err);
bool fault_status_parse(const char *name, u32 *status);
bool fault_event_parse(const char *name, u32 *event);
bool fault_nak_parse(const char *name, u32 *syndrome);
/** fault_type_ops() - the wire opcodes that QPs of these types (bits) may send or receive. */
u64 fault_type_ops(u32 types);
const char *fault_event_name(u32 event);
/** fault_is_port_event() - whether an event is one of ports. */
bool fault_is_port_event(u32 event);
/** fault_event_is_qp() - whether an event is one of queue pairs. */
bool fault_event_is_qp(u32 event);

/* --- real.c ----------------------------------------------------------------------------------- */

/**
 * fault_check_real() - check that a rule can hit programs on real devices.
 * Return: 0 or -EINVAL with *bad.
 */
int fault_check_real(const struct fault_rule *r, struct fault_bad *bad);
/** fault_check_emulated() - likewise, programs on emulated devices. */
int fault_check_emulated(const struct fault_rule *r, struct fault_bad *bad);

/* --- check.c ---------------------------------------------------------------------------------- */

/**
 * fault_check() - check that the rule is complete and can match something. Fills in what the rule
 * leaves open: which packets the action applies to.
 * Return: 0 or -EINVAL with *bad.
 */
int fault_check(struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_check_fabric() - check that the nodes, devices and ports that the rule names exist or may
 * come to exist: without a topology, a node is created when it is first named.
 */
int fault_check_fabric(const struct hca *hca, bool topology, const struct fault_rule *r,
		       struct fault_bad *bad);

#endif
