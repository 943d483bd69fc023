/* SPDX-License-Identifier: MIT */
/*
 * The table of watched regions, and what happens at a fault there.
 *
 * A fault handler takes the lock, so no code that holds it touches watched memory. No region is
 * watched before the first connection: datagrams reach no memory of a region. Pages that a thread
 * has opened for one instruction are its own affair: another thread that uses them meanwhile is not
 * seen.
 */
#include "libtap/check/watch.h"
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"
#include "libtap/memory_use.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WATCH_REGIONS 256u
#define WATCH_PAGE    4096u
#define WATCH_OPEN    64u
#define WATCH_DEVICE  65536u /* that the device may use, if it uses a byte */
#define WATCH_STEP    4u /* pages that one instruction uses */
#define WATCH_RECENT  4u /* addresses by which a loop is known */
#define WATCH_RUN     8u /* other addresses, one after the other, that are no loop */

/* struct watch_region - whole pages, @to 0: free. @ord: of the region */
static struct watch_region {
	u64 from;
	u64 to;
	u32 rkey;
	u32 ord;
} regions[WATCH_REGIONS];
static u32 regions_end; /* of those that were ever used */
static u32 regions_used;
static bool regions_closed; /* since a peer may write to them */
/*
 * struct watch_range - open until a call of the API ends. @owner: one of this thread, as the kernel
 * may use it in a system call of that; 0: one of any thread
 */
static struct watch_range {
	u64 from;
	u64 to;
	u32 owner;
} opened[WATCH_OPEN];
static u32 n_opened;
static u32 n_opened_by_all; /* that have no owner */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* struct watch_step - a use for which a page is open, for one instruction. */
struct watch_step {
	u64 addr;
	bool write;
	check_stack stack;
};

/*
 * struct watch_thread - @step: what it does; @recent: where it has faulted lately
 * @owns: entries of @opened
 */
struct watch_thread {
	bool owns;
	struct watch_step step[WATCH_STEP];
	u32 steps;
	u32 run;
	u32 next;
	u64 recent[WATCH_RECENT];
};

static __thread struct watch_thread watch_thread __attribute__((tls_model("initial-exec")));

bool check_watch_wants(void)
{
	return (check_report_is_on(FINDING_WR_WRITE_POLLED) ||
		check_report_is_on(FINDING_WR_ATOMIC_CPU)) &&
	       !check_guard_wants();
}

static bool watch_is_empty(void)
{
	return likely(!load_relaxed(&regions_used));
}

static bool watch_is_on(void)
{
	return !watch_is_empty() && load_relaxed(&regions_closed);
}

/* A system call: libc's name leads to a wrapper. */
static void watch_protect(u64 from, u64 to, int prot)
{
	syscall(SYS_mprotect, from, to - from, (long)prot);
}

static bool watch_meets(const struct watch_region *r, u64 from, u64 to)
{
	return r->to && r->from < to && from < r->to;
}

static bool watch_is_open(u64 page)
{
	u32 i;

	for (i = 0; i < n_opened; i++)
		if (page >= opened[i].from && page < opened[i].to)
			return true;
	return false;
}

/* --- regions --- */

/* Until a call of the API ends. @owner: of this thread. Without an entry it stays open. */
static void watch_open(const struct watch_region *r, u64 from, u64 to, u32 owner)
{
	struct watch_range *o;

	from = from > r->from ? from & ~(u64)(WATCH_PAGE - 1) : r->from;
	to = min_u64((to + WATCH_PAGE - 1) & ~(u64)(WATCH_PAGE - 1), r->to);
	watch_protect(from, to, PROT_READ | PROT_WRITE);
	for (o = opened; o < opened + n_opened; o++)
		if (o->owner == owner && o->from <= from && o->to >= to)
			return;
	if (n_opened == WATCH_OPEN)
		return;
	opened[n_opened++] = (struct watch_range){ from, to, owner };
	if (owner)
		watch_thread.owns = true;
	else
		store_relaxed(&n_opened_by_all, n_opened_by_all + 1);
}

/* What of a range belongs to regions. */
static void watch_close(u64 from, u64 to)
{
	const struct watch_region *r;

	for (r = regions; r < regions + regions_end; r++)
		if (watch_meets(r, from, to))
			watch_protect(from > r->from ? from : r->from, min_u64(to, r->to),
				      PROT_NONE);
}

/* The same of what of it nobody has open. */
static void watch_close_rest(u64 from, u64 to)
{
	const struct watch_range *o;
	u64 end;

	for (; from < to; from = end) {
		end = to;
		for (o = opened; o < opened + n_opened; o++)
			if (from >= o->from && from < o->to) {
				end = min_u64(o->to, to);
				break;
			} else if (o->from > from) {
				end = min_u64(o->from, end);
			}
		if (o == opened + n_opened)
			watch_close(from, end);
	}
}

/* @by: 1 or -1 */
static void watch_count(int by)
{
	store_relaxed(&regions_used, regions_used + (u32)by);
	tap_memory_watch(regions_used);
}

static void watch_forget(struct watch_region *r)
{
	const struct watch_region was = *r;

	*r = (struct watch_region){ 0 };
	watch_count(-1);
	watch_protect(was.from, was.to, PROT_READ | PROT_WRITE);
	/* The same memory may be registered twice. */
	if (regions_closed)
		watch_close(was.from, was.to);
}

static struct watch_region *watch_take(void)
{
	struct watch_region *r;

	for (r = regions; r < regions + WATCH_REGIONS; r++)
		if (!r->to) {
			if (r >= regions + regions_end)
				regions_end = (u32)(r - regions) + 1;
			watch_count(1);
			return r;
		}
	return NULL;
}

void check_watch_add(const struct check_obj *mr)
{
	const u32 remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	struct watch_region *r = NULL;
	int saved = errno;
	u64 from, to;

	from = (mr->mr.addr + WATCH_PAGE - 1) & ~(u64)(WATCH_PAGE - 1);
	to = (mr->mr.addr + mr->mr.len) & ~(u64)(WATCH_PAGE - 1);
	if (!(mr->mr.access & remote) || from >= to ||
	    check_mr_guardable(mr) < CHECK_GUARDS_SHARED || !check_guard_start() ||
	    !tap_fault_start_steps())
		return;
	pthread_mutex_lock(&lock);
	r = watch_take();
	if (r) {
		*r = (struct watch_region){ from, to, mr->mr.rkey, mr->ord };
		if (regions_closed)
			watch_protect(from, to, PROT_NONE);
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void check_watch_remove(const struct check_obj *mr)
{
	struct watch_region *r;
	int saved = errno;

	if (watch_is_empty())
		return;
	pthread_mutex_lock(&lock);
	for (r = regions; r < regions + regions_end; r++)
		if (r->to && r->ord == mr->ord)
			watch_forget(r);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void check_watch_fork(void)
{
	const struct watch_region *r;

	pthread_mutex_init(&lock, NULL);
	for (r = regions; r < regions + regions_end; r++)
		if (r->to)
			watch_protect(r->from, r->to, PROT_READ | PROT_WRITE);
	if (regions_used)
		tap_memory_watch(false);
	memset(regions, 0, regions_end * sizeof(*regions));
	regions_end = regions_used = 0;
	n_opened = n_opened_by_all = 0;
	regions_closed = false;
}

/* --- uses --- */

/* Notes a use of bytes to which a peer writes. */
static void watch_judge(const struct watch_region *r, u64 addr, u64 len, bool write,
			check_stack stack)
{
	struct check_use use;

	if (check_race_find_use(addr, len, r->rkey, write, &use))
		check_guard_note_use(&use, addr, write, stack);
}

static void watch_judge_all(u64 addr, bool write, check_stack stack)
{
	const struct watch_region *r;

	for (r = regions; r < regions + regions_end; r++)
		if (watch_meets(r, addr, addr + 1))
			watch_judge(r, addr, 1, write, stack);
}

/* Whether this thread goes through memory, and does not look at a few places again and again. */
static bool watch_passes_through(u64 addr)
{
	struct watch_thread *t = &watch_thread;
	u32 i;

	for (i = 0; i < WATCH_RECENT; i++)
		if (t->recent[i] == addr) {
			t->run = 0;
			return false;
		}
	t->recent[t->next++ % WATCH_RECENT] = addr;
	if (++t->run < WATCH_RUN)
		return false;
	t->run = 0;
	return true;
}

/* Return: whether the page is open for one instruction. */
static bool watch_step(const struct tap_fault *fault, check_stack stack)
{
	const u64 page = fault->addr & ~(u64)(WATCH_PAGE - 1);
	struct watch_thread *t = &watch_thread;

	if (t->steps == WATCH_STEP)
		return false;
	t->step[t->steps++] = (struct watch_step){ fault->addr, fault->write, stack };
	watch_protect(page, page + WATCH_PAGE, PROT_READ | PROT_WRITE);
	return true;
}

static struct watch_region *watch_find(u64 addr)
{
	struct watch_region *r;

	for (r = regions; r < regions + regions_end; r++)
		if (watch_meets(r, addr, addr + 1))
			return r;
	return NULL;
}

static void watch_take_fault(struct watch_region *first, struct tap_fault *fault)
{
	const check_stack stack = fault->library ? 0 : check_stack_at(fault->place);
	const u64 page = fault->addr & ~(u64)(WATCH_PAGE - 1);

	if (fault->library)
		watch_open(first, page, page + WATCH_DEVICE, 0);
	else if (tap_fault_can_step() && !watch_passes_through(fault->addr))
		fault->step = watch_step(fault, stack);
	if (fault->library || fault->step)
		return;
	watch_judge_all(fault->addr, fault->write, stack);
	watch_open(first, page, page + WATCH_PAGE, 0);
}

bool check_watch_fault(struct tap_fault *fault)
{
	const u64 page = fault->addr & ~(u64)(WATCH_PAGE - 1);
	struct watch_region *r;

	if (!watch_is_on() || !watch_find(fault->addr))
		return false;
	if (!check_guard_lock(&lock)) {
		watch_protect(page, page + WATCH_PAGE, PROT_READ | PROT_WRITE);
		return true;
	}
	r = watch_find(fault->addr);
	if (r)
		watch_take_fault(r, fault);
	pthread_mutex_unlock(&lock);
	return r;
}

void check_watch_stepped(void)
{
	struct watch_thread *t = &watch_thread;
	const struct watch_step *step;
	u64 page;
	u32 i;

	if (!check_guard_lock(&lock))
		return;
	for (i = 0; i < t->steps; i++) {
		step = &t->step[i];
		page = step->addr & ~(u64)(WATCH_PAGE - 1);
		if (watch_find(page) && !watch_is_open(page))
			watch_protect(page, page + WATCH_PAGE, PROT_NONE);
		/* A WRITE may have come between the fault and the instruction. */
		watch_judge_all(step->addr, step->write, step->stack);
	}
	t->steps = 0;
	pthread_mutex_unlock(&lock);
}

void check_watch_memory(u64 addr, u64 len, enum tap_memory use)
{
	struct watch_region *r;

	if (watch_is_empty() || !check_guard_lock(&lock))
		return;
	for (r = regions; r < regions + regions_end; r++) {
		if (!watch_meets(r, addr, addr + len))
			continue;
		if (use == TAP_MEMORY_UNMAPPED || use == TAP_MEMORY_CHANGED) {
			watch_forget(r);
			continue;
		}
		/* The system call may last until others are connected. */
		if (watch_is_on())
			watch_judge(r, addr, len, use == TAP_MEMORY_WRITTEN, check_stack_here());
		watch_open(r, addr, addr + len, check_thread_self());
	}
	pthread_mutex_unlock(&lock);
}

void check_watch_pause(u64 addr, u64 len)
{
	const struct watch_region *r;

	if (!watch_is_on() || !check_guard_lock(&lock))
		return;
	for (r = regions; r < regions + regions_end; r++)
		if (watch_meets(r, addr, addr + len))
			watch_open(r, r->from, r->to, check_thread_self());
	pthread_mutex_unlock(&lock);
}

static bool watch_begins(void)
{
	return !load_relaxed(&regions_closed) && check_board_is_reachable();
}

/* What this thread has open, and what nobody owns. */
static void watch_close_own(void)
{
	struct watch_range own[WATCH_OPEN];
	u32 self = check_thread_self(), i, kept = 0, n = 0;

	for (i = 0; i < n_opened; i++)
		if (opened[i].owner && opened[i].owner != self)
			opened[kept++] = opened[i];
		else
			own[n++] = opened[i];
	n_opened = kept;
	store_relaxed(&n_opened_by_all, 0);
	for (i = 0; i < n; i++)
		watch_close_rest(own[i].from, own[i].to);
	watch_thread.owns = false;
}

void check_watch_resume(void)
{
	const struct watch_region *r;
	int saved = errno;

	if (watch_is_empty() ||
	    likely(!watch_thread.owns && !load_relaxed(&n_opened_by_all) && !watch_begins()))
		return;
	pthread_mutex_lock(&lock);
	watch_close_own();
	for (r = regions; r < regions + regions_end; r++)
		if (r->to && !load_relaxed(&regions_closed))
			watch_close_rest(r->from, r->to);
	store_relaxed(&regions_closed, true);
	pthread_mutex_unlock(&lock);
	errno = saved;
}
