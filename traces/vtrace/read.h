/* SPDX-License-Identifier: MIT */
/**
 * DOC: reads a trace directory. It may come from anybody: everything is checked, and every error is
 * reported with its file and position.
 */
#ifndef TRACES_VTRACE_READ_H
#define TRACES_VTRACE_READ_H

#include "traces/vtrace/vtrace.h"
#include "traces/vtrace/devices.h"
#include "traces/vtrace/text_file.h"

/**
 * struct vt_program - a program of a trace.
 * @about: its file "program"
 * @lines, @line: calls, without newlines
 * @unfinished: incomplete records: calls under way when the program was killed or, if it is still
 *	writing, when the trace was opened
 * @begun: its data has a head
 * @ended: it has a VT_END
 * @devices: its devices; empty in older traces, and if the program opened none
 */
struct vt_program {
	unsigned int num;
	struct vt_info about;
	uint8_t *data;
	uint64_t size; /* up to the end of the last record */
	uint64_t mapped;
	char *calls;
	size_t calls_len;
	uint32_t n_lines;
	const char **line;
	uint32_t *line_len;
	uint32_t n_threads;
	uint64_t n_recs;
	uint64_t unfinished;
	bool begun;
	bool ended;
	struct vt_devices devices;
};

/** struct vt_dir - a trace directory. */
struct vt_dir {
	char path[4096];
	struct vt_info about; /* its file "trace" */
	unsigned int n_progs;
	struct vt_program *prog; /* in ascending order of their numbers */
};

/* --- read.c --- */

/**
 * vt_dir_open() - open a trace directory. Maps all files and checks all records, so that
 * vt_rec_next() and vt_rec_*() need no checks.
 *
 * Returns 0 or -errno, with @err set.
 */
int vt_dir_open(struct vt_dir *d, const char *path, struct vt_error *err);
void vt_dir_close(struct vt_dir *d);
/**
 * vt_dir_names() - the programs of a trace for a message, as "p1 (rping), p2 (rping)"; after a few
 * of them "..." stands for the others. Return: @text
 */
const char *vt_dir_names(const struct vt_dir *d, char *text, size_t size);

/** vt_dir_is_real() - whether it was recorded on real devices, not on those of a fabric. */
bool vt_dir_is_real(const struct vt_dir *d);

/**
 * vt_program_is_recorded() - whether the recorder had started recording a program: its files could
 * be created, and the program was not killed before that was done. A program that has made no
 * further call is recorded as well.
 *
 * Returns 0, or -ENODATA with @err set.
 */
int vt_program_is_recorded(const struct vt_dir *d, const struct vt_program *p,
			   struct vt_error *err);
/**
 * vt_program_episode() - the number of its episode (docs/reference/trace-format.md); 0: recorded
 * without a live program.
 */
uint32_t vt_program_episode(const struct vt_program *p);

/* --- rec.c --- */

/**
 * vt_rec_next() - the record at *@off, which starts at 0 and is advanced. Returns NULL at the end.
 * Skips incomplete records.
 */
const struct vt_rec *vt_rec_next(const struct vt_program *p, uint64_t *off);

/** vt_rec_place() - where a record is, for messages: "p2/data:4711" or "p1/calls:12". */
void vt_rec_place(const struct vt_program *p, const struct vt_rec *rec, char *text, size_t cap);

/** vt_rec_line() - the line of a VT_CALL, NUL-terminated. */
const char *vt_rec_line(const struct vt_program *p, const struct vt_rec *rec, size_t *len);

/**
 * vt_rec_fact() - the value of "NAME=~" of a recorded call. @out: after " = ". Returns false: it
 * has none.
 */
bool vt_rec_fact(const struct vt_program *p, const struct vt_rec *rec, bool out, const char *name,
		 uint64_t *v);

/* The body of a record. */
#define VT_BODY(type, rec) ((const struct type *)((rec) + 1))

/** vt_wr_first(), vt_wr_next() - the work requests of a post, vt_post.n of them. */
const struct vt_wr *vt_wr_first(const struct vt_rec *rec);
const struct vt_wr *vt_wr_next(const struct vt_wr *wr);

/* What follows a work request. vt_wr_bytes(): NULL: the payload is not in the trace. */
const struct vt_sge *vt_wr_sge(const struct vt_wr *wr);
const uint8_t *vt_wr_tso(const struct vt_wr *wr);
const uint8_t *vt_wr_bytes(const struct vt_wr *wr);

/** vt_poll_wcs() - the completions of a VT_POLL, vt_poll.n of them. */
const struct vt_wc *vt_poll_wcs(const struct vt_rec *rec);

/** vt_mem_bytes() - the bytes of a VT_MEM; NULL: not in the trace. */
const uint8_t *vt_mem_bytes(const struct vt_rec *rec);

/** vt_dm_bytes() - the bytes of a VT_DM into a DM; NULL: not in the trace. */
const uint8_t *vt_dm_bytes(const struct vt_rec *rec);

/** vt_kind_name() - the name of a record kind in `rdmaemu trace show`. */
const char *vt_kind_name(unsigned int kind);

#endif
