/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/note.h.
 */
#include "fabric/core/note.h"
#include "fabric/core/fabric.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_FILE_MAX (256u << 10) /* bytes of the log file, which is truncated then */

void fabric_note(struct fabric *f, const char *fmt, ...)
{
	struct note *t = &f->notes.ring[f->notes.n++ % NOTES];
	struct stat st;
	va_list ap;

	t->ts = fabric_ns(f);
	t->nth = f->hca ? f->hca->journal_nth : 0;
	va_start(ap, fmt);
	vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
	if (!fstat(STDERR_FILENO, &st) && S_ISREG(st.st_mode) && st.st_size > LOG_FILE_MAX &&
	    ftruncate(STDERR_FILENO, 0))
		return;
	dprintf(STDERR_FILENO, "%llu.%09llu %s\n", (unsigned long long)(t->ts / NSEC_PER_SEC),
		(unsigned long long)(t->ts % NSEC_PER_SEC), t->text);
}
