/* SPDX-License-Identifier: MIT */
/*
 * The table of guards, and the protection that follows from it.
 *
 * An entry is a data segment of an outstanding request. The protection of a page is the strongest
 * that an entry asks for which is neither open nor paused. Several entries may have the same pages,
 * as programs send the same buffer many times; most of their changes need no system call then.
 *
 * A fault handler takes the lock, so no code that holds it touches guarded memory.
 */
#include "libtap/check/guard.h"
#include "libtap/check/watch.h"
#include "libtap/memory_use.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUARDS	    1024u /* each takes up to two of the kernel's 65530 mappings */
#define GUARD_PAGE  4096u
#define GUARD_SPINS 100000u

/* struct guard - @owner.to: 0: free; @open: until it is removed, @paused: until a call ends */
static struct guard {
	struct guard_owner owner;
	bool open;
	bool paused;
} guards[GUARDS];
static u32 guards_end; /* of those that were ever used */
static u32 guards_used;
static u32 guards_paused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool check_guard_wants(void)
{
	return check_report_is_on(FINDING_WR_BUFFER_WRITTEN) ||
	       check_report_is_on(FINDING_WR_BUFFER_EARLY);
}

static bool guard_is_empty(void)
{
	return likely(!load_relaxed(&guards_used));
}

/* @by: 1 or -1 */
static void guard_count(int by)
{
	store_relaxed(&guards_used, guards_used + (u32)by);
	tap_memory_watch(guards_used);
}

/* --- protection --- */

static bool guard_is_closed(const struct guard *g)
{
	return g->owner.to && !g->open && !g->paused;
}

static bool guard_overlaps(const struct guard *g, u64 from, u64 to)
{
	return g->owner.from < to && from < g->owner.to;
}

/* The protection that an entry asks for; a smaller number is stronger. */
static int guard_protection(const struct guard *g)
{
	return g->owner.target ? PROT_NONE : PROT_READ;
}

/* A system call: libc's name leads to a wrapper. Memory that is gone has no protection. */
static void guard_protect(u64 from, u64 to, int prot)
{
	syscall(SYS_mprotect, from, to - from, (long)prot);
}

/* Whether another entry asks for the same of all pages of @g. */
static bool guard_is_covered(const struct guard *g)
{
	const struct guard *o;

	for (o = guards; o < guards + guards_end; o++)
		if (o != g && guard_is_closed(o) && o->owner.from <= g->owner.from &&
		    o->owner.to >= g->owner.to && guard_protection(o) <= guard_protection(g))
			return true;
	return false;
}

/* Set the protection of pages anew: that of sends first, as that of targets is stronger. */
static void guard_apply(u64 from, u64 to)
{
	static const int order[] = { PROT_READ, PROT_NONE };
	const struct guard *g;
	u32 i;

	guard_protect(from, to, PROT_READ | PROT_WRITE);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		for (g = guards; g < guards + guards_end; g++)
			if (guard_is_closed(g) && guard_overlaps(g, from, to) &&
			    guard_protection(g) == order[i])
				guard_protect(from > g->owner.from ? from : g->owner.from,
					      min_u64(to, g->owner.to), order[i]);
}

/* --- entries --- */

static struct guard *guard_take(void)
{
	struct guard *g;

	for (g = guards; g < guards + GUARDS; g++)
		if (!g->owner.to) {
			if (g >= guards + guards_end)
				guards_end = (u32)(g - guards) + 1;
			guard_count(1);
			return g;
		}
	return NULL;
}

/* Receives that overlap are a finding of their own, and nobody can say whose data is read. */
static bool guard_open_other_targets(u64 from, u64 to)
{
	struct guard *g;
	bool found = false;

	for (g = guards; g < guards + guards_end; g++)
		if (g->owner.to && g->owner.target && guard_overlaps(g, from, to)) {
			found = true;
			if (!g->open) {
				g->open = true;
				guard_apply(g->owner.from, g->owner.to);
			}
		}
	return found;
}

/* Return: the entry's number plus 1, 0: it has none. */
static u32 guard_add_range(const struct guard_owner *owner)
{
	bool shared = owner->target && guard_open_other_targets(owner->from, owner->to);
	struct guard *g = guard_take();

	if (!g)
		return 0;
	*g = (struct guard){ .owner = *owner, .open = shared };
	if (!shared && !guard_is_covered(g))
		guard_protect(g->owner.from, g->owner.to, guard_protection(g));
	/* A stronger one of a part of it holds on. */
	if (!shared && !g->owner.target)
		guard_apply(g->owner.from, g->owner.to);
	return (u32)(g - guards) + 1;
}

/* A device is about to write to a range. */
static void guard_open_shared(u64 from, u64 to)
{
	struct guard *g;

	if (guard_is_empty())
		return;
	pthread_mutex_lock(&lock);
	for (g = guards; g < guards + guards_end; g++)
		if (guard_is_closed(g) && g->owner.shared && guard_overlaps(g, from, to)) {
			g->open = true;
			guard_apply(g->owner.from, g->owner.to);
		}
	pthread_mutex_unlock(&lock);
}

/*
 * Whether the device of an emulator reaches memory that the program may not use: through
 * /proc/PID/mem, to which a kernel may refuse that (proc_mem.force_override=).
 */
static bool guard_device_can_write(void)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	void *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can = fd >= 0 && page != MAP_FAILED && pwrite(fd, "", 1, (off_t)(uintptr_t)page) == 1;

	if (page != MAP_FAILED)
		munmap(page, 1);
	if (fd >= 0)
		close(fd);
	return can;
}

bool check_guard_start(void)
{
	static u32 state; /* 0: not known yet, 1: no, 2: yes */

	if (unlikely(!load_acquire(&state)))
		store_release(&state, guard_device_can_write() && tap_fault_start() ? 2 : 1);
	return load_relaxed(&state) == 2;
}

void check_guard_pages(const struct ibv_sge *sge, u64 *from, u64 *to)
{
	const u64 mask = GUARD_PAGE - 1;

	*from = (sge->addr + mask) & ~mask;
	*to = (sge->addr + sge->length) & ~mask;
}

void check_guard_add(const struct check_obj *queue, struct check_wr *wr, bool target)
{
	struct guard_owner owner = {
		.kind = queue->tap->kind,
		.queue = (void *)(uintptr_t)queue->tap->key,
		.ord = queue->ord,
		.target = target,
		.wr_id = wr->wr_id,
		.posted = wr->stack,
	};
	int saved = errno;
	u32 i;

	if (!check_guard_wants() || !check_guard_start())
		return;
	for (i = 0; i < wr->n_sge; i++) {
		owner.shared = wr->guardable[i] == CHECK_GUARDS_SENDS;
		check_guard_pages(&wr->sge[i], &owner.from, &owner.to);
		if (target)
			guard_open_shared(wr->sge[i].addr, wr->sge[i].addr + wr->sge[i].length);
		if (owner.from >= owner.to || wr->guardable[i] == CHECK_UNGUARDED ||
		    (owner.shared && target))
			continue;
		pthread_mutex_lock(&lock);
		wr->guard[i] = (u16)guard_add_range(&owner);
		pthread_mutex_unlock(&lock);
	}
	errno = saved;
}

static void guard_remove(struct guard *g)
{
	struct guard was = *g;

	g->owner.to = 0;
	if (was.paused)
		store_relaxed(&guards_paused, guards_paused - 1);
	guard_count(-1);
	if (guard_is_closed(&was) && !guard_is_covered(&was))
		guard_apply(was.owner.from, was.owner.to);
}

void check_guard_remove(struct check_wr *wr)
{
	int saved = errno;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		if (!wr->guard[i])
			continue;
		pthread_mutex_lock(&lock);
		if (guards[wr->guard[i] - 1].owner.to)
			guard_remove(&guards[wr->guard[i] - 1]);
		pthread_mutex_unlock(&lock);
		wr->guard[i] = 0;
	}
	errno = saved;
}

void check_guard_remove_qp(const struct check_obj *qp)
{
	struct guard *g;

	if (guard_is_empty())
		return;
	pthread_mutex_lock(&lock);
	/* The requests still have these entries. */
	for (g = guards; g < guards + guards_end; g++)
		if (g->owner.to && g->owner.kind == VOBJ_QP && g->owner.ord == qp->ord &&
		    !g->open) {
			g->open = true;
			guard_apply(g->owner.from, g->owner.to);
		}
	pthread_mutex_unlock(&lock);
}

void check_guard_fork(void)
{
	struct guard *g;

	pthread_mutex_init(&lock, NULL);
	check_guard_report_fork();
	for (g = guards; g < guards + guards_end; g++)
		if (g->owner.to)
			guard_protect(g->owner.from, g->owner.to, PROT_READ | PROT_WRITE);
	memset(guards, 0, guards_end * sizeof(*guards));
	guards_end = guards_used = guards_paused = 0;
	tap_memory_watch(false);
}

/* --- uses of guarded memory --- */

bool check_guard_lock(pthread_mutex_t *of)
{
	u32 i;

	for (i = 0; i < GUARD_SPINS; i++) {
		if (!pthread_mutex_trylock(of))
			return true;
		sched_yield();
	}
	return false;
}

static bool guard_forbids(const struct guard *g, bool write)
{
	return guard_is_closed(g) && (write || g->owner.target);
}

/* Whether a guard that is closed forbids that the program reads, or writes. */
static bool guard_meets(u64 addr, u64 len, bool write)
{
	const struct guard *g;
	bool found = false;

	if (guard_is_empty() || !check_guard_lock(&lock))
		return false;
	for (g = guards; g < guards + guards_end && !found; g++)
		found = guard_forbids(g, write) && guard_overlaps(g, addr, addr + len);
	pthread_mutex_unlock(&lock);
	return found;
}

/* Return: whether there was a guard. @use: NULL: pause them */
static bool guard_use_range(u64 addr, u64 len, const enum tap_memory *use, check_stack stack)
{
	struct guard *g;
	bool found = false;

	for (g = guards; g < guards + guards_end; g++) {
		if (!guard_is_closed(g) || !guard_overlaps(g, addr, addr + len))
			continue;
		found = true;
		if (use) {
			g->open = true;
			if (*use != TAP_MEMORY_CHANGED &&
			    (*use != TAP_MEMORY_READ || g->owner.target))
				check_guard_note(&g->owner, *use, addr, stack);
		} else if (g->owner.shared) {
			/* The library writes there, or registers it: a device may be next. */
			g->open = true;
		} else {
			g->paused = true;
			store_relaxed(&guards_paused, guards_paused + 1);
		}
		guard_apply(g->owner.from, g->owner.to);
	}
	return found;
}

static bool guard_use(u64 addr, u64 len, const enum tap_memory *use, check_stack stack)
{
	const u64 page = addr & ~(u64)(GUARD_PAGE - 1);
	bool found;

	if (!check_guard_lock(&lock)) {
		guard_protect(page, page + GUARD_PAGE, PROT_READ | PROT_WRITE);
		return true;
	}
	found = guard_use_range(addr, len, use, stack);
	pthread_mutex_unlock(&lock);
	return found;
}

void check_guard_pause(u64 addr, u64 len)
{
	if (!guard_is_empty())
		guard_use(addr, len, NULL, 0);
}

void check_guard_memory(u64 addr, u64 len, enum tap_memory use)
{
	if (guard_meets(addr, len, use != TAP_MEMORY_READ))
		guard_use(addr, len, &use, check_stack_here());
}

/* --- pages that have moved --- */

static bool guard_is_unmapped(const struct guard *g)
{
	u8 resident;

	return syscall(SYS_mincore, g->owner.from, (long)GUARD_PAGE, &resident) && errno == ENOMEM;
}

/* The guard whose pages are @v now, without the rights that it took away. */
static struct guard *guard_find_moved(const struct tap_mapping *v)
{
	struct guard *g;

	for (g = guards; g < guards + guards_end; g++)
		if (guard_is_closed(g) && v->to - v->from == g->owner.to - g->owner.from &&
		    v->read == !g->owner.target && !v->write && guard_is_unmapped(g))
			return g;
	return NULL;
}

/*
 * libc's realloc() calls mremap(2) inside itself, which no hook sees: guarded pages keep the rights
 * that they had, and the program faults at their new place. Return: whether that is so.
 */
static bool guard_follow(const struct tap_fault *fault)
{
	struct tap_mapping v;
	struct guard *g;

	if (guard_is_empty() || !tap_memory_find(fault->addr, &v) || !check_guard_lock(&lock))
		return false;
	g = guard_find_moved(&v);
	if (g) {
		g->open = true;
		check_guard_note(&g->owner, TAP_MEMORY_UNMAPPED,
				 g->owner.from + (fault->addr - v.from),
				 check_stack_at(fault->place));
		guard_protect(v.from, v.to, PROT_READ | PROT_WRITE);
	}
	pthread_mutex_unlock(&lock);
	return g;
}

bool check_guard_fault(struct tap_fault *fault)
{
	enum tap_memory use = fault->write ? TAP_MEMORY_WRITTEN : TAP_MEMORY_READ;

	if (!guard_meets(fault->addr, 1, fault->write))
		return guard_follow(fault);
	if (fault->library)
		return guard_use(fault->addr, 1, NULL, 0);
	return guard_use(fault->addr, 1, &use, check_stack_at(fault->place));
}

void check_guard_resume(void)
{
	int saved = errno;
	struct guard *g;

	if (likely(!load_relaxed(&guards_paused)))
		return;
	pthread_mutex_lock(&lock);
	for (g = guards; g < guards + guards_end; g++)
		if (g->owner.to && g->paused) {
			g->paused = false;
			guard_apply(g->owner.from, g->owner.to);
		}
	store_relaxed(&guards_paused, 0);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

bool check_guard_was_used(const struct check_wr *wr)
{
	u32 i;

	for (i = 0; i < wr->n_sge; i++)
		if (wr->guard[i] && guards[wr->guard[i] - 1].open)
			return true;
	return false;
}

/* The signal of faults must not be blocked before the first guard, either. */
static __attribute__((constructor)) void guard_expect(void)
{
	if (check_report_start() && (check_guard_wants() || check_watch_wants()))
		tap_fault_expect();
}
