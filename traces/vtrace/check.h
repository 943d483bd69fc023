/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the parts of the reader have of each other, and the fuzzer of them.
 */
#ifndef TRACES_VTRACE_CHECK_H
#define TRACES_VTRACE_CHECK_H

#include "traces/vtrace/read.h"

/** vt_error_set() - set @err; returns @ret. */
__attribute__((format(printf, 3, 4))) int vt_error_set(struct vt_error *err, int ret,
						       const char *fmt, ...);

/** vt_program_split_lines() - find the lines of @p->calls: @calls_len bytes and a NUL. */
int vt_program_split_lines(struct vt_program *p, const char *path, struct vt_error *err);

/**
 * vt_program_check() - look at all records of @p->data, with @mapped bytes and @n_lines lines known.
 * Sets @size, @n_recs, @n_threads, @unfinished, @ended.
 */
int vt_program_check(struct vt_program *p, const char *path, struct vt_error *err);

/** vt_info_parse() - of a "key value" file's text, which is cut up. */
int vt_info_parse(struct vt_info *t, const char *path, char *text, struct vt_error *err);
void vt_info_free(struct vt_info *t);

#endif
