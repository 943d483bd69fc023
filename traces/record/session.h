/* SPDX-License-Identifier: MIT */
/**
 * DOC: librdmaemu-record.so records a program's calls of libibverbs and librdmacm in a trace
 * directory.
 *
 * Theory of operation
 * -------------------
 * The recorder stands between a program and the library that it would use otherwise: the shim, or
 * the installed library of a real HCA. It only knows the public API. It wraps exported functions
 * (exports.c), generated from the descriptions in traces/calls/table.h. verbs.h calls other
 * functions through pointers: the recorder patches the tables of the objects that the library below
 * returns (ops.c, wr.c, cq_ex.c, dm.c), and keeps the original pointers. Calls within a recorded
 * call, such as those of librdmacm to libibverbs, are carried out and not recorded.
 *
 * The files in layers; each uses only those before it:
 *  - session.c: the state of the recording
 *  - object_table.c: the registry of objects, found by address without a lock. An object is
 *    registered when a line of text names it for the first time, before the program can use it.
 *    This includes objects that librdmacm creates.
 *  - poll_record.c, memory.c, received.c, profile.c, devices.c: records and files of the trace
 *  - start.c: start and end of the recording
 *  - call.c: records a call of the control path
 *  - post.c, tag_ops.c, batch.c, wr.c, poll.c, cq_ex.c, dm.c: wrappers of the data path
 *  - ops.c: wrappers of function pointers, and patching
 *  - exports.c, forward.c: exported wrappers
 *
 * The recorder must never harm the program: it reports failures on stderr, once, or in the trace.
 */
#ifndef TRACES_RECORD_SESSION_H
#define TRACES_RECORD_SESSION_H

#include "emulator/types.h"
#include "traces/calls/calls.h"
#include "traces/vtrace/write.h"

#include <pthread.h>

/** enum rec_payload - what to record of the bytes of messages. */
enum rec_payload {
	REC_FULL,
	REC_HASH, /* a CRC */
	REC_NONE,
};

struct rec_obj;

/**
 * struct rec_thread - a thread of the program.
 * @ord: its ordinal in the trace, 0: none yet; @epoch: of the process that gave it
 * @depth: recorded calls that it is in
 * @makes: kinds of objects (bits of enum vobj) that the current call may have created
 * @fresh: objects that the current call has created, newest first
 */
struct rec_thread {
	u32 ord;
	u32 epoch;
	u32 depth;
	u32 makes;
	struct rec_obj *fresh;
	struct vcall_text *text;
	u8 *bounce; /* REC_BOUNCE bytes */
};

#define REC_BOUNCE (64u << 10)

extern __thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));

/**
 * struct rec_state - the recording.
 * @state: 0 before the first call, then REC_ON or REC_OFF
 * @epoch: number of forks that led to this process
 * @lock: protects the registry of objects
 * @per_wr: most bytes of payload that a work request may add to the trace
 * @room: bytes that shadows may still take
 * @real: write a profile of the device
 */
struct rec_state {
	u32 state;
	u32 epoch;
	pid_t pid;
	enum rec_payload payload;
	u32 per_wr;
	u64 room;
	bool real;
	pthread_mutex_t lock;
	struct vt_writer w;
};

#define REC_ON	1u
#define REC_OFF 2u

extern struct rec_state rec;

/** rec_threads_init() - prepare rec_thread_init(). Return: 0 or an error. */
int rec_threads_init(void);
/** rec_thread_init() - allocate what the calling thread needs. Return: false: no memory. */
bool rec_thread_init(void);
/** rec_note() - note in the trace what was not recorded. */
__attribute__((format(printf, 1, 2))) void rec_note(const char *fmt, ...);

#endif
