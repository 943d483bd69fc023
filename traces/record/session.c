/* SPDX-License-Identifier: MIT */
/* The state of the recording in this process and its threads, and notes about what is missing. */
#include "traces/record/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

__thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));
struct rec_state rec;

bool rec_thread_start(void)
{
	void *mem;

	if (!rec_thread.bounce) {
		mem = mmap(NULL, REC_BOUNCE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		if (mem == MAP_FAILED)
			return false;
		rec_thread.bounce = mem;
	}
	rec_thread.ord = vt_writer_add_thread(&rec.w);
	return true;
}

void rec_thread_end(void)
{
	munmap(rec_thread.bounce, REC_BOUNCE);
	rec_thread.bounce = NULL;
}

void rec_note_text(const char *text)
{
	vt_writer_put_note(&rec.w, rec_thread.ord, text);
}

void rec_note(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rec_note_text(text);
}
