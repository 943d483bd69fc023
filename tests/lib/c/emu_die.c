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

/* Instructions that the victim has left. */
static volatile long left;

static void on_trap(int sig)
{
	(void)sig;
	if (--left <= 0)
		syscall(SYS_exit_group, DIED);
}

/* From here on every instruction raises SIGTRAP. */
static inline void trap_on(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static inline void trap_off(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

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
	struct sigaction sa = { .sa_handler = on_trap };
	int status;
	pid_t pid;

	left = n;
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		sigaction(SIGTRAP, &sa, NULL);
		trap_on();
		fn(m, arg);
		trap_off();
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
