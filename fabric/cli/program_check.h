/* SPDX-License-Identifier: MIT */
/** DOC: what the command finds out about a program before it becomes it. */
#ifndef FABRIC_CLI_PROGRAM_CHECK_H
#define FABRIC_CLI_PROGRAM_CHECK_H

#include "fabric/proto/program.h"

/** enum program_verdict - whether the emulated device can be preloaded into a program. */
enum program_verdict {
	PROGRAM_OK,
	PROGRAM_NO_DEVICE, /* it runs, but finds no emulated device */
	PROGRAM_FAILS, /* it cannot start with the library preloaded */
};

/**
 * program_check() - check a program by its name or path.
 * @p: what it is
 * @why: one line if the result is not PROGRAM_OK, with its remedy
 */
enum program_verdict program_check(const char *name, struct program_file *p, char *why,
				   size_t size);
/**
 * program_check_command() - print a warning for each program of a command line, through wrappers as
 * env(1), that finds no device. Return: 0, or -1 after one line on stderr if one cannot start.
 */
int program_check_command(char **argv);
/** program_arrange_preload() - set the order of LD_PRELOAD for a program. Return: as above. */
int program_arrange_preload(const char *name);

/* --- wrapper.c --- */

/**
 * wrapper_command() - the command line that a wrapper such as env(1), nice(1) or stdbuf(1) starts.
 * Return: index of its first word in @argv, or 0 if @argv is no wrapper's.
 */
int wrapper_command(char **argv);
/** wrapper_innermost() - the name of the program that a command line starts through wrappers. */
const char *wrapper_innermost(char **argv);

#endif
