/* SPDX-License-Identifier: MIT */
/**
 * DOC: storing settings: one table has the values that each may have. See opts_store.h.
 */
#include "fabric/common/opts_store.h"
#include "fabric/common/host_port.h"
#include "fabric/common/nodes.h"
#include "fabric/common/parse.h"
#include "fabric/common/wire_list.h"
#include "fabric/proto/finding.h"
#include "fabric/proto/proto.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static bool opt_store_text(char *to, size_t size, const char *value)
{
	size_t n = strlen(value);

	if (!n || n >= size)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

static bool opt_set_subnet(struct opts *o, const char *value)
{
	struct subnets subnets;

	return strlen(value) < sizeof(o->subnet) && subnets_parse(&subnets, value) &&
	       opt_store_text(o->subnet, sizeof(o->subnet), value);
}

static bool opt_set_listen(struct opts *o, const char *value)
{
	return host_port_is_list(value, false) &&
	       opt_store_text(o->listen, sizeof(o->listen), value);
}

static bool opt_set_join(struct opts *o, const char *value)
{
	return host_port_is_list(value, true) && opt_store_text(o->join, sizeof(o->join), value);
}

static bool opt_set_roce(struct opts *o, const char *value)
{
	struct wire_list list;

	return wire_list_parse(&list, value) && opt_store_text(o->roce, sizeof(o->roce), value);
}

static bool opt_set_roce_peers(struct opts *o, const char *value)
{
	struct wire_peers peers;

	return wire_peers_parse(&peers, value) &&
	       opt_store_text(o->roce_peers, sizeof(o->roce_peers), value);
}

static bool opt_set_scale(struct opts *o, const char *value)
{
	return parse_scale(value, &o->ppm);
}

static bool opt_set_clock(struct opts *o, const char *value)
{
	o->manual = !strcmp(value, "manual");
	return o->manual || !strcmp(value, "run");
}

static bool opt_set_chaos(struct opts *o, const char *value)
{
	u32 seed;

	o->chaos = true;
	o->chaos_random = !strcmp(value, CHAOS_RANDOM);
	if (!o->chaos_random)
		return parse_number(value, ~0ULL, &o->chaos_seed);
	/* Short enough to type. */
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return false;
	o->chaos_seed = seed;
	return true;
}

static bool opt_set_ring_size(struct opts *o, const char *value)
{
	return parse_size(value, RING_SIZE_MAX, &o->ring_size) && o->ring_size >= RING_SIZE_MIN;
}

static bool opt_set_pace(struct opts *o, const char *value)
{
	o->pace = !strcmp(value, "recorded");
	return o->pace || !strcmp(value, "fast");
}

static bool opt_set_lend(struct opts *o, const char *value)
{
	bool is_auto = !strcmp(value, "auto");

	return (is_auto || !strcmp(value, "yes")) &&
	       opt_store_text(o->lend, sizeof(o->lend), is_auto ? "auto" : "1");
}

static bool opt_set_no_lend(struct opts *o, const char *value)
{
	(void)value;
	return opt_store_text(o->lend, sizeof(o->lend), "0");
}

/* Return: the index of @value in the words, which end with NULL, or -1. */
static int opt_word_index(const char *value, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	return -1;
}

static bool opt_set_mode(struct opts *o, const char *value)
{
	static const char *const words[] = { [MODE_NONE] = "none",
					     [MODE_ONCE] = "once",
					     [MODE_NEW] = "new_episodes",
					     [MODE_ALL] = "all",
					     NULL };
	int mode = opt_word_index(value, words);

	if (mode >= 0)
		o->mode = (enum replay_mode)mode;
	return mode >= 0;
}

static bool opt_set_format(struct opts *o, const char *value)
{
	static const char *const words[] = {
		[FORMAT_TEXT] = "text", [FORMAT_SVG] = "svg", [FORMAT_MERMAID] = "mermaid", NULL
	};
	int format = opt_word_index(value, words);

	if (format >= 0)
		o->format = (enum picture_format)format;
	return format >= 0;
}

static bool opt_set_prometheus(struct opts *o, const char *value)
{
	static const char *const words[] = { "openmetrics", "text", NULL };
	int word = opt_word_index(value, words);

	if (word >= 0)
		o->prometheus = word ? METRICS_TEXT : METRICS_OPEN;
	return word >= 0;
}

static bool opt_set_real(struct opts *o, const char *value)
{
	bool yes;

	o->real_names[0] = '\0';
	o->real = REAL_AUTO;
	if (!strcmp(value, "auto"))
		return true;
	o->real = REAL_YES;
	if (*value && parse_bool(value, &yes)) {
		o->real = yes ? REAL_YES : REAL_NO;
		return true;
	}
	/* libtap/users/device_mask.c takes the names as they are. */
	return !strpbrk(value, " \t/=") &&
	       opt_store_text(o->real_names, sizeof(o->real_names), value);
}

static bool opt_set_real_direct(struct opts *o, const char *value)
{
	static const char *const words[] = { "allow", "hide", "refuse", NULL };

	return opt_word_index(value, words) >= 0 &&
	       opt_store_text(o->real_direct, sizeof(o->real_direct), value);
}

static bool opt_set_payload(struct opts *o, const char *value)
{
	static const char *const words[] = { "full", "hash", "none", NULL };

	return opt_word_index(value, words) >= 0 &&
	       opt_store_text(o->payload, sizeof(o->payload), value);
}

static bool opt_set_unexpected(struct opts *o, const char *value)
{
	static const char *const words[] = { "fail", "wait", "ignore", NULL };

	return opt_word_index(value, words) >= 0 &&
	       opt_store_text(o->unexpected, sizeof(o->unexpected), value);
}

static bool opt_set_check(struct opts *o, const char *value)
{
	struct finding_set on;
	bool yes;

	o->check[0] = '\0';
	if (*value && parse_bool(value, &yes)) {
		if (!yes)
			return true;
		value = FINDING_LIST_DEFAULT;
	}
	return !finding_list_parse(value, &on) && opt_store_text(o->check, sizeof(o->check), value);
}

enum kind {
	OTHER, /* @set checks and stores it */
	SWITCH, /* bool: the option was given */
	BOOL, /* bool: yes or no */
	NAME, /* of a node or fabric */
	TEXT, /* not empty, as much as fits */
	NUMBER32, /* @min to @max */
	NUMBER64,
};

#define AT(member) offsetof(struct opts, member), sizeof(((struct opts *)0)->member)
#define A_SWITCH(member)                                                                           \
	{                                                                                          \
		SWITCH, AT(member), 0, 0, NULL, NULL                                               \
	}
#define A_BOOL(member)                                                                             \
	{                                                                                          \
		BOOL, AT(member), 0, 0, "yes or no", NULL                                          \
	}
#define A_NAME(member)                                                                             \
	{                                                                                          \
		NAME, AT(member), 0, 0, NAME_EXPECTED, NULL                                        \
	}
#define A_TEXT(member, expected)                                                                   \
	{                                                                                          \
		TEXT, AT(member), 0, 0, expected, NULL                                             \
	}
#define A_NUMBER(bits, member, min, max, expected)                                                 \
	{                                                                                          \
		NUMBER##bits, AT(member), min, max, expected, NULL                                 \
	}
#define BY(set, expected)                                                                          \
	{                                                                                          \
		OTHER, 0, 0, 0, 0, expected, set                                                   \
	}

/**
 * struct opt_value - the value of a setting.
 * @off, @size: the member of struct opts that holds it
 * @expected: what an error message expects
 */
static const struct opt_value {
	enum kind kind;
	size_t off;
	size_t size;
	u64 min;
	u64 max;
	const char *expected;
	bool (*set)(struct opts *o, const char *value);
} opt_values[OPT_COUNT] = {
	[OPT_FABRIC] = A_NAME(fabric),
	[OPT_FRESH] = A_SWITCH(fresh),
	[OPT_DIR] = A_TEXT(dir, "a directory"),
	[OPT_CONFIG] = A_TEXT(config, "a file"),
	[OPT_ISOLATED] = A_BOOL(isolated),
	[OPT_CONTROL] = A_BOOL(control),
	[OPT_LINGER] = A_NUMBER(32, linger_ms, 0, LINGER_MS_MAX, "milliseconds, 0 to 86400000"),
	[OPT_SEED] = A_NUMBER(64, seed, 0, ~0ULL, "a number of at most 64 bits"),
	[OPT_FIRST_MR] = A_NUMBER(32, first_mr, 1, HCA_MAX_MR - 1, "an index, 1 to 2097151"),
	[OPT_PROFILE] = A_TEXT(profile, "a profile's name or file"),
	[OPT_NODE] = A_NAME(node),
	[OPT_SUBNET] = BY(opt_set_subnet, SUBNETS_EXPECTED),
	[OPT_TOPOLOGY] = A_TEXT(topology, "a file"),
	[OPT_LISTEN] = BY(opt_set_listen, "ADDR:PORT"),
	[OPT_JOIN] = BY(opt_set_join, "HOST:PORT, or several with commas between"),
	[OPT_TOKEN_FILE] = A_TEXT(token_file, "a file"),
	[OPT_PLAINTEXT] = A_BOOL(plaintext),
	[OPT_NAME] = A_NAME(name),
	[OPT_ROCE] = BY(opt_set_roce, WIRE_LIST_EXPECTED),
	[OPT_ROCE_PEERS] = BY(opt_set_roce_peers, WIRE_PEERS_EXPECTED),
	[OPT_TIME_SCALE] = BY(opt_set_scale, PARSE_SCALE_EXPECTED),
	[OPT_CLOCK] = BY(opt_set_clock, "run or manual"),
	[OPT_CHAOS] = BY(opt_set_chaos, "a number of at most 64 bits, or random"),
	[OPT_DEVICE] = A_TEXT(device, "a device's name"),
	[OPT_PORT] = A_NUMBER(32, port, 1, 255, "a port's number, 1 or more"),
	[OPT_JSON] = A_SWITCH(json),
	[OPT_AUDIT] = A_SWITCH(audit),
	[OPT_PROMETHEUS] = BY(opt_set_prometheus, "openmetrics or text"),
	[OPT_SCENARIO] = A_TEXT(scenario, "a file"),
	[OPT_DRY_RUN] = A_SWITCH(dry_run),
	[OPT_MUST_FIRE] = A_SWITCH(must_fire),
	[OPT_PROGRAM] =
		A_TEXT(program, "a program's name, of at most 31 characters, or its process id"),
	[OPT_QP] = A_NUMBER(32, qpn, 1, IB_QPN_MASK, "the number of a queue pair, 1 to 0xffffff"),
	[OPT_FOLLOW] = A_SWITCH(follow),
	[OPT_LAST] = A_NUMBER(32, last, 1, 1000, "a number, 1 or more"),
	[OPT_VERBOSE] = A_SWITCH(verbose),
	[OPT_EXPLAIN] = A_SWITCH(explain),
	[OPT_JUNIT] = A_TEXT(junit, "a file"),
	[OPT_TAP] = A_TEXT(tap, "a file"),
	[OPT_REPORT] = A_TEXT(report, "a file"),
	[OPT_TRACE] = A_TEXT(trace, "a file"),
	[OPT_NODES] = A_TEXT(nodes, "NAME=ADDRESS,..."),
	[OPT_CAPTURE] = A_TEXT(capture, "a file"),
	[OPT_FILTER] = A_TEXT(filter, "an expression of at most 1023 characters"),
	[OPT_SNAPLEN] = A_NUMBER(32, snaplen, SNAPLEN_MIN, SNAPLEN_MAX, "bytes, 64 to 65535"),
	[OPT_RING_SIZE] = BY(opt_set_ring_size, "bytes, 4096 or more, maybe with K, M or G"),
	[OPT_RING_FILES] = A_NUMBER(32, ring_files, 1, 99999, "a number of files, 1 to 99999"),
	[OPT_LOSSY] = A_SWITCH(lossy),
	[OPT_CHROME] = A_TEXT(chrome, "a file"),
	[OPT_BATCH] = A_SWITCH(batch),
	[OPT_INTERVAL] = A_NUMBER(32, interval_ms, 100, 3600000, "milliseconds, 100 to 3600000"),
	[OPT_COUNT_SAMPLES] = A_NUMBER(32, count, 1, UINT32_MAX, "a number, 1 or more"),
	[OPT_LADDER] = A_SWITCH(ladder),
	[OPT_FORMAT] = BY(opt_set_format, "text, svg or mermaid"),
	[OPT_DATA] = A_SWITCH(data),
	[OPT_PACE] = BY(opt_set_pace, "fast or recorded"),
	[OPT_REAL] = BY(opt_set_real, "auto, yes, no, or names of devices, with commas between"),
	[OPT_REAL_DIRECT] = BY(opt_set_real_direct, "allow, hide or refuse"),
	[OPT_EMULATE] = A_SWITCH(emulate),
	[OPT_TIMEOUT] = A_NUMBER(32, timeout, 1, 86400, "seconds, 1 to 86400"),
	[OPT_OUT] = A_TEXT(out, "a directory"),
	[OPT_WIRE] = A_SWITCH(wire),
	[OPT_PAYLOAD] = BY(opt_set_payload, "full, hash or none"),
	[OPT_ERF] = A_SWITCH(erf),
	[OPT_AS] = A_TEXT(as, "a program's name, of at most 31 characters, or as p1"),
	[OPT_IGNORE] = A_TEXT(ignore, "fields, with commas between"),
	[OPT_CAPABILITIES] = A_SWITCH(capabilities),
	[OPT_MODE] = BY(opt_set_mode, "none, once, new_episodes or all"),
	[OPT_COMMAND] = A_TEXT(command, "a command of at most 4095 characters"),
	[OPT_LIVE_NODE] = A_NAME(live_node),
	[OPT_LIVE_FIRST] = A_SWITCH(live_first),
	[OPT_UNEXPECTED] = BY(opt_set_unexpected, "fail, wait or ignore"),
	[OPT_INJECT] = A_SWITCH(inject),
	[OPT_FROM] = A_NAME(from),
	[OPT_SCRIPT] = A_TEXT(script, "a file"),
	[OPT_AS_IS] = A_SWITCH(as_is),
	[OPT_MR] = A_NUMBER(32, mr, 1, UINT32_MAX, "the ordinal of a memory region, 1 or more"),
	[OPT_CHECK] = BY(opt_set_check, "names of findings with commas between, as CQ:NOTIFY:LOST, "
					"QP:*, errors or -MR:*"),
	[OPT_CHECK_EXIT] = A_NUMBER(32, check_exit, 0, 255, "an exit status, 0 to 255"),
	[OPT_CHECK_SUPPRESS] = A_TEXT(check_suppress, "a file"),
	[OPT_CHECK_JSON] = A_TEXT(check_json, "a file"),
	[OPT_CHECK_SARIF] = A_TEXT(check_sarif, "a file"),
	[OPT_GEN_SUPPRESSIONS] = A_SWITCH(gen_suppressions),
	[OPT_LEND] = BY(opt_set_lend, "yes or auto"),
	[OPT_NO_LEND] = BY(opt_set_no_lend, ""),
	[OPT_MEMBER] = A_NAME(member),
	[OPT_JOINED] = A_SWITCH(joined),
	[OPT_HELP] = A_SWITCH(help),
};

static bool opt_store_number(const struct opt_value *v, void *to, const char *value)
{
	u64 n;

	if (!parse_number(value, v->max, &n) || n < v->min)
		return false;
	if (v->kind == NUMBER64)
		*(u64 *)to = n;
	else
		*(u32 *)to = (u32)n;
	return true;
}

const char *opt_store(struct opts *o, enum opt_id id, const char *value)
{
	const struct opt_value *v = &opt_values[id];
	void *to = (char *)o + v->off;
	bool stored = true;

	switch (v->kind) {
	case OTHER:
		stored = v->set(o, value);
		break;
	case SWITCH:
		*(bool *)to = true;
		break;
	case BOOL:
		stored = parse_bool(value, to);
		break;
	case NAME:
		stored = hca_node_name_ok(value) && opt_store_text(to, v->size, value);
		break;
	case TEXT:
		stored = opt_store_text(to, v->size, value);
		break;
	case NUMBER32:
	case NUMBER64:
		stored = opt_store_number(v, to, value);
		break;
	}
	return stored ? NULL : v->expected;
}

static u64 opt_text_hash(const char *text)
{
	return text[0] ? fnv1a(FNV1A_BASIS, text, strlen(text)) : 0;
}

void opts_given(const struct opts *o, struct proto_given *g)
{
	char token[PATH_MAX];

	memset(g, 0, sizeof(*g));
	g->seed = o->seed;
	g->first_mr = o->first_mr;
	g->listen = opt_text_hash(o->listen);
	g->join = opt_text_hash(o->join);
	g->roce = opt_text_hash(o->roce);
	g->roce_peers = opt_text_hash(o->roce_peers);
	/* The fabric process has been given the whole path. */
	if (!o->token_file[0] || !realpath(o->token_file, token))
		snprintf(token, sizeof(token), "%s", o->token_file);
	g->token_file = opt_text_hash(token);
	g->plaintext = o->plaintext;
}
