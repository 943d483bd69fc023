/* SPDX-License-Identifier: MIT */
/**
 * DOC: deaths of a client at many instructions of one call (struct emu_deaths), checked with
 * assertions of CUnit.
 *
 * A child process has the assertions of one death. It prints those that fail, with the instruction;
 * the same DEATH_STEP= finds it again.
 */
#ifndef TESTS_LIB_C_DEATHS_H
#define TESTS_LIB_C_DEATHS_H

#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <setjmp.h>

static inline int deaths_check(struct emu *m, const struct emu_deaths *d, bool died)
{
	const unsigned int before = CU_get_number_of_failure_records();
	volatile int verdict = EMU_VERDICTS;
	CU_pFailureRecord f;
	unsigned int i;
	jmp_buf fatal;

	/* A fatal assertion ends this check, and not the test, which is the parent's. */
	CU_get_current_test()->pJumpBuf = &fatal;
	if (!setjmp(fatal))
		verdict = d->after(m, d->arg, died);
	if (CU_get_number_of_failure_records() == before)
		return verdict;
	for (f = CU_get_failure_list(), i = 0; i < before; i++)
		f = f->pNext;
	for (; f; f = f->pNext)
		printf("# %s after %ld instructions (DEATH_STEP=%ld): %s:%u: %s\n",
		       died ? "death" : "end", d->n, d->step, f->strFileName, f->uiLineNumber,
		       f->strCondition);
	return EMU_VERDICTS;
}

/** deaths_run() - emu_die_each(), in which each check must hold. */
static inline void deaths_run(struct emu *m, struct emu_deaths *d)
{
	d->check = deaths_check;
	emu_die_each(m, d);
	CU_ASSERT_EQUAL(d->failed, 0);
	CU_ASSERT_TRUE(d->died > 0);
}

/**
 * deaths_ring() - the same for client 0, which rings the doorbell of @q. @usual: how far deaths are
 * apart, unless DEATH_STEP is set.
 */
static inline struct emu_deaths deaths_ring(struct emu *m, struct emu_qp *q, long usual,
					    int (*after)(struct emu *m, void *arg, bool died))
{
	struct emu_deaths d = {
		.call = emu_die_ring, .after = after, .arg = q, .step = emu_death_step(usual)
	};

	deaths_run(m, &d);
	return d;
}

#endif
