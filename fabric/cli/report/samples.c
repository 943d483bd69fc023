/* SPDX-License-Identifier: MIT */
/**
 * DOC: samples of the fabric's state while the program of `run --report` runs: what packets do not
 * show. The parent of the program takes them.
 *
 * There are at most SAMPLES. When there is no more room, every other one goes, and the pause
 * doubles: a page of a long run has as many as one of a short run. A fabric with much to report is
 * asked more rarely, so that samples take a hundredth of a CPU. Only CPU time counts: time that
 * this process waits for a CPU costs nobody anything, and a pause of a hundred times as long would
 * miss the run on a busy machine.
 */
#include "fabric/cli/report/run.h"
#include "fabric/cli/report/report.h"
#include "fabric/cli/cli.h"
#include "fabric/common/json.h"
#include "fabric/proto/real_time.h"

#include <string.h>

#define SAMPLES		512u
#define SAMPLE_PAUSE_MS 50u
#define SAMPLE_SHARE	100u /* the pause is that many times the CPU time of a sample */
#define SAMPLE_SIDES	2u /* the fabric process writes the text, this process reads it */

/**
 * struct run_sample - all programs of the fabric at one time.
 * @ns: fabric time since its start
 * @in_flight: work requests that were sent and have not completed
 * @waiting: completions that no program has polled
 * @memory: bytes of registered memory
 */
struct run_sample {
	u64 ns;
	u64 in_flight;
	u64 waiting;
	u64 memory;
};

/** struct run_samples - samples of a run. @pause_ms: that between two of them, at least */
static struct {
	struct child_watch watch;
	const struct fabric_paths *paths;
	u32 pause_ms;
	u32 n;
	struct run_sample sample[SAMPLES];
} samples;

/* The sum of a member of all objects of a list. */
static u64 samples_sum(struct json_object *status, const char *all, const char *member)
{
	struct json_object *o = json_object_object_get(status, all);
	u64 sum = 0;
	size_t i;

	for (i = 0; i < json_length(o); i++)
		sum += json_get_int(json_object_array_get_idx(o, i), member);
	return sum;
}

static int sample_take(struct run_sample *s)
{
	struct proto_msg m = { .op = PROTO_STATUS };
	struct json_object *status = NULL;
	int ret = ctl_request_json(samples.paths, &m, &status);

	if (ret)
		return ret;
	*s = (struct run_sample){ .ns = json_get_int(status, "time_ns"),
				  .in_flight = samples_sum(status, "qps", "in_flight"),
				  .waiting = samples_sum(status, "cqs", "entries"),
				  .memory = samples_sum(status, "clients", "mr_bytes") };
	json_object_put(status);
	return 0;
}

static void samples_halve(void)
{
	u32 i;

	for (i = 0; 2 * i < samples.n; i++)
		samples.sample[i] = samples.sample[2ul * i];
	samples.n = i;
	samples.pause_ms *= 2;
}

static void samples_look(struct child_watch *w)
{
	u64 began = thread_cpu_ns(), rest_ms;

	if (samples.n == SAMPLES)
		samples_halve();
	if (!sample_take(&samples.sample[samples.n]))
		samples.n++;
	rest_ms = (thread_cpu_ns() - began) * SAMPLE_SIDES * SAMPLE_SHARE / 1000000;
	w->pause_ms = (u32)(rest_ms > samples.pause_ms ? rest_ms : samples.pause_ms);
}

struct child_watch *report_run_watch(const struct opts *o, const struct fabric_paths *p)
{
	if (!report_run_is_wanted(o) || o->real == REAL_RULES)
		return NULL;
	samples.paths = p;
	samples.pause_ms = SAMPLE_PAUSE_MS;
	samples.watch = (struct child_watch){ .pause_ms = SAMPLE_PAUSE_MS, .look = samples_look };
	return &samples.watch;
}

void report_run_add_samples(struct report *r)
{
	struct json_object *o;
	u32 i;

	for (i = 0; i < samples.n; i++) {
		o = json_object_new_object();
		json_add_int(o, "ts", samples.sample[i].ns);
		json_add_int(o, "in_flight", samples.sample[i].in_flight);
		json_add_int(o, "waiting", samples.sample[i].waiting);
		json_add_int(o, "memory", samples.sample[i].memory);
		report_append(r, "samples", o);
	}
}
