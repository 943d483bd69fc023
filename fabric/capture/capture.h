/* SPDX-License-Identifier: MIT */
/**
 * DOC: captures of the wire: `rdmaemu capture`, `rdmaemu run --capture`.
 *
 * Theory of operation
 * -------------------
 * What is sent lies in a ring in HCA memory (emulator/transport/capture.h), where whoever holds the token has put it. Each
 * capture is a thread of the fabric process that reads the ring, makes frames of what is there (frames.c) and
 * writes them (traces/formats/pcapng.h): files may be slow, and nobody but the senders is to wait for them. The thread
 * touches the ring, names and addresses of devices, and its own struct capture; all else is the loop's
 * (control.c), which marks ports and starts, stops and joins threads. What is to be said of packets that rules
 * touch is said when they are recorded (notes.c).
 *
 * A capture goes through enum capture_state. The thread moves it to READY and ENDED, and tells the loop by the
 * kick; the loop does the rest. The ring's tail is that of the capture which is farthest behind.
 */
#ifndef FABRIC_CAPTURE_CAPTURE_H
#define FABRIC_CAPTURE_CAPTURE_H

#include "emulator/transport/capture.h"
#include "fabric/core/fabric.h"

#include <pthread.h>
#include <sys/stat.h>

enum capture_state {
	CAPTURE_OPENING, /* its thread opens the file */
	CAPTURE_READY, /* ports are to be marked, who has asked is told */
	CAPTURE_RUNNING,
	CAPTURE_STOPPING, /* what is in the ring is still written */
	CAPTURE_ENDED, /* the thread is to be joined */
};

/**
 * struct capture_count - what a capture has done. Written by its thread, read by the loop, each word as one.
 * @packets, @bytes: that have been written; @taken: packets, also those that wait to be
 * @lost: packets for which the ring had no room
 */
struct capture_count {
	u64 packets, bytes, taken, filtered, lost;
	u32 files;
};

/**
 * struct capture - a capture.
 * @bit: of its place; in hca_port.capture
 * @ask: as it was asked for
 * @fd: what to write to; -1: ask.path, it is a ring
 * @out: what the thread writes to: the same, or -1
 * @wake: eventfd: the thread is to look
 * @at: how far it has read the ring
 * @stop_at: it ends there; valid in STOPPING
 * @conn: who waits for READY, or for ENDED; NULL: nobody
 * @owner: it ends with this connection; NULL: it does not
 * @reads: the ring may not be written over behind @at; guarded by captures.lock, as is @at
 * @told: another than @owner has ended it, and knows how; @owner is still to ask
 * @stop: somebody wants it to end; @joined: its thread has been; @cut: its reader took nothing any more
 * @closing: its descriptor is about to be closed by the thread; guarded by captures.lock
 * @file: what it writes to now, where that is a regular file, else st_nlink is 0; guarded by captures.lock
 * @err: 0, or errno that it has ended with; @why: what it was about
 * @stuck_at: bytes that it had written when that was looked at last, @stuck_since
 */
struct capture {
	struct fabric *f;
	u32 bit;
	u32 id;
	struct proto_capture ask;
	int fd;
	int wake;
	u32 state; /* enum capture_state */
	pthread_t thread;
	u64 at;
	u64 stop_at;
	struct conn *conn;
	struct conn *owner;
	int err;
	bool reads;
	bool told;
	bool stop;
	bool joined;
	bool cut;
	bool closing;
	char why[256];
	struct stat file;
	struct capture_count count;
	u64 stuck_at, stuck_since;
};

/** struct captures - all of them. @news: a thread has moved its capture on. @lock: guards @of and the ring's tail */
struct captures {
	struct capture *of[CAPTURES];
	u32 last_id;
	u32 news;
	pthread_mutex_t lock;
};

/** fabric_capture_init() - none. Return: 0 or -ENOMEM. */
int fabric_capture_init(struct fabric *f);
/**
 * fabric_capture_request() - PROTO_CAPTURE_START, _STOP. @fd: what came with it; set to -1 if it is kept.
 * Return: 0, -EINPROGRESS: answered later; -errno, with capture.text where there is more to say.
 */
int fabric_capture_request(struct fabric *f, struct conn *c, struct proto_msg *m, int *fd);
/** fabric_capture_list() - PROTO_CAPTURE_LIST. Return: a memfd or -errno. */
int fabric_capture_list(struct fabric *f, u32 flags);
/** fabric_capture_conn_closed() - a connection is closed. */
void fabric_capture_conn_closed(struct fabric *f, const struct conn *c);
/** fabric_capture_due() - whether there is something to do with the token. fabric_capture_work() - do it. */
bool fabric_capture_due(const struct fabric *f);
void fabric_capture_work(struct fabric *f);
/** fabric_capture_tick() - look at those that are to end. Return: when to come back (real time), or NEVER. */
u64 fabric_capture_tick(struct fabric *f);
/** fabric_capture_node_added() - a node came: mark its ports. No token needed. */
void fabric_capture_node_added(struct fabric *f);
/** fabric_capture_wake_writers() - the ring may fill up: threads that sleep are woken. */
void fabric_capture_wake_writers(struct fabric *f);
/** fabric_capture_client_added() - a client has come. No token needed. */
void fabric_capture_client_added(struct fabric *f);
/** fabric_capture_shutdown() - the fabric ends: what is in the ring goes to the files. */
void fabric_capture_shutdown(struct fabric *f);
/**
 * fabric_capture_written() - how far the capture that is held by a connection has got.
 * @upto: a position in the ring; 0: becomes that of now
 * Return: 0: all before it is written, or about to be, so many @packets in all; -EAGAIN; -ENOENT: there is none.
 */
int fabric_capture_written(struct fabric *f, const struct conn *owner, u64 *upto, u64 *packets);
/** fabric_capture_describe() - what is told of one: id, path, counts, state. */
void fabric_capture_describe(const struct capture *c, struct proto_capture *q);
/** fabric_capture_has_port() - whether the port is one that it is about. */
bool fabric_capture_has_port(const struct hca *hca, const struct proto_capture *q, u32 dev,
			     u32 port);

/* --- files.c: two captures into one file would spoil it ----------------------------------------- */

/**
 * fabric_capture_claim_file() - @fd becomes what @c writes to, unless another capture does. Pipes and devices are free for all.
 * captures.lock is held.
 * Return: 0; -EBUSY: so does that of number *@id; -errno
 */
int fabric_capture_claim_file(struct captures *all, struct capture *c, int fd, u32 *id);
/** fabric_capture_claim_ring() - likewise, all of a ring, which has no file yet. */
int fabric_capture_claim_ring(struct captures *all, const struct capture *c, u32 *id);

/* --- writer.c: in the capture's own thread ---------------------------------------------------- */

/** capture_writer_thread() - all of it. @arg: struct capture */
void *capture_writer_thread(void *arg);

/* --- frames.c ----------------------------------------------------------------------------------- */

struct roce_pkt;
/** capture_frame_begin() - what the packets of a record have in common. Return: how many they are; 0: it is broken. */
u32 capture_frame_begin(const struct hca *hca, const struct cap_view *v, struct roce_pkt *p);
/**
 * capture_frame_next() - packet @i of it, in turn: what only this one has.
 * Return: whether roce_build_next() can make its frame of that of the packet before.
 */
bool capture_frame_next(const struct cap_view *v, u32 i, struct roce_pkt *p);

#endif
