/* SPDX-License-Identifier: MIT */
/* Compares the result of a call with the recorded one, word by word. */
#include "traces/replay/identity.h"
#include "traces/replay/objects.h"
#include "traces/replay/play.h"

#include <stdlib.h>
#include <string.h>

/*
 * Members of an identifier are no results: the program may have written them itself (rsockets do),
 * or another thread may be destroying the object in them.
 */
static bool result_is_id_state(enum vcall call, const char *word, size_t name)
{
	static const char *const names[] = {
		"src", "dst",	    "send_cq", "recv_cq", "send_cq_channel", "recv_cq_channel",
		"qp",  "qp.qp_num", "srq",     "pd"
	};
	size_t i;

	if (!strncmp(word, "event.", 6)) {
		word += 6;
		name -= 6;
	}
	/* Older traces lack these. */
	if (name == 6 && (!strncmp(word, "cmd_fd", 6) || !strncmp(word, "handle", 6)))
		return true;
	if (name < 3 || strncmp(word, "id.", 3) != 0)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == name - 3 && !strncmp(word + 3, names[i], name - 3))
			return true;
	/* Another thread may have taken the event by which the identifier gets its device. */
	return call == VCALL_rdma_resolve_addr &&
	       ((name == 8 && !memcmp(word, "id.verbs", 8)) ||
		(name == 11 && !memcmp(word, "id.port_num", 11)));
}

/*
 * Returns the number after the last colon of a word, or 0. @before: set to the length before the
 * colon.
 */
static uint16_t word_port(const char *word, size_t len, size_t *before)
{
	const char *colon = memrchr(word, ':', len);
	char *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

	if (!colon || end != word + len || port > UINT16_MAX)
		return 0;
	*before = (size_t)(colon - word);
	return (uint16_t)port;
}

/* Whether the addresses are equal, given that ports have other numbers in this run. */
static bool result_same_address(const struct rp_thread *t, const char *a, size_t a_len,
				const char *b, size_t b_len)
{
	size_t a_before, b_before;
	uint16_t a_port = word_port(a, a_len, &a_before), b_port = word_port(b, b_len, &b_before);

	return a_port && b_port && a_before == b_before && !memcmp(a, b, a_before) &&
	       rp_port_map(t, a_port) == b_port;
}

/* "?" is an object that the recorder did not know. */
static bool result_same_word(const struct rp_thread *t, const char *a, size_t a_len, const char *b,
			     size_t b_len, size_t name)
{
	if (a_len == b_len && !memcmp(a, b, a_len))
		return true;
	if (result_same_address(t, a, a_len, b, b_len))
		return true;
	return (a_len == name + 2 && a[name + 1] == '?') ||
	       (b_len == name + 2 && b[name + 1] == '?');
}

/*
 * The PD that the rdma_cm creates for an identifier's device, and destroys with its last
 * identifier. It is named by its address, which an earlier PD may have had in the record or in this
 * run.
 */
static bool result_is_cm_pd(const char *word, size_t name)
{
	return (name == 5 && !memcmp(word, "id.pd", 5)) ||
	       (name == 11 && !memcmp(word, "event.id.pd", 11));
}

/** struct result - what judges the words of a result. */
struct result {
	const struct rp_thread *t;
	enum cmp_asks asks;
};

static bool result_is_tolerated(const struct result *r, const char *want, const char *got,
				size_t name)
{
	return cmp_word_is_tolerated(r->t->prog->map, r->asks, want, got, name);
}

static bool result_word_is_same(void *arg, const char *want, size_t want_len, const char *got,
				size_t got_len, size_t name)
{
	const struct result *r = arg;

	return result_same_word(r->t, want, want_len, got, got_len, name) ||
	       result_is_cm_pd(want, name) || result_is_tolerated(r, want, got, name);
}

static bool result_may_lack(void *arg, const char *word, size_t len, size_t name, bool of_a)
{
	const struct result *r = arg;

	(void)of_a;
	return result_is_id_state(r->t->parsed.call, word, name) ||
	       (name < len && result_is_tolerated(r, word, NULL, name));
}

bool rp_result_is_same(const struct rp_thread *t, const char *line, const char *want,
		       const char *got)
{
	struct result r = { .t = t, .asks = cmp_line_asks(line) };
	struct cmp_judge judge = { .is_same = result_word_is_same,
				   .may_lack = result_may_lack,
				   .arg = &r };

	return cmp_words_are_same(&judge, want, got);
}
