/* SPDX-License-Identifier: MIT */
/** DOC: taking completions off CQs, and comparing them. */
#ifndef TRACES_REPLAY_POLL_H
#define TRACES_REPLAY_POLL_H

#include "traces/replay/replay.h"

/**
 * rp_cq_drain() - take at most @n completions of a CQ into its pool. The caller holds the lock.
 * Returns 0 or the error.
 */
int rp_cq_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/**
 * rp_cqex_refused() - poll an extended CQ with an attribute that it must refuse. Returns minus
 * errno.
 */
int rp_cqex_refused(struct rp_cq *cq);
/**
 * rp_policy_ignore() - exclude a comma-separated list of fields from comparison. Returns false:
 * unknown name.
 */
bool rp_policy_ignore(struct rp_world *w, char *list);
#define RP_FIELDS "wr_id, status, opcode, byte_len, imm, wc_flags, payload, src_qp or memory"

#endif
