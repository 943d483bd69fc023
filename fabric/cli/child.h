/* SPDX-License-Identifier: MIT */
/**
 * DOC: a program that runs as a child of a process which has something to do at its end and must
 * not be noticeable otherwise.
 */
#ifndef FABRIC_CLI_CHILD_H
#define FABRIC_CLI_CHILD_H

/**
 * child_run() - run @argv and wait until it has ended.
 * @status: as waitpid(2) reports it
 *
 * Signals that other processes send to this one are passed on to the program; it gets those of the
 * terminal anyway. This process stops and continues with the program, and SIGKILL to this process
 * kills the program, too.
 * Return: 0, or -errno when the program cannot be executed.
 */
int child_run(char **argv, int *status);
/** child_exit_as() - end as the child has ended: with its exit status, or by its signal. */
void __attribute__((noreturn)) child_exit_as(int status);

#endif
