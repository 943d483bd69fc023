/* SPDX-License-Identifier: MIT */
/* The state of the recording in this process and its threads, and notes about what is missing. */
#include "traces/record/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

__thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));
struct rec_state rec = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_key_t thread_key;

struct thread_memory {
	struct vcall_text text;
	_Alignas(64) u8 bounce[REC_BOUNCE];
};

static void rec_thread_memory_free(void *mem)
{
	rec_thread.text = NULL;
	rec_thread.bounce = NULL;
	rec_thread.ord = 0;
	munmap(mem, sizeof(struct thread_memory));
}

int rec_threads_init(void)
{
	return pthread_key_create(&thread_key, rec_thread_memory_free);
}

bool rec_thread_init(void)
{
	struct thread_memory *mem;
	int saved = errno;

	if (!rec_thread.text) {
		mem = mmap(NULL, sizeof(*mem), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		errno = saved;
		if (mem == MAP_FAILED)
			return false;
		rec_thread.text = &mem->text;
		rec_thread.bounce = mem->bounce;
		pthread_setspecific(thread_key, mem);
	}
	rec_thread.ord = vt_writer_add_thread(&rec.w);
	rec_thread.epoch = rec.epoch;
	return true;
}

void rec_note(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vt_writer_put_note(&rec.w, rec_thread.ord, text);
}
