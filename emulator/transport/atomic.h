/* SPDX-License-Identifier: MIT */
/**
 * DOC: atomics, executed once. See atomic.c.
 */
#ifndef EMULATOR_TRANSPORT_ATOMIC_H
#define EMULATOR_TRANSPORT_ATOMIC_H

#include "emulator/engine.h"

/** atomic_next() - where the result of the QP's next atomic is kept. */
static inline struct atomic_res *atomic_next(struct hca_qp *qp)
{
	return &qp->at[qp->resp.at_head % LIM_RD_ATOM];
}

/**
 * atomic_forget() - the QP's next atomic is a new one, not one that a dead holder has executed, and
 * not committed.
 */
static inline void atomic_forget(struct hca_qp *qp)
{
	struct atomic_res *res = atomic_next(qp);

	res->nth = 0;
	res->begun = 0;
}

/* --- atomic.c --- */

/**
 * atomic_execute() - execute the atomic @b, whose word is @word, unless a holder did just that and
 * died before it could commit. The result is in atomic_next(), and nothing is committed.
 * Of @b only @psn, @atomic_op, @compare_add and @swap count.
 * Return: 0, -EAGAIN, -ESRCH (the word's process died), -EFAULT_DST.
 */
int atomic_execute(struct engine *e, struct hca_qp *qp, const struct burst *b,
		   const struct hca_mem *word);
/** atomic_recover() - find out whether an atomic that a dead holder had begun was executed. */
void atomic_recover(struct engine *e, struct hca_qp *qp);

#endif
