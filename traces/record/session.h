/* SPDX-License-Identifier: MIT */
/**
 * DOC: the recorder: records a program's calls of libibverbs and librdmacm in a trace directory.
 *
 * Theory of operation
 * -------------------
 * The recorder is a user of the tap (libtap/tap.h), which shows it what the program does. Calls
 * within a recorded call, such as those of librdmacm to libibverbs, are not recorded.
 *
 * The files in layers; each uses only those before it:
 *  - session.c: the state of the recording
 *  - object.h: what it keeps of objects
 *  - poll_record.c, memory.c, received.c, profile.c, devices.c: records and files of the trace
 *  - call.c: calls of the control path
 *  - post.c, tag_ops.c, batch.c, wr.c, poll.c, cq_ex.c, dm.c: the data path
 *  - start.c: start and end of the recording
 *  - user.c: the hooks of the tap
 *
 * The recorder must never harm the program: it reports failures on stderr, once, or in the trace.
 */
#ifndef TRACES_RECORD_SESSION_H
#define TRACES_RECORD_SESSION_H

#include "libtap/tap.h"
#include "traces/vtrace/write.h"

#include <pthread.h>

/** enum rec_payload - what to record of the bytes of messages. */
enum rec_payload {
	REC_FULL,
	REC_HASH, /* a CRC */
	REC_NONE,
};

/**
 * struct rec_thread - a thread of the program.
 * @ord: its ordinal in the trace
 */
struct rec_thread {
	u32 ord;
	u8 *bounce; /* REC_BOUNCE bytes */
};

#define REC_BOUNCE (64u << 10)

extern __thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));

/**
 * struct rec_state - the recording.
 * @per_wr: most bytes of payload that a work request may add to the trace
 * @room: bytes that shadows may still take
 * @real: write a profile of the device
 */
struct rec_state {
	pid_t pid;
	enum rec_payload payload;
	u32 per_wr;
	u64 room;
	bool real;
	struct vt_writer w;
};

extern struct rec_state rec;

/** rec_thread_start() - prepare the calling thread. Return: false: no memory. */
bool rec_thread_start(void);
/** rec_thread_end() - free what it has. */
void rec_thread_end(void);
/** rec_note() - note in the trace what was not recorded. */
__attribute__((format(printf, 1, 2))) void rec_note(const char *fmt, ...);
/** rec_note_text() - a note of the tap. */
void rec_note_text(const char *text);

#endif
