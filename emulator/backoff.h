/* SPDX-License-Identifier: MIT */
/* Waits for another thread or process that is nearly done, and may have lost its CPU just then. */
#ifndef EMULATOR_BACKOFF_H
#define EMULATOR_BACKOFF_H

#include "emulator/types.h"

#include <time.h>

#define REST_SPINS 2000u

/** cpu_pause() - tell the CPU that its thread spins. */
static inline void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/**
 * backoff_wait() - pause between the checks of a wait. @tries: checks so far. First a pause
 * instruction, then a sleep of @ns (under 1 s).
 */
static inline void backoff_wait(u32 tries, u32 ns)
{
	const struct timespec nap = { .tv_nsec = ns };

	if (tries < REST_SPINS)
		cpu_pause();
	else
		nanosleep(&nap, NULL);
}

#endif
