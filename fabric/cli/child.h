/* SPDX-License-Identifier: MIT */
/**
 * DOC: a program that runs as a child of a process which has something to do at its end and must
 * not be noticeable otherwise.
 */
#ifndef FABRIC_CLI_CHILD_H
#define FABRIC_CLI_CHILD_H

#include "emulator/types.h"

/**
 * struct child_watch - what looks at the program while it runs.
 * @look: called after @pause_ms without a signal, which it may change. It must not take long:
 *	signals wait for it.
 */
struct child_watch {
	u32 pause_ms;
	void (*look)(struct child_watch *w);
};

/**
 * child_run() - run @argv and wait until it has ended.
 * @w: NULL: nothing looks at it
 * @overdue: called once, if the program goes on for a second after a signal that usually ends one.
 *	A time limit may send SIGKILL to this process next. NULL: nothing is
 * @status: as waitpid(2) reports it
 *
 * Signals that other processes send to this one are passed on to the program; it gets those of the
 * terminal anyway. This process stops and continues with the program, and SIGKILL to this process
 * kills the program, too.
 * Return: 0, or -errno when the program cannot be executed.
 */
int child_run(char **argv, struct child_watch *w, void (*overdue)(void), int *status);
/** child_exit_as() - end as the child has ended: with its exit status, or by its signal. */
void __attribute__((noreturn)) child_exit_as(int status);

#endif
