/* SPDX-License-Identifier: MIT */
/**
 * DOC: writes a program's part of a trace directory, from within the program.
 *
 * Uses no stdio, and allocates nothing but address space. Any number of threads may write; a child
 * of fork() opens a writer of its own. Everything written is in the page cache at once: complete
 * records survive however the program is killed.
 */
#ifndef TRACES_VTRACE_WRITE_H
#define TRACES_VTRACE_WRITE_H

#include "traces/vtrace/vtrace.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

/** struct vt_own - a file of the writer, and its identity. */
struct vt_own {
	int fd;
	dev_t dev;
	ino_t ino;
};

/**
 * struct vt_writer - the writer of a program's part. All members but @num are private.
 * @num: N of pN
 * @full: errno of what ended the writing (ENOSPC, EFBIG ...); 0: none. After that nothing is
 *	written, and the program continues unharmed.
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
	uint64_t tail; /* end of the last reserved record */
	uint32_t lines;
	uint32_t threads;
	uint32_t lost_notes;
	struct vt_head *order;
	pthread_mutex_t lock; /* reserving records, writing lines */
};

/**
 * vt_writer_open() - take the next free pN in the trace directory @dir, which exists, and start
 * writing there.
 * @dir: DIR/order is created if it does not exist
 *
 * Returns 0 or -errno.
 */
int vt_writer_open(struct vt_writer *w, const char *dir);

/**
 * vt_writer_put_file() - write a whole file of the program's part, such as "program".
 * @text: lines "key value", each with its newline
 *
 * Returns 0 or -errno.
 */
int vt_writer_put_file(struct vt_writer *w, const char *name, const char *text, size_t len);
/** vt_writer_add_file() - append to such a file, which is created if it does not exist. */
int vt_writer_add_file(struct vt_writer *w, const char *name, const char *text, size_t len);
/**
 * vt_writer_put_dir_file() - write a file of the trace directory, unless it exists. The file
 * appears complete, even if the program is killed meanwhile.
 *
 * Returns 0, also if it existed, or -errno.
 */
int vt_writer_put_dir_file(struct vt_writer *w, const char *name, const char *text, size_t len);

/** vt_order_next() - take the next number of the order. */
uint64_t vt_order_next(struct vt_writer *w);

/** vt_now() - CLOCK_MONOTONIC, nanoseconds. */
uint64_t vt_now(void);

/** vt_writer_add_thread() - an ordinal for a new thread, which keeps it in its own storage. */
uint32_t vt_writer_add_thread(struct vt_writer *w);

/**
 * vt_rec_reserve() - reserve a record.
 * @body: bytes after its head
 *
 * Returns the record, all zeros but @size and @kind, or NULL if it is too large or the writer is
 * full. Fill it in at once, then call vt_rec_commit(): the program may be killed in between, but
 * the thread must not block.
 */
struct vt_rec *vt_rec_reserve(struct vt_writer *w, enum vt_kind kind, size_t body);

/** vt_rec_body() - the body of a record, after its head. */
static inline void *vt_rec_body(struct vt_rec *rec)
{
	return rec + 1;
}

/** vt_rec_commit() - complete a record. */
void vt_rec_commit(struct vt_rec *rec);

/**
 * vt_writer_put_call() - write a line of calls and its VT_CALL.
 * @like: its @thread, numbers and times
 * @line: without newline; no byte below ' '
 * @fact: values of the "~" in it, @n_facts of them
 *
 * Returns 0 or -errno.
 */
int vt_writer_put_call(struct vt_writer *w, const struct vt_rec *like, const char *line, size_t len,
		       const uint64_t *fact, uint32_t n_facts);

/**
 * vt_writer_put_note() - note in the trace what was not recorded, and why. Text without newline.
 */
void vt_writer_put_note(struct vt_writer *w, uint32_t thread, const char *text);

/** vt_crc() - the CRC-32 that all checks and hashes of a trace use. */
uint32_t vt_crc(uint32_t before, const void *bytes, size_t len);

/**
 * vt_writer_close() - write VT_END at the end of the program, and truncate the files to their
 * contents. Call it once, from one thread.
 */
void vt_writer_close(struct vt_writer *w);

/**
 * vt_writer_forget() - give up the parent's writer in a child of fork(), without changing its
 * files. Unmaps what @w maps; the locks of the parent's other threads are lost with it.
 */
void vt_writer_forget(struct vt_writer *w);

#endif
