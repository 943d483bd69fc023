/* SPDX-License-Identifier: MIT */
/**
 * DOC: trials in a process of their own: it may crash, hang, or load libraries that must not stay
 * in this one.
 */
#ifndef FABRIC_CLI_PROBE_H
#define FABRIC_CLI_PROBE_H

#include "emulator/types.h"

#include <limits.h>

/** PROBE_S - how long a trial may take, in seconds: a busy machine takes one. */
#define PROBE_S 60u

/**
 * struct probe - a trial.
 * @run: what the process does; it writes its result to the descriptor @out and ends
 * @arg: for @run
 * @text: receives the result, without its last newlines; "" if there is none
 * @size: of @text
 * @status: receives the end of the process, as waitpid(2) reports it
 */
struct probe {
	void (*run)(void *arg, int out);
	void *arg;
	char *text;
	size_t size;
	int status;
};

/** probe_run() - make a trial. Return: whether it ended within PROBE_S; it is killed otherwise. */
bool probe_run(struct probe *p);

#endif
