/* SPDX-License-Identifier: MIT */
/**
 * DOC: ladder diagrams: a vertical line for each host or program, and an arrow for each packet or
 * entry of the journal, in the order of time.
 *
 * A source (capture.c, journal.c) reads its input twice: first for the lanes, and to count the
 * steps; then it hands over one step after the other. So a ladder of a million packets needs no
 * more memory than one of ten. The formats are text, SVG and Mermaid's sequenceDiagram.
 */
#ifndef FABRIC_CLI_LADDER_LADDER_H
#define FABRIC_CLI_LADDER_LADDER_H

#include "fabric/common/opts.h"

#include <json-c/json.h>
#include <stdio.h>

#define LADDER_LANES 64u
#define LADDER_NAME  64u
#define LADDER_LABEL 128u
#define LADDER_NOTE  512u
#define LADDER_IDLE  100000000u /* ns: a longer time between two steps is folded, and named */

/**
 * struct ladder_step - an arrow.
 * @from, @to: lanes; the same: it is about that one alone
 * @lost: it does not arrive
 * @bad: an error, a NAK, a retransmission
 * @note: why, or ""
 */
struct ladder_step {
	u64 ns;
	u32 from, to;
	bool lost;
	bool bad;
	char label[LADDER_LABEL];
	char note[LADDER_NOTE];
};

struct ladder;

/** struct ladder_format - how a ladder is printed. @head: lanes and number of steps are known */
struct ladder_format {
	void (*head)(struct ladder *l);
	void (*step)(struct ladder *l, const struct ladder_step *s);
	void (*end)(struct ladder *l);
};

/**
 * struct ladder - a ladder being printed.
 * @steps: how many there will be, and @idles: how many long times between them
 * @begin: time of the first step; @last: of the latest one
 * @n: steps printed; @row: for the format
 */
struct ladder {
	FILE *out;
	const struct ladder_format *format;
	char lane[LADDER_LANES][LADDER_NAME];
	u32 n_lanes;
	u64 steps;
	u64 idles;
	u64 begin;
	u64 last;
	u64 n;
	u64 row;
	u32 spacing; /* of lanes */
};

extern const struct ladder_format ladder_text, ladder_svg, ladder_mermaid;

/* --- ladder.c --- */

/** ladder_init() - begin a ladder in the format of --format. */
void ladder_init(struct ladder *l, FILE *out, const struct opts *o);
/** ladder_lane() - the lane of that name, made if it is new. The last one is for all more. */
u32 ladder_lane(struct ladder *l, const char *name);
/** ladder_count() - in the first pass: a step will come, at that time. */
void ladder_count(struct ladder *l, u64 ns);
/** ladder_head() - the first pass is over. */
void ladder_head(struct ladder *l);
/** ladder_idle() - ns before a step that are folded, or 0. */
u64 ladder_idle(const struct ladder *l, const struct ladder_step *s);
/** ladder_step() - print a step. */
void ladder_step(struct ladder *l, const struct ladder_step *s);
/** ladder_end() - print the end. */
void ladder_end(struct ladder *l);

/* --- journal.c --- */

/** ladder_journal_count() - in the first pass: an entry of the journal, as JSON. */
void ladder_journal_count(struct ladder *l, struct json_object *entry);
/** ladder_journal_step() - in the second pass: print it. */
void ladder_journal_step(struct ladder *l, struct json_object *entry);

#endif
