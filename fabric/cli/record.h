/* SPDX-License-Identifier: MIT */
/** DOC: what `rdmaemu record` adds to `rdmaemu run`. */
#ifndef FABRIC_CLI_RECORD_H
#define FABRIC_CLI_RECORD_H

#include "fabric/common/opts.h"

/* run.c. Each: 0, or -1 after one line on stderr. */

/** run_find_recorder() - the recorder's library beside this command. */
int run_find_recorder(char lib[PATH_MAX]);
/** run_preload() - put a library before those that are preloaded already. Return: 0, -1 with errno. */
int run_preload(const char *lib);
/** run_print_exec_error() - say that a program could not be executed. Return: exit status. */
int run_print_exec_error(const char *program, int err);

/**
 * record_start() - make the trace directory, or join those that are recording into it, and set up the environment.
 * @o: out; capture is set if the trace is to have one and it is this program that begins it
 * @argv: the program and its arguments
 */
int record_start(struct opts *o, char **argv);

/**
 * record_make() - make the trace directory o->out, or fill an empty one, and hold it: programs may join until the
 * descriptor that is returned is closed. Return: it, or -1 after one line on stderr.
 */
int record_make(struct opts *o, char **argv);

#endif
