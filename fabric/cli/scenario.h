/* SPDX-License-Identifier: MIT */
/** DOC: fault rules in the command: reading them, and sending them to a fabric. */
#ifndef FABRIC_CLI_SCENARIO_H
#define FABRIC_CLI_SCENARIO_H

#include "fabric/common/opts.h"

#include <stddef.h>

/**
 * struct scenario - rules that were read and are all correct.
 * @text: NULL: none
 * @real: they are for programs on real devices, which fewer rules can hit
 */
struct scenario {
	char *text;
	size_t len;
	const char *file;
	u32 n;
	bool real;
};

/**
 * scenario_load() - read the file that o->scenario names, if it names one.
 * Return: 0, or -1 after one line on stderr that names file and line.
 */
int scenario_load(struct scenario *s, const struct opts *o);
/** scenario_text() - likewise, for rules on the command line. */
int scenario_text(struct scenario *s, const char *text);
/**
 * scenario_from_args() - read the rules that are the arguments of @verb, or those in the file of
 * its --scenario.
 * Return: 0, or the exit status after one line on stderr.
 */
int scenario_from_args(struct scenario *s, const char *verb, const struct opts *o, int argc,
		       char **argv);
/** scenario_print() - print the rules that would be set on stdout. */
void scenario_print(const struct scenario *s, bool json);
/**
 * scenario_add() - send the rules to the fabric at the other end of @sock.
 * @flags: PROTO_F_RUN: they end with the run
 * Return: 0, or -1 after one line on stderr.
 */
int scenario_add(const struct scenario *s, int sock, const struct opts *o, u32 flags);
void scenario_free(struct scenario *s);

#endif
