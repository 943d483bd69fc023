/* SPDX-License-Identifier: MIT */
/** DOC: scripts of `rdmaemu replay --inject`: a step in each line, see rdmaemu-inject(7). */
#include "emulator/ib.h"
#include "fabric/common/parse.h"
#include "fabric/fault/parse.h"
#include "fabric/cli/inject/tool.h"
#include "fabric/common/parse_link.h"
#include "fabric/common/text_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SCRIPT_MAX  (1u << 20) /* bytes */
#define WORDS	    40u
#define STEPS_MORE  32u /* that memory is allocated for at a time */
#define TIME_LIMIT  (3600ULL * 1000000000) /* ns */
#define WITHIN	    (10ULL * 1000000000)
#define WITHIN_NONE 100000000ULL
#define TIMES_MAX   10000u

#define TIME_EXPECTED "a time up to 3600s, with its unit: ns, us, ms or s"
#define OP_EXPECTED   "a packet as ACK, RNR_NAK, NAK_PSN_SEQ_ERR, RDMA_READ_RESPONSE, or none"

/**
 * struct line - the line that is being read. @expected: what word @at should be; NULL: the line is
 * correct
 */
struct line {
	const char *path;
	u32 nr;
	char *word[WORDS];
	u32 n, at;
	const char *expected;
};

static bool script_line_refuse(struct line *l, const char *expected)
{
	l->expected = expected;
	return false;
}

static bool script_line_has_more(const struct line *l)
{
	return l->at < l->n;
}

/* [within TIME] at the end of a line. */
static bool script_parse_within(struct line *l, struct inject_step *s)
{
	if (!script_line_has_more(l))
		return true;
	if (strcmp(l->word[l->at], "within") != 0)
		return script_line_refuse(l, "within TIME, or the end of the line");
	l->at++;
	if (!script_line_has_more(l) || !time_parse(l->word[l->at], TIME_LIMIT, &s->ns))
		return script_line_refuse(l, TIME_EXPECTED);
	l->at++;
	return script_line_has_more(l) ? script_line_refuse(l, "the end of the line") : true;
}

static bool script_parse_values(struct line *l, struct inject_step *s, bool send)
{
	u64 times;

	while (script_line_has_more(l) && strchr(l->word[l->at], '=')) {
		if (send && !strncmp(l->word[l->at], "times=", 6)) {
			if (!parse_number(l->word[l->at] + 6, TIMES_MAX, &times) || !times)
				return script_line_refuse(l, "a number from 1 to 10000");
			s->times = (u16)times;
			l->at++;
			continue;
		}
		if (s->n == INJECT_VALUES)
			return script_line_refuse(l, "at most 8 fields");
		l->expected = inject_value_parse(&s->value[s->n++], l->word[l->at], send);
		if (l->expected)
			return false;
		l->at++;
	}
	return true;
}

static bool script_step_add(struct line *l, struct inject_script *s, const struct inject_step *step)
{
	struct inject_step *more;

	if (s->n == INJECT_STEPS)
		return script_line_refuse(l, "a script of at most 4096 steps");
	if (s->n == s->room) {
		more = realloc(s->step, (s->room + STEPS_MORE) * sizeof(*more));
		if (!more)
			return script_line_refuse(l, "memory for it");
		s->step = more;
		s->room += STEPS_MORE;
	}
	s->step[s->n++] = *step;
	return true;
}

/* "3" or "3-5". */
static bool script_range_parse(const char *s, struct inject_step *step)
{
	const char *dash = strchr(s, '-');
	char low[16];
	u64 from, to;

	snprintf(low, sizeof(low), "%.*s", dash ? (int)(dash - s) : 15, s);
	if (!parse_number(low, INJECT_FRAMES, &from) || !from)
		return false;
	to = from;
	if (dash && (!parse_number(dash + 1, INJECT_FRAMES, &to) || to < from))
		return false;
	step->from = (u32)from;
	step->to = (u32)to;
	return true;
}

/* Each range is a step of its own. */
static bool script_parse_send(struct line *l, struct inject_script *s, struct inject_step *step)
{
	const char *expected = "numbers of frames, as 1-3,5, or all";
	char *save = NULL, *range = script_line_has_more(l) ? l->word[l->at] : NULL;
	u32 list = l->at++;

	step->what = DO_SEND;
	step->times = 1;
	if (!range) {
		l->at = list;
		return script_line_refuse(l, expected);
	}
	if (!script_parse_values(l, step, true))
		return false;
	if (script_line_has_more(l))
		return script_line_refuse(l, "FIELD=VALUE, times=N, or the end of the line");
	if (!strcmp(range, "all"))
		return script_step_add(l, s, step);
	/* Each range takes the place of the list, for messages about it. */
	l->at = list;
	for (range = strtok_r(range, ",", &save); range; range = strtok_r(NULL, ",", &save)) {
		l->word[list] = range;
		if (!script_range_parse(range, step))
			return script_line_refuse(l, expected);
		if (!script_step_add(l, s, step))
			return false;
	}
	return true;
}

static bool script_parse_expect(struct line *l, struct inject_step *s)
{
	u32 wr_ops = 0;

	if (!script_line_has_more(l))
		return script_line_refuse(l, OP_EXPECTED);
	s->what = DO_EXPECT;
	s->ns = WITHIN;
	if (!strcmp(l->word[l->at], "none")) {
		l->at++;
		s->what = DO_NOTHING;
		s->ns = WITHIN_NONE;
		return script_parse_within(l, s);
	}
	if (!fault_op_parse(l->word[l->at], &s->ops, &wr_ops) || !s->ops)
		return script_line_refuse(l, OP_EXPECTED);
	l->at++;
	return script_parse_values(l, s, false) && script_parse_within(l, s);
}

static bool script_parse_wait(struct line *l, struct inject_step *s)
{
	s->what = DO_WAIT;
	if (!script_line_has_more(l) || !time_parse(l->word[l->at], TIME_LIMIT, &s->ns))
		return script_line_refuse(l, TIME_EXPECTED);
	l->at++;
	return script_line_has_more(l) ? script_line_refuse(l, "the end of the line") : true;
}

static bool script_parse_state(struct line *l, struct inject_step *s)
{
	const char *expected = "state=RTR, RTS, SQD, SQE or ERR";
	const char *name;

	s->what = DO_STATE;
	s->ns = WITHIN;
	if (!script_line_has_more(l) || strncmp(l->word[l->at], "state=", 6) != 0)
		return script_line_refuse(l, expected);
	name = l->word[l->at] + 6;
	for (s->state = QPS_RTR; s->state < QPS_COUNT; s->state++)
		if (!strcasecmp(ib_qp_state_name(s->state), name))
			break;
	if (s->state == QPS_COUNT)
		return script_line_refuse(l, expected);
	l->at++;
	return script_parse_within(l, s);
}

static bool script_parse_ignore(struct line *l, struct inject_step *s)
{
	u32 wr_ops;

	s->what = DO_IGNORE;
	if (!script_line_has_more(l))
		return script_line_refuse(l, OP_EXPECTED);
	for (; script_line_has_more(l); l->at++)
		if (strcmp(l->word[l->at], "none") != 0 &&
		    !fault_op_parse(l->word[l->at], &s->ops, &wr_ops))
			return script_line_refuse(l, OP_EXPECTED);
	return true;
}

static bool script_parse_step(struct line *l, struct inject_script *s, const char *text)
{
	struct inject_step step = { .line = l->nr, .text = text };
	const char *verb = l->word[l->at++];

	if (!strcmp(verb, "send"))
		return script_parse_send(l, s, &step);
	if (!strcmp(verb, "expect")) {
		if (!script_parse_expect(l, &step))
			return false;
	} else if (!strcmp(verb, "wait")) {
		if (!script_parse_wait(l, &step))
			return false;
	} else if (!strcmp(verb, "qp")) {
		if (!script_parse_state(l, &step))
			return false;
	} else if (!strcmp(verb, "ignore")) {
		if (!script_parse_ignore(l, &step))
			return false;
	} else {
		l->at--;
		return script_line_refuse(l, "send, expect, wait, qp or ignore");
	}
	return script_step_add(l, s, &step);
}

/* Cut a line into words. Messages need the whole line: this is a copy. */
static bool script_line_split(struct line *l, char *text)
{
	char *save = NULL, *w = strtok_r(text, " \t\r", &save);

	for (l->n = 0; w; w = strtok_r(NULL, " \t\r", &save)) {
		if (l->n == WORDS)
			return script_line_refuse(l, "at most 40 words");
		l->word[l->n++] = w;
	}
	return true;
}

int inject_script_parse(struct inject_script *s, char *text)
{
	struct line l = { .path = s->path };
	char words[512], *save = NULL, *at, *hash;

	s->text = text;
	/* Empty lines are counted as well. */
	for (at = text; at; at = save) {
		save = strchr(at, '\n');
		if (save)
			*save++ = '\0';
		l.nr++;
		hash = strchr(at, '#');
		if (hash)
			*hash = '\0';
		at += strspn(at, " \t\r");
		at[strcspn(at, "\r")] = '\0';
		l.at = 0;
		l.expected = NULL;
		if (!*at)
			continue;
		if ((size_t)snprintf(words, sizeof(words), "%s", at) >= sizeof(words))
			return print_error("replay: %s:%u: expected a line of at most 511 bytes",
					   s->path, l.nr);
		if (script_line_split(&l, words) && l.n)
			script_parse_step(&l, s, at);
		if (l.expected)
			return print_error("replay: %s:%u: '%s': expected %s", s->path, l.nr,
					   l.at < l.n ? l.word[l.at] : "", l.expected);
	}
	return 0;
}

int inject_script_read(struct inject_script *s, const char *path)
{
	size_t len;
	char *text = text_input_read("script", path, SCRIPT_MAX, &len);

	*s = (struct inject_script){ .path = path };
	return text ? inject_script_parse(s, text) : -1;
}

void inject_script_free(struct inject_script *s)
{
	free(s->step);
	free(s->text);
}
