/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/starter.h.
 */
#include "fabric/core/starter.h"
#include "fabric/core/fabric.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void starter_close(struct fabric *f)
{
	f->starter_told = true;
	close(DAEMON_FD_READY);
	close(DAEMON_FD_LOCK);
}

void starter_report_ready(struct fabric *f, const char *but)
{
	char text[512];
	int n;

	if (f->starter_told)
		return;
	n = but ? snprintf(text, sizeof(text) - 1, "%c%s", DAEMON_BUT, but) : 0;
	n = n < (int)sizeof(text) - 1 ? n : (int)sizeof(text) - 2;
	text[n++] = DAEMON_READY;
	if (write(DAEMON_FD_READY, text, (size_t)n) != n)
		fabric_note(f, "the process that started this fabric has exited");
	starter_close(f);
}

void starter_report_failure(struct fabric *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(DAEMON_FD_READY, fmt, ap);
	va_end(ap);
	starter_close(f);
}
