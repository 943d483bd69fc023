/* SPDX-License-Identifier: MIT */
/**
 * DOC: journals of fabrics that have ended, in <dir>/journals of the state directory.
 *
 * A file is named after the time of its end and its fabric, and has JSON objects, one a line: first
 * an object about the fabric, then the entries, as `rdmaemu log --json` prints them. The latest
 * JOURNALS are kept, of at most JOURNALS_BYTES together.
 */
#ifndef FABRIC_COMMON_JOURNAL_DIR_H
#define FABRIC_COMMON_JOURNAL_DIR_H

#include "emulator/types.h"

#include <limits.h>

#define JOURNALS       16u
#define JOURNALS_BYTES (16u << 20)
#define JOURNAL_BYTES  (4u << 20) /* of one */

/** journal_dir_add() - keep the journal of a fabric that ends. Return: 0 or -errno. */
int journal_dir_add(const char *dir, const char *fabric, const char *text, size_t len);
/**
 * journal_dir_find() - find a journal.
 * @fabric: name of its fabric, or NULL: any
 * @nth: from the latest on, which is 1
 * @kept: receives how many there are
 * Return: 0 with its path, or -ENOENT.
 */
int journal_dir_find(const char *dir, const char *fabric, u32 nth, char path[PATH_MAX], u32 *kept);

#endif
