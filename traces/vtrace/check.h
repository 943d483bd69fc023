/* SPDX-License-Identifier: MIT */
/** DOC: internals that the parts of the reader and their fuzzer share. */
#ifndef TRACES_VTRACE_CHECK_H
#define TRACES_VTRACE_CHECK_H

#include "traces/vtrace/read.h"

/** vt_program_split_lines() - split @p->calls, @calls_len bytes and a NUL, into lines. */
int vt_program_split_lines(struct vt_program *p, const char *path, struct vt_error *err);

/**
 * vt_program_check() - check all records of @p->data; @mapped, @n_lines, @calls_len are set. Sets
 * @size, @n_recs, @n_threads, @unfinished, @ended. Records end where a live writer has gone on
 * since the lines were read.
 * @path: of the file "data"
 */
int vt_program_check(struct vt_program *p, const char *path, struct vt_error *err);

#endif
