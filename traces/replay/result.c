/* SPDX-License-Identifier: MIT */
/* Prints the result of a replay. */
#include "traces/replay/run.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"

#include <json-c/json.h>
#include <stdio.h>

int rp_complain(const char *text)
{
	fprintf(stderr, "rdmaemu: replay: %s\n", text);
	return 2;
}

const char *rp_result_divergence(struct rp_world *w)
{
	unsigned int rest = 0;

	if (!rp_is_failed(w))
		return NULL;
	while (__atomic_load_n(&w->share->failed, __ATOMIC_SEQ_CST) != 2 && rest < 10000)
		rp_wait_step(&rest);
	return w->share->why;
}

void rp_result_add(struct rp_count *sum, const struct rp_world *w)
{
	const struct rp_count *c = &w->share->count;

	sum->calls += c->calls;
	sum->wrs += c->wrs;
	sum->wcs += c->wcs;
	sum->events += c->events;
	sum->bytes += c->bytes;
	sum->mems += c->mems;
	sum->payloads += c->payloads;
	sum->unexpected += c->unexpected;
}

static void json_put_count(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static void rp_result_show_json(const struct rp_args *a, uint32_t programs,
				const struct rp_count *c, const char *why, uint32_t kept)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "divergence", why ? json_object_new_string(why) : NULL);
	json_put_count(o, "programs", programs);
	json_put_count(o, "calls", c->calls);
	json_put_count(o, "work_requests", c->wrs);
	json_put_count(o, "completions", c->wcs);
	json_put_count(o, "events", c->events);
	json_put_count(o, "bytes", c->bytes);
	json_put_count(o, "memory_regions", c->mems);
	json_put_count(o, "payloads", c->payloads);
	if (a->as) {
		json_put_count(o, "unexpected", c->unexpected);
		json_put_count(o, "recorded", kept);
	}
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

void rp_result_show(const struct rp_args *a, uint32_t programs, const struct rp_count *c,
		    const char *why, uint32_t kept)
{
	if (a->json) {
		rp_result_show_json(a, programs, c, why, kept);
		return;
	}
	if (why) {
		printf("%s\n", why);
		return;
	}
	if (programs)
		printf("%u programs, %llu calls, %llu work requests, %llu completions, %llu memory "
		       "regions: no divergence",
		       programs, (unsigned long long)c->calls, (unsigned long long)c->wrs,
		       (unsigned long long)c->wcs, (unsigned long long)c->mems);
	if (c->unexpected)
		printf(", %llu unexpected", (unsigned long long)c->unexpected);
	if (programs)
		putchar('\n');
	if (kept)
		printf("recorded: %u programs, episode %s of %s\n", kept, a->episode, a->keep);
}
