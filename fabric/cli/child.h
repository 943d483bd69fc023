/* SPDX-License-Identifier: MIT */
/**
 * DOC: a program run as a child, by someone who has something to do when it ends and is otherwise not
 * to be noticed.
 */
#ifndef FABRIC_CLI_CHILD_H
#define FABRIC_CLI_CHILD_H

/**
 * child_run() - run @argv and wait for its end.
 * @status: as waitpid(2) has it
 *
 * Signals that other processes send to this one go on to the program; those of the terminal reach it
 * anyway. This process stops and goes on with it, and takes it along when it is killed.
 * Return: 0, or -errno when the program cannot be executed.
 */
int child_run(char **argv, int *status);
/** child_exit_as() - end as the child has ended: by exit status, or by signal. */
void __attribute__((noreturn)) child_exit_as(int status);

#endif
