/* SPDX-License-Identifier: MIT */
/*
 * Reports about guarded memory. They wait for the next call of the API: a thread may fault anywhere
 * in the program, and only a call can ask in what state the queue pair is.
 */
#include "libtap/check/guard.h"

#include <stdio.h>
#include <unistd.h>

#define GUARD_NOTES 16u

/* struct guard_note - a use of guarded memory, or of bytes to which @peer writes, from @addr on */
static struct guard_note {
	struct guard_owner owner;
	struct check_use peer;
	enum tap_memory use;
	u64 addr;
	check_stack stack;
} notes[GUARD_NOTES];
static u32 n_notes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void report_keep(const struct guard_note *note)
{
	if (pthread_mutex_trylock(&lock))
		return;
	if (n_notes < GUARD_NOTES) {
		notes[n_notes] = *note;
		store_release(&n_notes, n_notes + 1);
	}
	pthread_mutex_unlock(&lock);
}

void check_guard_note(const struct guard_owner *owner, enum tap_memory use, u64 addr,
		      check_stack stack)
{
	report_keep(
		&(struct guard_note){ .owner = *owner, .use = use, .addr = addr, .stack = stack });
}

void check_guard_note_use(const struct check_use *use, u64 addr, bool write, check_stack stack)
{
	report_keep(&(struct guard_note){ .peer = *use,
					  .use = write ? TAP_MEMORY_WRITTEN : TAP_MEMORY_READ,
					  .addr = addr,
					  .stack = stack });
}

void check_guard_report_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	n_notes = 0;
}

/* A queue pair that executes nothing owns no memory, also if the program does not know that. */
static bool report_qp_is_live(const void *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp((void *)(uintptr_t)qp, &attr, IBV_QP_STATE, &init) &&
	       (attr.qp_state == IBV_QPS_RTR || attr.qp_state == IBV_QPS_RTS ||
		attr.qp_state == IBV_QPS_SQD);
}

static bool report_find_live_of_srq(struct check_obj *qp, void *srq)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;

	return ibqp->srq == srq && report_qp_is_live(ibqp);
}

static bool report_owner_is_live(const struct guard_owner *owner)
{
	const struct check_obj *c = check_obj_find(owner->kind, owner->queue);

	if (!c || c->ord != owner->ord)
		return false;
	return owner->kind == VOBJ_QP ? report_qp_is_live(owner->queue)
				      : check_obj_for_each(VOBJ_QP, report_find_live_of_srq,
							   (void *)(uintptr_t)owner->queue);
}

static enum finding_id report_finding(const struct guard_note *n)
{
	if (n->use == TAP_MEMORY_UNMAPPED)
		return FINDING_WR_BUFFER_UNMAPPED;
	return n->owner.target ? FINDING_WR_BUFFER_EARLY : FINDING_WR_BUFFER_WRITTEN;
}

static bool report_find_live(struct check_obj *qp, void *place)
{
	return qp->qp.place == place && report_qp_is_live((void *)(uintptr_t)qp->tap->key);
}

static void report_use(const struct guard_note *n)
{
	const struct check_use *u = &n->peer;
	char process[32] = "";

	if (!check_obj_for_each(VOBJ_QP, report_find_live, (void *)(uintptr_t)u->own))
		return;
	if (u->process != (u32)getpid())
		snprintf(process, sizeof(process), " of process %u", u->process);
	check_report_with(
		u->atomic ? FINDING_WR_ATOMIC_CPU : FINDING_WR_WRITE_POLLED, n->stack,
		(struct check_other){ "request posted", u->stack }, u->process,
		"the CPU %s 0x%llx, and the %s wr_id 0x%llx of qp%u%s to [0x%llx, 0x%llx) "
		"is outstanding: nothing says that it was executed",
		n->use == TAP_MEMORY_WRITTEN ? "writes" : "reads", (unsigned long long)n->addr,
		u->atomic ? "atomic" : "WRITE", (unsigned long long)u->wr_id, u->qp, process,
		(unsigned long long)u->from, (unsigned long long)u->to);
}

static void report_note(const struct guard_note *n)
{
	static const char *const uses[] = { "read", "written", "unmapped" };
	const struct guard_owner *o = &n->owner;

	if (n->peer.own)
		report_use(n);
	else if (report_owner_is_live(o))
		check_report_at(report_finding(n), n->stack,
				(struct check_other){ "request posted", o->posted },
				"%s%u, wr_id 0x%llx: the device %s [0x%llx, 0x%llx), which is "
				"%s at 0x%llx before the completion was polled",
				vobj_names[o->kind], o->ord, (unsigned long long)o->wr_id,
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
