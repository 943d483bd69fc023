/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu trace diff`: what differs because the devices differ. */
#ifndef FABRIC_CLI_TRACE_DIFF_DEVICES_H
#define FABRIC_CLI_TRACE_DIFF_DEVICES_H

#include "traces/compare/compare.h"
#include "traces/vtrace/read.h"

#include "emulator/types.h"

#include <json-c/json.h>

/**
 * struct diff_note - a value that differs because the devices differ.
 * @call, @field: where it was seen first; an empty @field: of the call as a whole
 * @a, @b: the value in each trace
 * @asked: a program asked a device for it
 */
struct diff_note {
	char call[40], field[64], a[80], b[80];
	bool asked;
};

/**
 * struct diff_devices - how the devices of two traces differ.
 * @kind: how devices of another kind are treated
 * @map: from the devices of a program of the first trace to those of the second; NULL: they are the
 *	same, and lines are equal or differ
 * @note: what was found, in its order
 * @failed: -ENOMEM: notes are missing
 */
struct diff_devices {
	enum cmp_kind kind;
	struct cmp_map *map;
	struct diff_note *note;
	u32 n_notes;
	int failed;
};

/** diff_devices_init() - @capabilities: with `--capabilities` these are compared */
void diff_devices_init(struct diff_devices *d, const struct vt_dir *a, const struct vt_dir *b,
		       bool capabilities);
/** diff_devices_free() - release what the calls below have made. */
void diff_devices_free(struct diff_devices *d);
/** diff_devices_map() - map the devices of program @nth of both traces. Return: 0 or -ENOMEM. */
int diff_devices_map(struct diff_devices *d, const struct vt_dir *a, const struct vt_dir *b,
		     u32 nth);

/**
 * diff_devices_is_same_line() - whether two calls are the same but for what follows from the
 * devices, which is noted.
 */
bool diff_devices_is_same_line(struct diff_devices *d, const char *a, const char *b);
/**
 * diff_devices_skip() - whether one of two calls that differ only asks a device, and the other one
 * does something else: then it is noted and left out.
 * Return: -1: leave out @a; 1: leave out @b; 0: neither. One of them may be NULL: a trace is at its
 * end.
 */
int diff_devices_skip(struct diff_devices *d, const char *a, const char *b);
/** diff_devices_print() - print the notes, or add them to an array. @json: may be NULL */
void diff_devices_print(const struct diff_devices *d, struct json_object *json);

#endif
