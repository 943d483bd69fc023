/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdmaemu.h - control of an emulated RDMA fabric from a test: -lrdmaemu-ctl, pkg-config rdmaemu-ctl.
 *
 * A test program under `rdmaemu run`, or any other of the same user, makes faults happen, waits until
 * they have hit, reads the journal and the ports' counters, and moves the fabric's clock. See
 * rdmaemu(3), and rdmaemu-faults(7) for the rules' grammar.
 *
 * Functions return 0 or more on success, and -1 with errno set on failure, or NULL; rdmaemu_error() has
 * the reason in words. A handle is one thread's at a time; threads open handles of their own. After a
 * fork(2) both processes may go on with it: the child makes a connection of its own. A fabric does not
 * leave while a handle is open.
 */
#ifndef RDMAEMU_H
#define RDMAEMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RDMAEMU_API __attribute__((visibility("default")))
#else
#define RDMAEMU_API
#endif

/** struct rdmaemu - a connection to a fabric. */
struct rdmaemu;

/**
 * rdmaemu_open() - connect to the fabric that this program runs on ($RDMAEMU_SOCKET, as `rdmaemu run`
 * sets it), or without that to the one that `rdmaemu` commands would take: $RDMAEMU_FABRIC in
 * $RDMAEMU_DIR, or their defaults.
 * Return: a handle, or NULL with errno: ENOENT or ECONNREFUSED: there is no such fabric.
 */
RDMAEMU_API struct rdmaemu *rdmaemu_open(void);
/**
 * rdmaemu_open_fabric() - connect to the fabric @name in directory @dir, as --fabric and --dir have them.
 * NULL or "": as rdmaemu_open(), but for $RDMAEMU_SOCKET.
 */
RDMAEMU_API struct rdmaemu *rdmaemu_open_fabric(const char *dir, const char *name);
/** rdmaemu_close() - end it. Rules that were added stay. @r may be NULL. */
RDMAEMU_API void rdmaemu_close(struct rdmaemu *r);
/** rdmaemu_error() - why the last function that failed did, in a line; never NULL. */
RDMAEMU_API const char *rdmaemu_error(const struct rdmaemu *r);
/** rdmaemu_version() - of the library, e.g. "0.1.0". */
RDMAEMU_API const char *rdmaemu_version(void);

/* --- faults --- */

/**
 * struct rdmaemu_fault - a rule and what has become of it.
 * @id: names it as long as the fabric lives, never given twice
 * @seen: packets, calls or work requests that it was about; @hits: those that it was carried out on
 * @name: "fN" when it was given none; @rule: as it was written; @place: FILE:LINE of a scenario, or ""
 */
struct rdmaemu_fault {
	uint32_t id;
	uint32_t reserved;
	uint64_t seen;
	uint64_t hits;
	char name[40];
	char place[256];
	char rule[512];
};

/**
 * rdmaemu_fault_add() - add a rule, "[NAME:] RULE...", as `rdmaemu fault add` takes it. It holds when
 * this returns.
 * Return: its id; -1 with EINVAL: rdmaemu_error() says which word is wrong and what was expected.
 */
RDMAEMU_API int rdmaemu_fault_add(struct rdmaemu *r, const char *rule);
/** rdmaemu_fault_remove() - remove a rule. Return: 0; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_remove(struct rdmaemu *r, int id);
/** rdmaemu_fault_clear() - remove all rules of the fabric. Return: how many there were. */
RDMAEMU_API int rdmaemu_fault_clear(struct rdmaemu *r);
/** rdmaemu_fault_find() - id of the rule of that name; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_find(struct rdmaemu *r, const char *name);
/** rdmaemu_fault_get() - a rule as it is now. Return: 0; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_get(struct rdmaemu *r, int id, struct rdmaemu_fault *out);
/**
 * rdmaemu_fault_next() - the rule with the lowest id above @id (0: the first).
 * Return: 1, or 0: there are no more.
 */
RDMAEMU_API int rdmaemu_fault_next(struct rdmaemu *r, int id, struct rdmaemu_fault *out);
/** rdmaemu_fault_hits() - how often it has hit. Return: that, or -1 with ENOENT. */
RDMAEMU_API int64_t rdmaemu_fault_hits(struct rdmaemu *r, int id);
/**
 * rdmaemu_fault_wait() - wait until it has hit @hits times, in all.
 * @timeout_ms: real time; -1: for ever
 * Return: 0; -1 with ETIMEDOUT, or ENOENT: there is no such rule (any more).
 */
RDMAEMU_API int rdmaemu_fault_wait(struct rdmaemu *r, int id, uint64_t hits, int timeout_ms);

/* --- the fabric's clock --- */

/**
 * struct rdmaemu_clock - fabric time, in ns since the fabric's start.
 * @next_ns: when the engine looks at its timers next; UINT64_MAX: it waits for nothing
 * @scale: how many times as fast as real time it runs when it does
 * @running: 0: it stands until it is moved
 */
struct rdmaemu_clock {
	uint64_t now_ns;
	uint64_t next_ns;
	double scale;
	int running;
	int reserved;
};

/** rdmaemu_clock_get() - read it. */
RDMAEMU_API int rdmaemu_clock_get(struct rdmaemu *r, struct rdmaemu_clock *out);
/**
 * rdmaemu_clock_advance() - move it ahead, from deadline to deadline; all that the engine can do at one is
 * done before the next. It is there when this returns.
 * Return: 0; -1 with EBUSY: another is moving it; ETIME: a program that is stopped has the engine;
 * EOPNOTSUPP: the fabric has joined others.
 */
RDMAEMU_API int rdmaemu_clock_advance(struct rdmaemu *r, uint64_t ns);
/** rdmaemu_clock_stop() - it stands from now on. Return: as rdmaemu_clock_advance(). */
RDMAEMU_API int rdmaemu_clock_stop(struct rdmaemu *r);
/** rdmaemu_clock_run() - it runs, @scale times as fast as real time; 0: as fast as before. */
RDMAEMU_API int rdmaemu_clock_run(struct rdmaemu *r, double scale);

/* --- what happened --- */

/**
 * rdmaemu_counter() - a counter of a port, by its name in `rdmaemu status`, e.g. "rcv_packets".
 * @node: NULL: this program's own; @device: NULL: the node's first; @port: from 1
 * Return: 0; -1 with ENODEV, or ENOENT: there is no such counter.
 */
RDMAEMU_API int rdmaemu_counter(struct rdmaemu *r, const char *node, const char *device,
				unsigned int port, const char *name, uint64_t *value);
/**
 * rdmaemu_status() - all that `rdmaemu status --json` prints. Return: text to be given to free(3), or NULL.
 */
RDMAEMU_API char *rdmaemu_status(struct rdmaemu *r);

/** struct rdmaemu_mark - a place in the journal. All zero: its oldest entry. */
struct rdmaemu_mark {
	uint64_t errors;
	uint64_t notices;
};

/**
 * struct rdmaemu_entry - what happened, as `rdmaemu log` has it.
 * @time_ns: fabric time since the fabric's start
 * @is_error: an error completion, asynchronous event, failed connection or call; else a notice
 * @rule: id of the fault rule that did it; 0: none
 * @attempt: times that the packet was sent again before
 * @program, @pid, @qpn: who it happened to; @peer...: and with whom; "" and 0: not known
 * @kind: "completion", "event", "cm", "call", "drop", ...; @what: IBV_WC_..., IBV_EVENT_..., ...
 * @text: all of it in a line, with the cause
 */
struct rdmaemu_entry {
	uint64_t time_ns;
	uint64_t wr_id;
	int32_t pid, peer_pid;
	uint32_t qpn, peer_qpn;
	uint32_t psn;
	uint32_t attempt;
	uint32_t rule;
	uint8_t is_error, has_psn, has_wr_id, reserved;
	char kind[16];
	char what[64];
	char program[32];
	char peer[32];
	char text[768];
};

/** rdmaemu_journal_end() - *mark is behind the last entry: what comes from now on is new. */
RDMAEMU_API int rdmaemu_journal_end(struct rdmaemu *r, struct rdmaemu_mark *mark);
/** rdmaemu_journal_next() - the entry at *mark, which moves on. Return: 1, or 0: there is none yet. */
RDMAEMU_API int rdmaemu_journal_next(struct rdmaemu *r, struct rdmaemu_mark *mark,
				     struct rdmaemu_entry *out);

#ifdef __cplusplus
}
#endif

#endif
