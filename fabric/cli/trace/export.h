/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace export --chrome`: a trace as events of the Trace Event Format, which Perfetto
 * and Chrome's about:tracing read.
 *
 * The format groups events by process and thread. Here a process is a recorded program, and its
 * threads are
 *
 *	queue pairs, SRQs and WQs	instants: state changes, completions with an error, events,
 *					NAKs and lost packets
 *	the program's threads		calls as slices, which nest as calls of a thread do
 *
 * The life of a work request, from its post to the poll that found its completion, is an
 * asynchronous pair of events with an id of its own: work requests of a queue overlap. A flow leads
 * from the post of a message to the poll with which the peer received it. Counters have the work
 * requests of a queue pair that are under way, and the bytes that it has sent.
 */
#ifndef FABRIC_CLI_TRACE_EXPORT_H
#define FABRIC_CLI_TRACE_EXPORT_H

#include "fabric/cli/trace/trace.h"

/** enum export_queue_kind - queues to which work requests are posted. */
enum export_queue_kind {
	EXPORT_SQ, /* of a queue pair */
	EXPORT_RQ, /* of a queue pair */
	EXPORT_SRQ,
	EXPORT_WQ,
	EXPORT_QUEUES,
};

/* Threads of the format: those of queues come first, then the program's. */
#define EXPORT_TID_QP	  0u
#define EXPORT_TID_SRQ	  (1u << 20)
#define EXPORT_TID_WQ	  (2u << 20)
#define EXPORT_TID_THREAD (3u << 20)

/** struct export_wr - a work request under way. @id: of its pair of events */
struct export_wr {
	u64 wr_id;
	u64 id;
	u64 bytes;
	const char *opcode;
};

/** struct export_queue - work requests of a queue, in order. Those from @first on are under way. */
struct export_queue {
	struct export_wr *wr;
	size_t first, n, cap;
};

/**
 * struct export_qp - a queue pair of a program.
 * @num, @dest: its number, and its peer's; 0: unknown
 * @type: as "RC"
 * @reused: it has been reset after its first messages
 * @peer: the peer, if its program is in the trace
 * @flows: ids of flows to this queue pair begin after it
 * @messages, @received: messages that consume a receive, posted and received: the first pass counts
 *	them; @sent, @got: likewise, so far in the second pass
 * @bytes: of messages posted so far
 */
struct export_qp {
	u32 num;
	u32 dest;
	char type[16];
	bool reused;
	struct export_qp *peer;
	u64 flows;
	u64 messages;
	u64 received;
	u64 sent;
	u64 got;
	u64 bytes;
};

/**
 * struct export_id - an identifier of rdma_cm.
 * @qp: ordinal of its queue pair; 0: none. @dest: number of the peer's; 0: unknown
 */
struct export_id {
	u32 qp;
	u32 dest;
};

/** struct export_program - a program of the trace. Objects are found by their ordinals. */
struct export_program {
	const struct vt_program *p;
	struct export_qp *qp;
	u32 n_qps;
	struct export_id *id;
	u32 n_ids;
	struct export_queue *queue[EXPORT_QUEUES];
	u32 n_queues[EXPORT_QUEUES];
};

/** struct export - an export. @wrs: work requests so far; @begin, @end: the trace's times */
struct export
{
	struct chrome *out;
	struct export_program *prog;
	u32 n_progs;
	u64 wrs;
	u64 begin;
	u64 end;
};

/* --- export_objects.c --- */

/** export_line_value() - the value of "NAME=" in a recorded line, or "". @out: after " = " */
const char *export_line_value(const char *line, bool out, const char *name, char *text,
			      size_t size);
/** export_ordinal() - the ordinal of "qp3" if it begins with @kind; else 0. */
u32 export_ordinal(const char *text, const char *kind);
/** export_at() - make room for element @i of a table of @size bytes each. NULL: no memory */
void *export_at(void *table, u32 *n, u32 i, size_t size);
/** export_consumes_receive() - whether that opcode takes a receive of the peer. */
bool export_consumes_receive(u32 opcode);
/** export_qp_of() - a queue pair by its ordinal, or NULL. */
struct export_qp *export_qp_of(const struct export_program *p, u32 ordinal);
/**
 * export_scan() - the first pass: which queue pairs there are, and whose peers they are.
 * Return: 0 or -ENOMEM
 */
int export_scan(struct export *x);

/** export_free() - free the tables of all programs. */
void export_free(struct export *x);

/* --- export_wr.c --- */

/** export_post() - work requests are posted. Return: 0 or -ENOMEM */
int export_post(struct export *x, struct export_program *p, const struct vt_rec *rec);
/** export_poll() - completions are found. */
void export_poll(struct export *x, struct export_program *p, const struct vt_rec *rec);
/** export_unfinished() - end the events of work requests that have no completion. */
void export_unfinished(struct export *x, struct export_program *p);

/* --- export_wire.c --- */

/** export_wire() - add NAKs and lost packets of the trace's capture, if it has one. */
void export_wire(struct export *x, const char *dir);

#endif
