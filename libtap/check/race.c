/* SPDX-License-Identifier: MIT */
/*
 * Requests of two queue pairs to the same remote memory, of which nothing orders one before the
 * other (--check=races).
 *
 * While the completion of a request is not polled, its process does not know that it was executed,
 * and can tell nobody. The peer can know it by a message that the same queue pair sent after the
 * request, once it has polled that message's receive: it may have told others in any way. A request
 * that is posted before either of both has happened runs at the same time. So the checker need not
 * see other ways by which processes meet, and a barrier over a socket is no false alarm.
 */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "libtap/check/watch.h"

#include <stdio.h>
#include <unistd.h>

static enum board_kind race_kind(u32 opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return BOARD_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
		return BOARD_WRITE;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return BOARD_ATOMIC;
	default:
		return BOARD_NONE;
	}
}

/* Only the owner writes, under the lock of the queue pair. */
static u64 race_publish(struct board_qp *place, const struct board_access *a)
{
	u64 number = place->posted + 1;
	struct board_access *to = &place->access[number % BOARD_ACCESSES];

	store_relaxed(&to->number, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*to = *a;
	to->number = 0;
	store_release(&to->number, number);
	store_release(&place->posted, number);
	/* If two post at once, at least one sees the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return number;
}

/* Copies an outstanding access. Return: false: there is none of this number. */
static bool race_read(const struct board_qp *place, u64 number, struct board_access *a)
{
	const struct board_access *from = &place->access[number % BOARD_ACCESSES];

	if (load_acquire(&from->number) != number)
		return false;
	*a = *from;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_relaxed(&from->number) == number && load_relaxed(&place->done) < number;
}

static bool race_conflicts(const struct board_access *a, const struct board_access *b)
{
	if (a->rkey != b->rkey || a->addr >= b->addr + b->len || b->addr >= a->addr + a->len)
		return false;
	return a->kind != b->kind || a->kind == BOARD_WRITE;
}

/* Whether the peer of @place, and so anybody, may know that an access was executed. */
static bool race_is_known(const struct board_qp *place, const struct board_attr *attr,
			  const struct board_access *a)
{
	struct board_attr peer_attr;
	const struct board_qp *peer = check_board_peer_of(attr, &peer_attr);

	return load_acquire(peer ? &peer->counts.arrived : &place->counts.messages) > a->messages;
}

static void race_report(const struct check_obj *qp, const struct board_access *a,
			const struct board_qp *place, const struct board_attr *attr,
			const struct board_access *b)
{
	static const char *const names[] = { "?", "READ", "WRITE", "atomic" };
	bool own = load_relaxed(&place->owner) == (u32)getpid();
	struct check_other other = { "the other one posted", b->stack };
	char process[32] = "";

	if (!own)
		snprintf(process, sizeof(process), " of process %u", load_relaxed(&place->owner));
	check_report_with(
		FINDING_WR_REMOTE_RACE, check_stack_here(), other, load_relaxed(&place->owner),
		"qp%u, wr_id 0x%llx: a %s of [0x%llx, 0x%llx) with rkey 0x%x meets the %s "
		"wr_id 0x%llx of qp%u%s, which is outstanding",
		qp->ord, (unsigned long long)a->wr_id, names[a->kind], (unsigned long long)a->addr,
		(unsigned long long)a->addr + a->len, a->rkey, names[b->kind % ARRAY_SIZE(names)],
		(unsigned long long)b->wr_id, attr->ord, process);
}

/* Return: whether one was found. */
static bool race_search_place(const struct check_obj *qp, const struct board_access *a,
			      const struct board_qp *place)
{
	const struct board_attr *own = &qp->qp.place->attr;
	u64 posted = load_acquire(&place->posted), n = load_acquire(&place->done) + 1;
	struct board_access b;
	struct board_attr attr;

	if (n > posted || place == qp->qp.place || !check_board_read(place, &attr) ||
	    memcmp(&attr.peer_gid, &own->peer_gid, sizeof(attr.peer_gid)) != 0)
		return false;
	if (posted > BOARD_ACCESSES && n <= posted - BOARD_ACCESSES)
		n = posted - BOARD_ACCESSES + 1;
	for (; n <= posted; n++) {
		if (!race_read(place, n, &b) || !race_conflicts(a, &b) ||
		    race_is_known(place, &attr, &b) || !check_board_is_alive(place))
			continue;
		race_report(qp, a, place, &attr, &b);
		return true;
	}
	return false;
}

static bool race_is_watched(void)
{
	return check_report_is_on(FINDING_WR_REMOTE_RACE) || check_watch_wants();
}

void check_race_posted(struct check_obj *qp, struct check_wr *wr)
{
	struct board_access a = {
		.addr = wr->raddr,
		.len = wr->bytes,
		.messages = qp->qp.counts->messages,
		.wr_id = wr->wr_id,
		.rkey = wr->rkey,
		.kind = race_kind(wr->opcode),
		.stack = wr->stack,
	};
	const struct board_qp *place;

	if (a.kind == BOARD_NONE || !qp->qp.place || !race_is_watched())
		return;
	/* Its own message comes after its data. */
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		a.messages--;
	wr->access = race_publish(qp->qp.place, &a);
	check_report_show(a.stack);
	if (!check_report_is_on(FINDING_WR_REMOTE_RACE))
		return;
	for (place = check_board_next(NULL); place; place = check_board_next(place))
		if (race_search_place(qp, &a, place))
			return;
}

/* --- uses by the CPU of the target --- */

/* Whether the queue pair has posted an atomic after an access: its target says that it is done. */
static bool race_has_later_atomic(const struct board_qp *place, u64 number)
{
	u64 posted = load_acquire(&place->posted), n;

	for (n = number + 1; n <= posted; n++)
		if (load_relaxed(&place->access[n % BOARD_ACCESSES].kind) == BOARD_ATOMIC)
			return true;
	return false;
}

/* The CPU may read the target of an atomic, but not write it. */
static bool race_forbids(const struct board_access *a, u64 addr, u64 len, u32 rkey, bool write)
{
	return a->rkey == rkey && a->addr < addr + len && addr < a->addr + a->len &&
	       (a->kind == BOARD_WRITE || (a->kind == BOARD_ATOMIC && write));
}

/* Return: whether @place has an access that is outstanding, and that forbids the use. */
static bool race_find_in_place(const struct board_qp *place, const struct board_attr *attr,
			       const struct board_access *use, bool write, struct board_access *a)
{
	u64 posted = load_acquire(&place->posted), n = load_acquire(&place->done) + 1;

	if (posted > BOARD_ACCESSES && n <= posted - BOARD_ACCESSES)
		n = posted - BOARD_ACCESSES + 1;
	for (; n <= posted; n++)
		if (race_read(place, n, a) &&
		    race_forbids(a, use->addr, use->len, use->rkey, write) &&
		    !race_is_known(place, attr, a) && !race_has_later_atomic(place, n))
			return true;
	return false;
}

bool check_race_find_use(u64 addr, u64 len, u32 rkey, bool write, struct check_use *found)
{
	const struct board_access use = { .addr = addr, .len = len, .rkey = rkey };
	const struct board_qp *place, *own;
	struct board_attr attr, own_attr;
	struct board_access a;

	for (place = check_board_next(NULL); place; place = check_board_next(place)) {
		if (load_acquire(&place->posted) == load_relaxed(&place->done) ||
		    !check_board_read(place, &attr) ||
		    !race_find_in_place(place, &attr, &use, write, &a))
			continue;
		own = check_board_peer_of(&attr, &own_attr);
		if (!own || load_relaxed(&own->owner) != (u32)getpid() ||
		    !check_board_is_alive(place))
			continue;
		*found = (struct check_use){
			.own = own,
			.process = load_relaxed(&place->owner),
			.qp = attr.ord,
			.atomic = a.kind == BOARD_ATOMIC,
			.wr_id = a.wr_id,
			.stack = a.stack,
			.from = a.addr,
			.to = a.addr + a.len,
		};
		return true;
	}
	return false;
}

/* --- the end of an access --- */

void check_race_done(const struct check_obj *qp, const struct check_wr *wr)
{
	if (wr->access && qp->qp.place)
		store_release(&qp->qp.place->done, wr->access);
}

void check_race_withdrawn(const struct check_obj *qp, const struct check_wr *wr)
{
	if (wr->access && qp->qp.place)
		store_release(&qp->qp.place->posted, wr->access - 1);
}

void check_race_failed(const struct check_obj *qp)
{
	if (qp->qp.place)
		store_release(&qp->qp.place->done, load_relaxed(&qp->qp.place->posted));
}

/* A queue pair that the rdma_cm has connected, and that sends nothing, has no place yet. */
void check_race_arrived(struct check_obj *qp)
{
	struct check_counts *counts = qp->qp.counts;

	if (counts->arrived == BOARD_ALL)
		return;
	store_release(&counts->arrived, counts->arrived + 1);
	if (qp->qp.place || qp->qp.sought)
		return;
	qp->qp.sought = true;
	check_board_put(qp);
}

void check_race_arrive_unseen(struct check_obj *qp)
{
	store_release(&qp->qp.counts->arrived, BOARD_ALL);
}
