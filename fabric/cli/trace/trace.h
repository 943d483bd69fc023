/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu trace`: printing traces of verbs. */
#ifndef FABRIC_CLI_TRACE_TRACE_H
#define FABRIC_CLI_TRACE_TRACE_H

#include "fabric/cli/cli.h"
#include "traces/vtrace/read.h"

#include <json-c/json.h>

/**
 * trace_dir_open_one() - open the trace directory that is the only argument of a command, and check
 * that it has the program of `--program`.
 * Return: 0, or -1 after one line on stderr.
 */
int trace_dir_open_one(struct vt_dir *d, const struct opts *o, const char *command, int argc,
		       char **argv);
/** trace_program_name() - a program's name, or "?". */
const char *trace_program_name(const struct vt_program *p);
/** trace_program_is_wanted() - whether `--program` names a program: by its name, its pid or pN. */
bool trace_program_is_wanted(const struct opts *o, const struct vt_program *p);
/** trace_queue_name() - "qp3", "srq1", "wq2": the queue of a post. */
void trace_queue_name(const struct vt_rec *rec, char *text, size_t size);
/** trace_wr_opcode_name() - a work request's opcode, or "RECV". */
const char *trace_wr_opcode_name(const struct vt_rec *rec, const struct vt_wr *wr);
/** trace_wr_bytes() - bytes that a work request moves: its payload, or the room of its entries. */
u64 trace_wr_bytes(const struct vt_wr *wr);
/** trace_wc_opcode_name() - the name of a completion's opcode, enum ibv_wc_opcode. */
const char *trace_wc_opcode_name(const struct vt_wc *wc);

/**
 * trace_queue_room() - make room for one more entry of a queue, of @size bytes each. Those before
 * *first are done, and make room first.
 * @n, @cap: entries, and room for them
 * Return: the entries, which may have moved; NULL: no memory, and the entries stay as they are.
 */
void *trace_queue_room(void *entries, size_t size, size_t *first, size_t *n, size_t *cap);

/** trace_show_json() - print all records as an array. @t0: times count from it */
void trace_show_json(const struct opts *o, const struct vt_dir *d, u64 t0);

/** struct vt_lat - a histogram of nanoseconds, with a bucket for each 1/16 of a power of two. */
struct vt_lat {
	u64 n;
	u64 min, max, sum;
	u64 bucket[64 * 16];
};

/** struct vt_sum - what a program did. */
struct vt_sum {
	u64 calls, failed_calls;
	u64 posts, wrs[256], recv_wrs, bytes, wr_bytes[256];
	u64 polls, empty, wcs, status[64];
	u64 tag_ops; /* ibv_post_srq_ops(): tags added and removed, syncs */
	u64 dm_copies, dm_bytes;
	u64 notifies, events, notes, unfinished;
	u64 mem_bytes;
	struct vt_lat lat; /* from post to completion */
	struct vt_lat op_lat[WR_COUNT]; /* the same, by opcode */
};

/** trace_sum_program() - count a program's records. Return: 0 or -ENOMEM. */
int trace_sum_program(const struct vt_program *p, struct vt_sum *s);
/** trace_call_has_failed() - whether a recorded line has NULL, -1 or an error as its result. */
bool trace_call_has_failed(const char *line);
/** trace_latency_bucket_begin() - the shortest time of a bucket. */
u64 trace_latency_bucket_begin(u32 i);
/** trace_latency_at() - the latency that @of_1000 of 1000 do not exceed. */
u64 trace_latency_at(const struct vt_lat *l, u32 of_1000);

/**
 * trace_diff_dirs() - print the differences of two traces, and after them what differs because the
 * devices do.
 * Return: the number of the former, or -ENOMEM.
 */
int trace_diff_dirs(const struct vt_dir *a, const struct vt_dir *b, const struct opts *o,
		    struct json_object *json);

#endif
