/* SPDX-License-Identifier: MIT */
/*
 * Death of a client at any instruction, and what the fabric process does then. See
 * tests/lib/c/emu.h.
 */
#include "tests/lib/c/emu.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIED 9

/* Instructions, or accesses to memory, that the victim has left. */
static volatile long left;

static void victim_step(void)
{
	if (--left <= 0)
		syscall(SYS_exit_group, DIED);
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
 * to memory (tests/lib/c/emu_step.c). A death between two instructions that access none is the same
 * as a death before the next access.
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

static void ring(struct emu *m, void *q)
{
	emu_ring(m, q);
}

bool emu_die_after(struct emu *m, struct emu_qp *q, long n)
{
	return emu_die_in(m, ring, q, n);
}

bool emu_die_in(struct emu *m, void (*fn)(struct emu *m, void *arg), void *arg, long n)
{
	int status;
	pid_t pid;

	left = n;
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		steps_begin();
		fn(m, arg);
		steps_end();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		abort();
	return WEXITSTATUS(status) == DIED;
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
