/* SPDX-License-Identifier: MIT */
/**
 * DOC: captures, inside.
 *
 * The holder of the token records packets in a ring in HCA memory:
 * emulator/transport/capture_ring.h. Each capture is a thread of the fabric process that reads the
 * ring, builds frames from its records (frames.c) and writes them (traces/formats/pcapng.h): a slow
 * file holds up the senders, but nothing else. The thread uses the ring, names and addresses of
 * devices, and its own struct capture. The loop does everything else: it marks ports (ports.c), and
 * starts, stops and joins threads (control.c). A packet's comment is made when it is recorded
 * (fabric/link/burst_capture.c, fabric/fault/tx.c).
 *
 * A capture goes through enum capture_state. Its thread moves it to READY and to ENDED and kicks
 * the loop, which makes the other moves. The tail of the ring is that of the slowest capture.
 */
#ifndef FABRIC_CAPTURE_CONTROL_H
#define FABRIC_CAPTURE_CONTROL_H

#include "emulator/transport/capture_ring.h"
#include "fabric/capture/capture.h"
#include "fabric/nodes/ports.h"

#include <pthread.h>
#include <sys/stat.h>

enum capture_state {
	CAPTURE_OPENING, /* its thread opens the file */
	CAPTURE_READY, /* the loop marks ports and answers the request */
	CAPTURE_RUNNING,
	CAPTURE_STOPPING, /* its thread writes the rest of the ring */
	CAPTURE_ENDED, /* the loop joins the thread */
};

/** struct capture_count - progress. The thread writes it, the loop reads it, word by word. */
struct capture_count {
	u64 packets, bytes; /* written */
	u64 taken; /* packets written or about to be */
	u64 filtered;
	u64 lost; /* packets that had no room in the ring */
	u32 files;
};

/** struct capture - a capture. captures.lock guards members marked L. */
struct capture {
	struct fabric *f;
	u32 bit; /* its index, and its bit in hca_port.capture */
	u32 id;
	struct proto_capture ask; /* the request */
	int fd; /* output; -1: a ring of files, ask.path */
	int wake; /* eventfd that wakes the thread */
	u32 state; /* enum capture_state */
	pthread_t thread;
	u64 at; /* L: how far it has read the ring */
	u64 stop_at; /* where it ends; valid in STOPPING */
	struct conn *conn; /* connection that waits for READY or ENDED, or NULL */
	struct conn *owner; /* the capture ends with this connection; NULL: it does not */
	int err; /* errno that it has failed with; 0: it has not */
	bool reads; /* L: the ring must not be overwritten after @at */
	bool told; /* another connection has stopped it and knows the result; @owner has yet to ask */
	bool stop; /* it is to end */
	bool joined; /* its thread was joined */
	bool cut; /* its reader has stopped reading */
	bool closing; /* L: the thread is about to close the output */
	char why[256]; /* subject of @err */
	struct stat
		file; /* L: the current output if it is a regular file, otherwise st_nlink is 0 */
	struct capture_count count;
	u64 stuck_at; /* bytes written at @stuck_since */
	u64 stuck_since;
};

/** struct captures - all captures. */
struct captures {
	struct capture *of[CAPTURES];
	u32 last_id;
	u32 news; /* a thread has changed the state of its capture */
	pthread_mutex_t lock; /* guards @of and the ring's tail */
};

/** capture_has_port() - whether a capture is about a port. */
static inline bool capture_has_port(const struct hca *hca, const struct proto_capture *q, u32 dev,
				    u32 port)
{
	return fabric_port_matches(hca, dev, port, q->node, q->dev, q->port);
}

/* --- control.c --- */

/** capture_describe() - what is reported of a capture: id, path, counts, state. */
void capture_describe(const struct capture *c, struct proto_capture *q);

/* --- ports.c --- */

/** capture_is_running() - whether a capture, which may be NULL, reads the ring. */
bool capture_is_running(const struct capture *c);
/** capture_mark() - tell the engine what all captures together need. Token held. */
void capture_mark(struct fabric *f);
/** capture_any_port() - whether there is a port that a request is about. */
bool capture_any_port(const struct hca *hca, const struct proto_capture *q);

/* --- files.c: two captures into one file would spoil it --- */

/**
 * capture_claim_file() - claim output @fd for @c, unless another capture writes to it. Pipes and
 * devices can be shared. captures.lock is held.
 * Return: 0; -EBUSY: capture *@id writes to it; -errno
 */
int capture_claim_file(struct captures *all, struct capture *c, int fd, u32 *id);
/** capture_claim_ring() - the same for a ring of files, none of which exists yet. */
int capture_claim_ring(struct captures *all, const struct capture *c, u32 *id);

/* --- writer.c --- */

/** capture_writer_thread() - the thread of a capture. @arg: struct capture */
void *capture_writer_thread(void *arg);

#endif
