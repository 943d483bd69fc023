/* SPDX-License-Identifier: MIT */
/**
 * DOC: the shim's inner contract: one client of one fabric per process.
 *
 * client.c connects to the fabric at first use and owns struct shim_client; host.c is the engine's
 * view of this process (struct hca_host); watch.c is the one thread that a process has once it has
 * opened a device: it sees the fabric die and serves the memory helper. The verbs files build on
 * the functions below and never touch sockets.
 */
#ifndef LIBSHIM_CLIENT_SHIM_H
#define LIBSHIM_CLIENT_SHIM_H

#include "emulator/verbs/cmd.h"
#include "emulator/engine.h"
#include "fabric/proto/calls.h"
#include "fabric/proto/proto.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

/**
 * struct shim_client - this process as a client of its fabric.
 * @live: connected (in this very process: a forked child starts anew)
 * @fatal: the fabric has gone; every verb that needs it answers EIO, destroys succeed
 * @clock: the fabric's: in HCA memory, or for who has none in the own segment
 * @epoch: counts the forks that led to this process: objects made in another epoch are inherited.
 *	Their rings are zeroed private memory, their handles are not ours: forget them silently.
 * @fail_calls: of the own segment, so that a call can look at it at any time; all zero without one
 */
struct shim_client {
	bool live;
	bool fatal;
	bool isolated;
	u32 epoch;
	u32 id;
	u32 gen;
	struct hca *hca; /* NULL when isolated */
	struct seg_hdr *seg;
	const u64 *fail_calls;
	const struct hca_clock *clock;
	struct engine engine; /* direct mode only */
	struct proto_welcome welcome;
	int sock;
	int kick_fd;
};

extern struct shim_client shim;

/* --- client.c ------------------------------------------------------------------------------ */

/** shim_client_connect() - be a client; idempotent, thread-safe. Return: 0, -errno (-ENOSYS: none). */
int shim_client_connect(void);
/** shim_client_start() - called once per ibv_open_device(): makes sure that the watcher thread runs. */
int shim_client_start(void);
/** shim_cmd_exec() - execute a command, direct or through the command ring. Return: 0 or -errno. */
int shim_cmd_exec(struct hca_cmd *cmd);
/** shim_doorbell_ring() - work was posted on the QP in slot @slot. */
void shim_doorbell_ring(u32 slot);
/** shim_engine_poke() - a poller found nothing: work off what is pending. Return: whether it did. */
bool shim_engine_poke(void);
/**
 * shim_sends_settle() - give the fabric process, where it has to send for us, the time to do it, but not for
 * ever. @slot: of the QP; ANY_SLOT: all UD QPs of this process
 */
#define ANY_SLOT (~0u)
void shim_sends_settle(u32 slot);
/** shim_engine_drain() - about to sleep: work off everything this process still has pending. */
void shim_engine_drain(void);

/** shim_seg_alloc() - zeroed, 64-byte aligned space in the own segment. Return: offset, 0: ENOMEM. */
u64 shim_seg_alloc(u64 size);
/** shim_seg_free() - give it back; whole pages return to the system. */
void shim_seg_free(u64 off, u64 size);
/** shim_seg_at() - the address of an offset in the own segment. */
static inline void *shim_seg_at(u64 off)
{
	return (char *)shim.seg + off;
}

/**
 * shim_chan_new() - a channel: ring in the segment, eventfd (EFD_SEMAPHORE|EFD_CLOEXEC) known to
 * the fabric. Return: channel index or -errno; *fd is the application's descriptor.
 */
int shim_chan_new(int *fd);
void shim_chan_free(u32 chan, int fd);
/**
 * shim_chan_get() - wait for and take the next event (blocking as the fd's flags say).
 * Return: 0, or -1 with errno (EAGAIN, EINTR as read(2)).
 */
int shim_chan_get(u32 chan, int fd, struct chan_event *ev);
/**
 * shim_chan_wait() - for channels whose events lie elsewhere: wait for one and take its count.
 * Return: 0, or -1 with errno (as shim_chan_get()).
 */
int shim_chan_wait(int fd);
/** shim_chan_count() - @n more events: make the fd readable. */
void shim_chan_count(u32 chan, u64 n);
/** shim_chan_uncount() - @n events have gone unread; where their counts were taken, they are. */
void shim_chan_uncount(u32 chan, u32 n);
/** shim_chan_settle() - who had a count (shim_chan_wait()) has looked for an event; @found: it got one. */
void shim_chan_settle(u32 chan, bool found);
/**
 * shim_chan_push() - queue an event that this process raises itself (device fatal) and make the
 * fd readable. Taken before those of the engine. Return: 0, -EBADF or -ENOSPC.
 */
int shim_chan_push(u32 chan, const struct chan_event *ev);
/**
 * shim_chan_drop() - forget the unread events of an object that was destroyed, so that poll(2) does
 * not promise what reading would then wait for. They are named as in struct chan_event.
 */
void shim_chan_drop(u32 chan, u32 kind, u32 handle, u32 gen);

/* --- call_fault.c ------------------------------------------------------------------------------- */

extern const u64 no_fail_calls[SEG_CALL_WORDS];
/** call_fault_query() - as call_fails_with_event(), where there is a rule for that call: whether it hits this one. */
bool call_fault_query(enum call_id call, s32 *event);
/** call_fails_early() - call_fails() of calls that may be the first: the fabric is sought, too. */
bool call_fails_early(enum call_id call);

/**
 * call_fails() - whether a call fails on purpose (rdmaemu-faults(7)), asked before it does anything.
 * Return: true with errno set.
 */
static inline bool call_fails(enum call_id call)
{
	return unlikely(load_relaxed(&shim.fail_calls[call / 64]) & BIT64(call % 64)) &&
	       call_fault_query(call, NULL);
}

/**
 * call_fails_with_event() - the same of a call of the rdma_cm that an event comes of, which may tell of an error.
 * @event: set to the status of that, 0: as it comes
 */
static inline bool call_fails_with_event(enum call_id call, s32 *event)
{
	*event = 0;
	return unlikely(load_relaxed(&shim.fail_calls[call / 64]) & BIT64(call % 64)) &&
	       call_fault_query(call, event);
}

/* --- host.c -------------------------------------------------------------------------------- */

extern const struct hca_host shim_host;

/* --- watch.c ------------------------------------------------------------------------------- */

int shim_watch_start(void);
/**
 * shim_raise_fatal() - raise IBV_EVENT_DEVICE_FATAL on every open context. Called once, by the
 * watcher, when the fabric has gone and this process's queues were flushed: in libshim/verbs/async_event.c.
 */
void shim_raise_fatal(void);
/**
 * shim_flush_local() - flush the QPs of this process without an engine. Called by the watcher before
 * shim_raise_fatal() in isolated mode only, where nobody else can.
 */
void shim_flush_local(void);

#endif
