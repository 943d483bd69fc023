/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu run --check`: what the checker has found in the programs of a run.
 *
 * The files in layers; each uses only those before it:
 *  - symbols.c: functions and lines of addresses
 *  - directory.c: the directory of the reports that the processes write
 *  - read.c: reading them
 *  - suppress.c: findings that a file leaves out
 *  - text.c, documents.c: printing them; JSON and SARIF
 *  - session.c: the environment of the program, and the report at its end
 */
#ifndef FABRIC_CLI_CHECK_FOUND_H
#define FABRIC_CLI_CHECK_FOUND_H

#include "fabric/common/opts.h"
#include "fabric/proto/finding.h"

#include <stdio.h>

#define FOUND_FRAMES 24
#define FOUND_MAX    2048

/** struct found_frame - @function, @source: "" if unknown. @source with @line */
struct found_frame {
	u64 offset;
	char *file;
	char *function;
	char *source;
	int line;
};

struct found_stack {
	u32 n;
	struct found_frame frame[FOUND_FRAMES];
};

/** struct found_shown - a stack that a process has shown to the others. */
struct found_shown {
	int pid;
	u32 stack;
	struct found_stack frames;
};

/**
 * struct found - a finding at one place, of all processes of the run.
 * @pid, @program: the first of them
 * @other_title: "": there is no other place; @other_pid: 0, or whose @other_stack it is
 */
struct found {
	enum finding_id id;
	int pid;
	char program[32];
	char text[1024];
	u64 times;
	struct found_stack here;
	char other_title[64];
	struct found_stack other;
	int other_pid;
	u32 other_stack;
	bool suppressed;
};

/** struct found_all - @lost: something could not be read: it does not say all */
struct found_all {
	u32 n;
	struct found *found[FOUND_MAX];
	u32 n_shown;
	struct found_shown *shown[FOUND_MAX];
	bool lost;
};

/* --- symbols.c --- */

/** symbols_resolve() - fill in the functions and lines of a stack, as far as they are known. */
void symbols_resolve(struct found_stack *stack);

/* --- directory.c --- */

/**
 * directory_make() - make and lock the directory, and remove those that killed commands have left.
 * @dir: receives its path
 * Return: 0, or -1 after one line on stderr.
 */
int directory_make(char dir[PATH_MAX]);
/** directory_remove() - remove a directory of reports. */
void directory_remove(const char *dir);

/* --- read.c --- */

/** found_read() - read the files of a directory. */
void found_read(struct found_all *all, const char *dir);
/** found_has() - whether a finding is the same as one of @all. */
bool found_has(const struct found_all *all, const struct found *f);

/* --- suppress.c --- */

/** struct suppress_file - the text of --check-suppress=FILE, which a pipe has once. */
struct suppress_file {
	const char *path;
	char *text; /* NULL: there is none */
	size_t len;
};

/** suppress_file_load() - read and check it. Return: 0, or -1 after one line on stderr. */
int suppress_file_load(struct suppress_file *file, const char *path);
/** suppress_apply() - mark the findings that the file leaves out. */
void suppress_apply(struct found_all *all, const struct suppress_file *file);
/** suppress_put_line() - the line that leaves a finding out. */
void suppress_put_line(FILE *out, const struct found *f);

/* --- text.c --- */

/** found_print() - print a finding on stderr. */
void found_print(const struct found *f, bool suppression);

/* --- documents.c --- */

/** found_write_json(), found_write_sarif() - Return: 0, or -1 after one line on stderr. */
int found_write_json(const struct found_all *all, const char *path);
int found_write_sarif(const struct found_all *all, const char *path);

#endif
