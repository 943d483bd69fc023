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

/* Compares both results word by word. */
bool rp_result_is_same(const struct rp_thread *t, const char *want, const char *got)
{
	enum vcall call = t->parsed.call;
	size_t w, g, w_name, g_name;

	while (*want || *got) {
		w = strcspn(want, " ");
		g = strcspn(got, " ");
		w_name = strcspn(want, "= ");
		g_name = strcspn(got, "= ");
		if (w_name == g_name && !memcmp(want, got, w_name)) {
			if (!result_same_word(t, want, w, got, g, w_name) &&
			    !result_is_cm_pd(want, w_name) &&
			    !rp_word_is_tolerated(t, want, got, w_name))
				return false;
			want += w;
			got += g;
		} else if (result_is_id_state(call, want, w_name) ||
			   (w_name < w && rp_word_is_tolerated(t, want, NULL, w_name))) {
			want += w;
		} else if (result_is_id_state(call, got, g_name) ||
			   (g_name < g && rp_word_is_tolerated(t, got, NULL, g_name))) {
			got += g;
		} else {
			return false;
		}
		want += *want == ' ';
		got += *got == ' ';
	}
	return true;
}
