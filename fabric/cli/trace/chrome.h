/* SPDX-License-Identifier: MIT */
/** DOC: a file in the Trace Event Format: JSON, event by event. */
#ifndef FABRIC_CLI_TRACE_CHROME_H
#define FABRIC_CLI_TRACE_CHROME_H

#include "emulator/types.h"

struct chrome;

/** struct chrome_at - an event's process, thread, and time since the trace's start. */
struct chrome_at {
	u32 pid;
	u32 tid;
	u64 ns;
};

/**
 * chrome_open() - create a file. Events of one that is called *.gz are compressed.
 * Return: NULL after one line on stderr.
 */
struct chrome *chrome_open(const char *path);
/** chrome_close() - end the file. Return: 0, or -1 after one line on stderr. */
int chrome_close(struct chrome *c);

/**
 * chrome_begin() - begin an event.
 * @ph: its phase, a letter of the format
 * @name: any bytes; those that are no UTF-8 are replaced
 */
void chrome_begin(struct chrome *c, char ph, const char *category, const char *name,
		  const struct chrome_at *at);
/** chrome_member() - add a member to the event: a text. */
void chrome_member(struct chrome *c, const char *key, const char *text);
/** chrome_duration() - add the duration of a slice. */
void chrome_duration(struct chrome *c, u64 ns);
/** chrome_id() - add the id of a pair or flow. */
void chrome_id(struct chrome *c, u64 id);
/** chrome_arg() - add an argument: a number; chrome_arg_hex(), chrome_arg_text(): likewise. */
void chrome_arg(struct chrome *c, const char *key, u64 value);
void chrome_arg_hex(struct chrome *c, const char *key, u64 value);
void chrome_arg_text(struct chrome *c, const char *key, const char *text);
/** chrome_end() - end the event. */
void chrome_end(struct chrome *c);

#endif
