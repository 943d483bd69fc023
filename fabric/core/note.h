/* SPDX-License-Identifier: MIT */
/** DOC: lines that the fabric process itself writes, for `rdmaemu log` and its log file. */
#ifndef FABRIC_CORE_NOTE_H
#define FABRIC_CORE_NOTE_H

#include "emulator/types.h"

#define NOTES 256u

struct fabric;

/** struct note - one line. */
struct note {
	u64 ts; /* fabric time */
	u64 nth; /* entries of the journal before it: times may be equal */
	char text[160];
};

/** struct notes - the latest lines: a ring. */
struct notes {
	struct note ring[NOTES];
	u64 n; /* lines written so far */
};

/** fabric_note() - keep a line for `rdmaemu log`, and append it to the log file. */
void fabric_note(struct fabric *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
