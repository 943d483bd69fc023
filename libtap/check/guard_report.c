/* SPDX-License-Identifier: MIT */
/*
 * Reports about guarded memory. They wait for the next call of the API: a thread may fault anywhere
 * in the program, and only a call can ask in what state the queue pair is.
 */
#include "libtap/check/guard.h"

#define GUARD_NOTES 16u

/* struct guard_note - a use of guarded memory. @addr: the first byte */
static struct guard_note {
	struct guard_owner owner;
	enum tap_memory use;
	u64 addr;
	check_stack stack;
} notes[GUARD_NOTES];
static u32 n_notes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void check_guard_note(const struct guard_owner *owner, enum tap_memory use, u64 addr,
		      check_stack stack)
{
	if (pthread_mutex_trylock(&lock))
		return;
	if (n_notes < GUARD_NOTES) {
		notes[n_notes] = (struct guard_note){ *owner, use, addr, stack };
		store_release(&n_notes, n_notes + 1);
	}
	pthread_mutex_unlock(&lock);
}

void check_guard_report_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	n_notes = 0;
}

/* A queue pair that executes nothing owns no memory, also if the program does not know that. */
static bool report_owner_is_live(const struct guard_owner *owner)
{
	const struct check_obj *qp = check_obj_find(VOBJ_QP, owner->qp);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return qp && qp->ord == owner->ord &&
	       !ibv_query_qp((void *)(uintptr_t)owner->qp, &attr, IBV_QP_STATE, &init) &&
	       (attr.qp_state == IBV_QPS_RTR || attr.qp_state == IBV_QPS_RTS ||
		attr.qp_state == IBV_QPS_SQD);
}

static enum finding_id report_finding(const struct guard_note *n)
{
	if (n->use == TAP_MEMORY_UNMAPPED)
		return FINDING_WR_BUFFER_UNMAPPED;
	return n->owner.target ? FINDING_WR_BUFFER_EARLY : FINDING_WR_BUFFER_WRITTEN;
}

static void report_note(const struct guard_note *n)
{
	static const char *const uses[] = { "read", "written", "unmapped" };
	const struct guard_owner *o = &n->owner;

	if (report_owner_is_live(o))
		check_report_at(report_finding(n), n->stack,
				(struct check_other){ "request posted", o->posted },
				"qp%u, wr_id 0x%llx: the device %s [0x%llx, 0x%llx), which is "
				"%s at 0x%llx before the completion was polled",
				o->ord, (unsigned long long)o->wr_id,
				o->target ? "writes" : "reads", (unsigned long long)o->from,
				(unsigned long long)o->to, uses[n->use],
				(unsigned long long)n->addr);
}

void check_guard_report(void)
{
	struct guard_note found[GUARD_NOTES];
	int saved = errno;
	u32 i, n;

	if (likely(!load_acquire(&n_notes)))
		return;
	pthread_mutex_lock(&lock);
	n = n_notes;
	memcpy(found, notes, n * sizeof(*found));
	store_relaxed(&n_notes, 0);
	pthread_mutex_unlock(&lock);
	for (i = 0; i < n; i++)
		report_note(&found[i]);
	errno = saved;
}
