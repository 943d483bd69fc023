/* SPDX-License-Identifier: MIT */
/* The users that are on in this process, the state of its threads, and notes to users. */
#include "libtap/process.h"

#include <stdarg.h>
#include <stdio.h>

__thread struct tap_thread tap_thread __attribute__((tls_model("initial-exec")));
struct tap_process tap = { .epoch = 1, .live = TAP_NOT_LIVE };

void tap_note(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	TAP_EACH(note, text);
}
