/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace`: traces of verbs for people.
 */
#ifndef FABRIC_CLI_TRACE_TRACE_H
#define FABRIC_CLI_TRACE_TRACE_H

#include "fabric/cli/cli.h"
#include "traces/vtrace/read.h"

#include <json-c/json.h>

/**
 * vt_open_only() - open the one trace directory that a command is called with, which has the program of `--program`.
 * Return: 0, or -1 after a line on stderr.
 */
int vt_open_only(struct vt_dir *d, const struct opts *o, const char *command, int argc,
		 char **argv);
/** vt_name_of() - a program's name, or "?". */
const char *vt_name_of(const struct vt_program *p);
/** vt_wanted() - whether `--program` means it: by its name, its pid or pN. */
bool vt_wanted(const struct opts *o, const struct vt_program *p);
/** vt_queue() - "qp3", "srq1", "wq2": what a post is to. */
void vt_queue(const struct vt_rec *rec, char *text, size_t size);
/** vt_wr_op() - a work request's opcode, or "RECV". */
const char *vt_wr_op(const struct vt_rec *rec, const struct vt_wr *wr);
/** vt_wr_bytes_of() - bytes that a work request moves: its payload, or what its entries have room for. */
u64 vt_wr_bytes_of(const struct vt_wr *wr);
/** vt_wc_op() - a completion's opcode as enum ibv_wc_opcode has it. */
const char *vt_wc_op(const struct vt_wc *wc);

/** vt_show_json() - print all records as an array. @t0: times are from then */
void vt_show_json(const struct opts *o, const struct vt_dir *d, u64 t0);

/** struct vt_lat - nanoseconds, a bucket for each 1/16 of a power of two. */
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
	struct vt_lat lat;
};

/** vt_sum() - count a program's records. Returns 0 or -ENOMEM. */
int vt_sum(const struct vt_program *p, struct vt_sum *s);
/** vt_lat_at() - the latency that a share of @of_1000 is not above. */
u64 vt_lat_at(const struct vt_lat *l, u32 of_1000);

/** vt_diff() - print what differs between two traces. Returns the number of differences, or -ENOMEM. */
int vt_diff(const struct vt_dir *a, const struct vt_dir *b, bool data, struct json_object *json);

#endif
