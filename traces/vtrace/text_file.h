/* SPDX-License-Identifier: MIT */
/** DOC: text files of a trace, and the error message that readers share. */
#ifndef TRACES_VTRACE_TEXT_FILE_H
#define TRACES_VTRACE_TEXT_FILE_H

#include <stddef.h>

/** struct vt_error - an error message: one line, with file and position. */
struct vt_error {
	char text[512];
};

/** struct vt_info_entry - an entry of a "key value" file. */
struct vt_info_entry {
	char key[32];
	char *value;
};

/** struct vt_info - a "key value" file: file "trace" or "program". */
struct vt_info {
	unsigned int n;
	struct vt_info_entry *entry;
};

/** vt_error_set() - set @err. Returns @ret. */
__attribute__((format(printf, 3, 4))) int vt_error_set(struct vt_error *err, int ret,
						       const char *fmt, ...);
/**
 * vt_file_read_all() - read a file of at most @max bytes, and append a NUL.
 * @text: set to the contents, or to NULL on errors and only then
 * Returns 0, or -errno with @err set.
 */
int vt_file_read_all(const char *path, size_t max, char **text, size_t *len, struct vt_error *err);
/** vt_info_get() - the value of a key, or NULL. */
const char *vt_info_get(const struct vt_info *t, const char *key);
/** vt_info_read() - read and parse a "key value" file. Returns 0, or -errno with @err set. */
int vt_info_read(struct vt_info *t, const char *path, struct vt_error *err);
/** vt_info_parse() - parse the text of a "key value" file, which is modified. */
int vt_info_parse(struct vt_info *t, const char *path, char *text, struct vt_error *err);
void vt_info_free(struct vt_info *t);

#endif
