/* SPDX-License-Identifier: MIT */
/** DOC: what `rdmaemu record` needs in addition to `rdmaemu run`. */
#ifndef FABRIC_CLI_RECORD_H
#define FABRIC_CLI_RECORD_H

#include "fabric/common/opts.h"

#define RECORD_ENV "RDMAEMU_RECORD" /* the trace directory of a program that is recorded */

/* run.c. Each: 0, or -1 after one line on stderr. */

/** run_find_shim() - find the library with the emulated device. */
int run_find_shim(char lib[PATH_MAX]);
/** run_find_tap() - find the tap's library, which is installed with this command. */
int run_find_tap(char lib[PATH_MAX]);
/** run_preload() - put a library before those in LD_PRELOAD. Return: 0, or -1 with errno. */
int run_preload(const char *lib);
/** run_print_exec_error() - report that a program cannot be executed. Return: exit status. */
int run_print_exec_error(const char *program, int err);

/**
 * record_start() - make the trace directory, or join the programs that record into it, and set the
 * environment.
 * @o: @out is the directory; @capture is set if the trace gets a capture and this program starts it
 * @argv: the program and its arguments
 */
int record_start(struct opts *o, char **argv);

/**
 * record_note_clock() - let the recorder note what the fabric's time is, so that calls and packets
 * stand on one axis. A clock that is moved by hand has no rate: nothing is noted.
 * @sock: connection with the fabric; -1: the program has none
 */
int record_note_clock(const struct opts *o, int sock);

/**
 * record_make() - make the trace directory @out of @o, or fill an empty one, and hold it open:
 * programs may join until the returned descriptor is closed.
 * Return: the descriptor, or -1 after one line on stderr.
 */
int record_make(struct opts *o, char **argv);

#endif
