/* SPDX-License-Identifier: MIT */
/*
 * Death of a client at any instruction, and what the fabric process does then. See
 * tests/lib/engine/emu.h.
 *
 * A client that runs its call is the victim: it arrives at a step before each instruction, or each
 * access to memory. The test process runs it, and so pays for each step once: emu_die_in() leaves
 * the call at one of them, and emu_die_each() forks at those that it wants to know about.
 */
#include "tests/lib/engine/emu.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Deaths with a failed check that end a run. */
#define FAILED_ENOUGH 5

/* Steps that the victim has left until it arrives, and what happens then. */
static volatile long steps_left;
static void (*victim_arrive)(void);
/* Where the test goes on when its victim does not. */
static sigjmp_buf survivor;

static void victim_step(void)
{
	if (--steps_left <= 0)
		victim_arrive();
}

#if defined(__x86_64__)
static void on_trap(int sig)
{
	(void)sig;
	victim_step();
}

/* From here on every instruction raises SIGTRAP. */
static inline void steps_begin(void)
{
	struct sigaction sa = { .sa_handler = on_trap };

	sigaction(SIGTRAP, &sa, NULL);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static inline void steps_end(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}
#else
/*
 * No trap flag: the emulator's objects are compiled so that they call emu_step() before each access
 * to memory (tests/lib/engine/emu_step.c). A death between two instructions that access none is the
 * same as a death before the next access.
 */
static volatile bool stepping;

void emu_step(void)
{
	if (stepping)
		victim_step();
}

static inline void steps_begin(void)
{
	stepping = true;
}

static inline void steps_end(void)
{
	stepping = false;
}
#endif

static void victim_leave(void)
{
	siglongjmp(survivor, 1);
}

/* Return: whether the victim came to the end of its call. */
static bool victim_run(struct emu *m, void (*fn)(struct emu *m, void *arg), void *arg)
{
	if (sigsetjmp(survivor, 1)) {
		steps_end();
		return false;
	}
	steps_begin();
	fn(m, arg);
	steps_end();
	return true;
}

bool emu_die_in(struct emu *m, void (*fn)(struct emu *m, void *arg), void *arg, long n)
{
	steps_left = n;
	victim_arrive = victim_leave;
	return !victim_run(m, fn, arg);
}

/* Whose deaths emu_die_each() is looking at: a signal handler has no arguments. */
static struct emu *dying;
static struct emu_deaths *deaths;

/* Check the world as it is now, in a copy of it. Return: whether no later death matters. */
static bool world_check(bool died)
{
	struct emu_deaths *d = deaths;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		steps_end();
		status = d->check(dying, d, died);
		fflush(stdout);
		_exit(status);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) < EMU_VERDICTS) {
		d->seen[WEXITSTATUS(status)]++;
		return d->enough && WEXITSTATUS(status) >= d->enough;
	}
	if (WIFSIGNALED(status))
		printf("# death after %ld instructions (DEATH_STEP=%ld): signal %d ended the "
		       "check\n",
		       d->n, d->step, WTERMSIG(status));
	return ++d->failed == FAILED_ENOUGH;
}

static void victim_branch(void)
{
	struct emu_deaths *d = deaths;

	d->n += d->died ? d->step : 0;
	d->died++;
	if (world_check(true))
		victim_leave();
	steps_left = d->step;
}

void emu_die_each(struct emu *m, struct emu_deaths *d)
{
	if (d->step <= 0)
		abort();
	dying = m;
	deaths = d;
	d->n = d->first ? d->first : 1;
	steps_left = d->n;
	victim_arrive = victim_branch;
	/* A child prints what it has to say, and not what waits here. */
	fflush(stdout);
	if (!victim_run(m, d->call, d->arg))
		return;
	d->n += d->died ? d->step - steps_left : -steps_left;
	world_check(false);
}

void emu_die_ring(struct emu *m, void *q)
{
	emu_ring(m, q);
}

void emu_reap(struct emu *m)
{
	u64 token = m->hca->token;

	if (token == m->c[0].e.token ? !engine_steal(&m->fabric, token)
				     : token != TOKEN_FREE || engine_enter(&m->fabric))
		abort();
	engine_reap(&m->fabric, 0);
	engine_leave(&m->fabric);
	if (m->hca->commit.valid)
		abort();
}

long emu_death_step(long usual)
{
	const char *given = getenv("DEATH_STEP");

	return given && atol(given) > 0 ? atol(given) : usual;
}
