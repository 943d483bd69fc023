/* SPDX-License-Identifier: MIT */
/**
 * DOC: which scenarios were added, and the end of those of runs.
 *
 * Each rule carries the hash of the file that it comes from. A scenario is added once, however many
 * runs name it; the server knows which runs use it (server/leases.c), and reports when the last of
 * them has ended. A scenario that another command has added as well stays.
 */
#include "fabric/fault/table.h"
#include "fabric/core/fabric.h"

bool fault_scenario_is_known(const struct faults *t, u64 hash)
{
	u32 i, n = t->n_files < FAULT_FILES ? t->n_files : FAULT_FILES;

	for (i = 0; i < n; i++)
		if (t->file[i] == hash)
			return true;
	return false;
}

void fault_scenario_remember(struct faults *t, u64 hash)
{
	t->file[t->n_files++ % FAULT_FILES] = hash;
}

static void fault_scenario_forget(struct faults *t, u64 hash)
{
	u32 i;

	for (i = 0; i < FAULT_FILES; i++)
		if (t->file[i] == hash)
			t->file[i] = 0;
}

void fault_scenario_share(struct faults *t, u64 hash, bool of_run)
{
	struct fault_rule *r;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->scenario == hash)
			r->of_run &= of_run;
	}
}

void fault_scenario_end(struct fabric *f, u64 hash)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->scenario == hash && r->of_run) {
			r->ended = true;
			t->has_ended = true;
			fault_scenario_forget(t, hash);
		}
	}
}

bool fault_scenario_remove_ended(struct fabric *f)
{
	struct faults *t = f->faults;
	u32 i;

	if (!t->has_ended)
		return false;
	t->has_ended = false;
	for (i = 0; i < t->high; i++)
		if (t->rule[i].id && t->rule[i].ended)
			fault_rule_remove(f, &t->rule[i]);
	return true;
}
