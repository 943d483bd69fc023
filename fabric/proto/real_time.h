/* SPDX-License-Identifier: MIT */
/** DOC: real time, for processes and sockets; the model goes by fabric time. */
#ifndef FABRIC_PROTO_REAL_TIME_H
#define FABRIC_PROTO_REAL_TIME_H

#include "emulator/types.h"

#include <time.h>

/** real_ns() - CLOCK_MONOTONIC. */
static inline u64 real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/** wall_ns() - CLOCK_REALTIME. */
static inline u64 wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/** thread_cpu_ns() - CPU time that this thread has used. */
static inline u64 thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

#endif
