/* SPDX-License-Identifier: MIT */
/* The users that are on in this process, the state of its threads, and notes to users. */
#include "libtap/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

__thread struct tap_thread tap_thread __attribute__((tls_model("initial-exec")));
struct tap_process tap = { .epoch = 1, .live = TAP_NOT_LIVE };

u64 tap_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void tap_note(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	TAP_EACH(note, text);
}
