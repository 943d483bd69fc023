/* SPDX-License-Identifier: MIT */
/**
 * DOC: writing a program's part of a trace directory, from within the program.
 *
 * No stdio, and no allocation but of address space. Any number of threads; a child of fork() opens a writer of its own.
 * What was written is in the page cache at once: whoever kills the program, complete records stay.
 */
#ifndef TRACES_VTRACE_WRITE_H
#define TRACES_VTRACE_WRITE_H

#include "traces/vtrace/vtrace.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

/** struct vt_own - a file of ours, and which one it is. */
struct vt_own {
	int fd;
	dev_t dev;
	ino_t ino;
};

/**
 * struct vt_writer - a program's part. All fields are the writer's own but @num.
 * @num: N of pN
 * @full: errno's value of what ended the writing (ENOSPC, EFBIG ...); 0: none. Then nothing is written any
 *        more, and the program goes on unharmed.
 */
struct vt_writer {
	unsigned int num;
	int full;
	char dir[PATH_MAX + 16]; /* of the program's part */
	struct vt_own data;
	struct vt_own calls;
	uint8_t *base; /* address space for @space bytes */
	uint64_t space;
	uint64_t mapped; /* bytes of it that are mapped */
	uint64_t tail; /* end of the last place taken */
	uint32_t lines;
	uint32_t threads;
	uint32_t lost_notes;
	struct vt_head *order;
	pthread_mutex_t lock; /* places and lines */
};

/**
 * vt_writer_open() - take the next free pN in the trace directory @dir, which exists, and begin to write there.
 * @dir: DIR/order is made if it is not there yet
 *
 * Returns 0 or -errno.
 */
int vt_writer_open(struct vt_writer *w, const char *dir);

/**
 * vt_writer_put_file() - write a file of the program's part at once, such as "program".
 * @text: lines "key value", each with its newline
 *
 * Returns 0 or -errno.
 */
int vt_writer_put_file(struct vt_writer *w, const char *name, const char *text, size_t len);
/** vt_writer_add_file() - write more of such a file, which is made if it is not there. */
int vt_writer_add_file(struct vt_writer *w, const char *name, const char *text, size_t len);
/**
 * vt_writer_put_dir_file() - write a file of the trace as a whole, if it is not there: all of it at once, whatever becomes of the program.
 *
 * Returns 0, also where it was there, or -errno.
 */
int vt_writer_put_dir_file(struct vt_writer *w, const char *name, const char *text, size_t len);

/** vt_order_next() - the next number of the order. */
uint64_t vt_order_next(struct vt_writer *w);

/** vt_now() - CLOCK_MONOTONIC, nanoseconds. */
uint64_t vt_now(void);

/** vt_writer_add_thread() - an ordinal for a thread that has none yet. Keep it in the thread's own storage. */
uint32_t vt_writer_add_thread(struct vt_writer *w);

/**
 * vt_rec_reserve() - a place for a record.
 * @body: bytes behind its head
 *
 * Returns the record, zeros but for @size and @kind, or NULL if it is too large or the writer is full. Fill it in at
 * once, then vt_rec_commit(): the program may be killed in between, but the thread may not wait.
 */
struct vt_rec *vt_rec_reserve(struct vt_writer *w, enum vt_kind kind, size_t body);

/** vt_rec_body() - what follows a record's head. */
static inline void *vt_rec_body(struct vt_rec *rec)
{
	return rec + 1;
}

/** vt_rec_commit() - the record is complete. */
void vt_rec_commit(struct vt_rec *rec);

/**
 * vt_writer_put_call() - write a line of calls and its VT_CALL.
 * @like: @thread, numbers and times for it
 * @line: without newline; no byte below ' '
 * @fact: values for the "~" in it, @n_facts of them
 *
 * Returns 0 or -errno.
 */
int vt_writer_put_call(struct vt_writer *w, const struct vt_rec *like, const char *line, size_t len,
		       const uint64_t *fact, uint32_t n_facts);

/** vt_writer_put_note() - say in the trace that something was not recorded, and why: text without newline. */
void vt_writer_put_note(struct vt_writer *w, uint32_t thread, const char *text);

/** vt_crc() - what all checks and hashes of a trace are. */
uint32_t vt_crc(uint32_t before, const void *bytes, size_t len);

/** vt_writer_close() - the program is at its end: VT_END, and the files as short as they are. Once, by one thread. */
void vt_writer_close(struct vt_writer *w);

/**
 * vt_writer_forget() - in a child of fork(): give up the parent's writer without a trace in its files. What @w maps is
 * unmapped; other threads' locks are forgotten with it.
 */
void vt_writer_forget(struct vt_writer *w);

#endif
