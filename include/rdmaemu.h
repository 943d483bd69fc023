/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdmaemu.h - control an emulated RDMA fabric from a test (pkg-config rdmaemu-ctl).
 *
 * A test program under `rdmaemu run`, or any other program of the same user, adds fault rules,
 * waits until they have hit, reads the journal and the ports' counters, and moves the fabric's
 * clock. See rdmaemu(3), and rdmaemu-faults(7) for the grammar of rules.
 *
 * Functions return 0 or more on success; on failure they return -1 or NULL and set errno, and
 * rdmaemu_error() has the reason in words. Only one thread at a time may use a handle; threads
 * open handles of their own. After a fork(2) both processes may use the handle: the child
 * connects anew. A fabric does not leave while a handle is open.
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
 * rdmaemu_open() - connect to the fabric that this program runs on ($RDMAEMU_SOCKET, which
 * `rdmaemu run` sets). Without that variable: to the fabric that `rdmaemu` commands would use,
 * $RDMAEMU_FABRIC in $RDMAEMU_DIR, or their defaults.
 * Return: a handle, or NULL with errno ENOENT or ECONNREFUSED if no such fabric runs.
 */
RDMAEMU_API struct rdmaemu *rdmaemu_open(void);
/**
 * rdmaemu_open_fabric() - connect to the fabric @name in directory @dir, like --fabric and --dir.
 * NULL or "": as rdmaemu_open(), without $RDMAEMU_SOCKET.
 */
RDMAEMU_API struct rdmaemu *rdmaemu_open_fabric(const char *dir, const char *name);
/** rdmaemu_close() - close a handle. Rules that it added stay. @r may be NULL. */
RDMAEMU_API void rdmaemu_close(struct rdmaemu *r);
/** rdmaemu_error() - why the last function failed, in one line; never NULL. */
RDMAEMU_API const char *rdmaemu_error(const struct rdmaemu *r);
/** rdmaemu_version() - the version of the library, e.g. "0.1.0". */
RDMAEMU_API const char *rdmaemu_version(void);

/* --- faults --- */

/**
 * struct rdmaemu_fault - a rule and how often it has hit.
 * @id: identifies the rule as long as the fabric lives; never reused
 * @seen: packets, calls or work requests that the rule was about
 * @hits: those that the rule was applied to
 * @name: "fN" if the rule was given none
 * @place: FILE:LINE of a scenario, or ""
 * @rule: the rule as it was written
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
 * rdmaemu_fault_add() - add a rule, "[NAME:] RULE...", as `rdmaemu fault add` accepts it. The
 * rule is in effect when this returns.
 * Return: its id; -1 with EINVAL: rdmaemu_error() says which word is wrong and what was expected.
 */
RDMAEMU_API int rdmaemu_fault_add(struct rdmaemu *r, const char *rule);
/** rdmaemu_fault_remove() - remove a rule. Return: 0; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_remove(struct rdmaemu *r, int id);
/** rdmaemu_fault_clear() - remove all rules of the fabric. Return: how many it removed. */
RDMAEMU_API int rdmaemu_fault_clear(struct rdmaemu *r);
/** rdmaemu_fault_find() - find a rule by name. Return: its id; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_find(struct rdmaemu *r, const char *name);
/** rdmaemu_fault_get() - read a rule and its counts. Return: 0; -1 with ENOENT. */
RDMAEMU_API int rdmaemu_fault_get(struct rdmaemu *r, int id, struct rdmaemu_fault *out);
/**
 * rdmaemu_fault_next() - read the rule with the lowest id above @id (0: the first).
 * Return: 1, or 0 if no more rules exist.
 */
RDMAEMU_API int rdmaemu_fault_next(struct rdmaemu *r, int id, struct rdmaemu_fault *out);
/** rdmaemu_fault_hits() - read how often a rule has hit. Return: that, or -1 with ENOENT. */
RDMAEMU_API int64_t rdmaemu_fault_hits(struct rdmaemu *r, int id);
/**
 * rdmaemu_fault_wait() - wait until a rule has hit @hits times since it was added.
 * @timeout_ms: real time; -1: wait indefinitely
 * Return: 0; -1 with ETIMEDOUT, or with ENOENT if the rule does not exist (any more).
 */
RDMAEMU_API int rdmaemu_fault_wait(struct rdmaemu *r, int id, uint64_t hits, int timeout_ms);

/* --- the fabric's clock --- */

/**
 * struct rdmaemu_clock - fabric time, in ns since the fabric's start.
 * @next_ns: when the next timer of the engine is due; UINT64_MAX: none is armed
 * @scale: how many times as fast as real time the clock runs when it runs
 * @running: 0: the clock stands until it is moved
 */
struct rdmaemu_clock {
	uint64_t now_ns;
	uint64_t next_ns;
	double scale;
	int running;
	int reserved;
};

/** rdmaemu_clock_get() - read the clock. */
RDMAEMU_API int rdmaemu_clock_get(struct rdmaemu *r, struct rdmaemu_clock *out);
/**
 * rdmaemu_clock_advance() - move the clock ahead by @ns, from deadline to deadline. The engine
 * does all it can at one deadline before it goes to the next. The clock is there when this returns.
 * Return: 0; -1 with EBUSY: another process is moving the clock; ETIME: a program that is stopped
 * holds the engine; EOPNOTSUPP: the fabric has joined others.
 */
RDMAEMU_API int rdmaemu_clock_advance(struct rdmaemu *r, uint64_t ns);
/** rdmaemu_clock_stop() - stop the clock. Return: as rdmaemu_clock_advance(). */
RDMAEMU_API int rdmaemu_clock_stop(struct rdmaemu *r);
/** rdmaemu_clock_run() - let it run @scale times as fast as real time; 0: as fast as before. */
RDMAEMU_API int rdmaemu_clock_run(struct rdmaemu *r, double scale);

/* --- what happened --- */

/**
 * rdmaemu_counter() - read a port's counter by its name in `rdmaemu status`, e.g. "rcv_packets".
 * @node: NULL: this program's own; @device: NULL: the node's first; @port: from 1
 * Return: 0; -1 with ENODEV, or with ENOENT if no such counter exists.
 */
RDMAEMU_API int rdmaemu_counter(struct rdmaemu *r, const char *node, const char *device,
				unsigned int port, const char *name, uint64_t *value);
/**
 * rdmaemu_objects() - count the objects of verbs and the rdma_cm that a process has made and not
 * destroyed, without its contexts: what is left at the end of a test has leaked.
 * @pid: as the process sees itself; 0: the calling process
 * Return: how many; 0 also if the process has opened no device; -1 with errno.
 */
RDMAEMU_API int64_t rdmaemu_objects(struct rdmaemu *r, int pid);
/**
 * rdmaemu_status() - get what `rdmaemu status --json` prints.
 * Return: text, which the caller frees with free(3), or NULL.
 */
RDMAEMU_API char *rdmaemu_status(struct rdmaemu *r);

/** struct rdmaemu_mark - a position in the journal. All zero: the oldest entry. */
struct rdmaemu_mark {
	uint64_t errors;
	uint64_t notices;
};

/**
 * struct rdmaemu_entry - an entry of the journal, as `rdmaemu log` prints it.
 * @time_ns: fabric time since the fabric's start
 * @is_error: an error completion, asynchronous event, failed connection or call; else a notice
 * @rule: id of the fault rule that caused it; 0: none
 * @attempt: how often the packet was retransmitted before
 * @program, @pid, @qpn: the side that it happened to; @peer...: the other side; "" and 0: unknown
 * @kind: "completion", "event", "cm", "call", "drop", ...; @what: IBV_WC_..., IBV_EVENT_..., ...
 * @text: the whole entry in one line, with the cause
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

/** rdmaemu_journal_end() - set *mark to the end of the journal: only later entries follow. */
RDMAEMU_API int rdmaemu_journal_end(struct rdmaemu *r, struct rdmaemu_mark *mark);
/** rdmaemu_journal_next() - read the entry at *mark, and advance it. Return: 1; 0: none yet. */
RDMAEMU_API int rdmaemu_journal_next(struct rdmaemu *r, struct rdmaemu_mark *mark,
				     struct rdmaemu_entry *out);

#ifdef __cplusplus
}
#endif

#endif
