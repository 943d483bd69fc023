/* SPDX-License-Identifier: MIT */
/** DOC: settings: one table names each as an option, as a variable and as a key of a file. */
#include "fabric/common/opts_store.h"
#include "fabric/common/suggest.h"
#include "fabric/proto/finding.h"
#include "fabric/proto/proto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct opt_def opt_defs[OPT_COUNT] = {
	[OPT_FABRIC] = { "fabric", 0, "NAME", "RDMAEMU_FABRIC", true,
			 "name of the fabric (default: default)" },
	[OPT_FRESH] = { "fresh", 0, NULL, NULL, false,
			"use a fabric of its own, which ends with this run" },
	[OPT_DIR] = { "dir", 0, "DIR", "RDMAEMU_DIR", false,
		      "directory of sockets and state, private to its user (default: "
		      "$XDG_RUNTIME_DIR/rdmaemu)" },
	[OPT_CONFIG] = { "config", 0, "FILE", "RDMAEMU_CONFIG", false,
			 "read settings from FILE (default: DIR/config)" },
	[OPT_ISOLATED] = { "isolated", 0, NULL, "RDMAEMU_ISOLATED", true,
			   "keep programs from reaching each other's state; slower" },
	[OPT_CONTROL] = { "control", 0, NULL, "RDMAEMU_CONTROL", false,
			  "let the program control an isolated fabric" },
	[OPT_LINGER] = { "linger", 0, "MS", "RDMAEMU_LINGER", true,
			 "stop the fabric so many milliseconds after its last program has ended" },
	[OPT_SEED] = { "seed", 0, "N", "RDMAEMU_SEED", true,
		       "seed of all random decisions (default: 1)" },
	[OPT_FIRST_MR] = { "first-mr", 0, "N", NULL, false,
			   "index of the first memory region, from which its keys are made "
			   "(default: 1)" },
	[OPT_PROFILE] = { "profile", 0, "NAME|FILE", "RDMAEMU_PROFILE", true,
			  "limits and abilities of the devices, by a built-in profile or a file, "
			  "see rdmaemu-profile(5)" },
	[OPT_NODE] = { "node", 0, "NAME", PROTO_NODE_ENV, false,
		       "node to run on, created when first named (default: node0, the host "
		       "itself)" },
	[OPT_SUBNET] = { "subnet", 0, "ADDR/BITS", "RDMAEMU_SUBNET", true,
			 "subnet from which nodes get their addresses (default: "
			 "10.77.0.0/16,fd77::/64)" },
	[OPT_TOPOLOGY] = { "topology", 0, "FILE", "RDMAEMU_TOPOLOGY", true,
			   "create the nodes that FILE describes, see rdmaemu-topology(5)" },
	[OPT_LISTEN] = { "listen", 0, "ADDR:PORT", "RDMAEMU_LISTEN", true,
			 "accept TCP connections of other fabrics that join this one" },
	[OPT_JOIN] = { "join", 0, "HOST:PORT,...", "RDMAEMU_JOIN", true,
		       "join the fabrics that listen at these addresses" },
	[OPT_TOKEN_FILE] = { "token-file", 0, "FILE", "RDMAEMU_TOKEN_FILE", true,
			     "file with the secret that joined fabrics share" },
	[OPT_PLAINTEXT] = { "plaintext", 0, NULL, "RDMAEMU_PLAINTEXT", true,
			    "do not encrypt the traffic of joined fabrics; all of them need it" },
	[OPT_NAME] = { "name", 0, "NAME", "RDMAEMU_NAME", true,
		       "name of this host in joined fabrics (default: its hostname)" },
	[OPT_ROCE] = { "roce", 0, "ADDR|IFACE,...", "RDMAEMU_ROCE", true,
		       "speak RoCE v2 at these addresses or interfaces of this host, to devices "
		       "outside of the fabric" },
	[OPT_ROCE_PEERS] = { "roce-peers", 0, "ADDR[/BITS],...", "RDMAEMU_ROCE_PEERS", true,
			     "take RoCE v2 packets from these hosts only (default: all)" },
	[OPT_TIME_SCALE] = { "time-scale", 0, "X", "RDMAEMU_TIME_SCALE", true,
			     "let fabric time run X times as fast as real time" },
	[OPT_CLOCK] = { "clock", 0, "run|manual", "RDMAEMU_CLOCK", true,
			"with manual, fabric time stands still until 'rdmaemu clock' moves it" },
	[OPT_CHAOS] = { "chaos", 0, "[=SEED]", "RDMAEMU_CHAOS", true,
			"randomise everything the specification leaves open, without faults "
			"(default seed: random)" },
	[OPT_DEVICE] = { "device", 0, "NAME", NULL, false, "only this device (default: all)" },
	[OPT_PORT] = { "port", 0, "N", NULL, false, "only this port of the device (default: all)" },
	[OPT_JSON] = { "json", 0, NULL, NULL, false, "print JSON" },
	[OPT_AUDIT] = { "audit", 0, NULL, NULL, false,
			"also check the consistency of the HCA's memory" },
	[OPT_PROMETHEUS] = { "prometheus", 0, "[=openmetrics|text]", NULL, false,
			     "print metrics, as OpenMetrics, or in the older text format of "
			     "Prometheus" },
	[OPT_SCENARIO] = { "scenario", 0, "FILE", "RDMAEMU_SCENARIO", true,
			   "read fault rules from FILE, see rdmaemu-faults(7)" },
	[OPT_DRY_RUN] = { "dry-run", 0, NULL, NULL, false,
			  "print the fault rules that would be set, and do nothing else" },
	[OPT_MUST_FIRE] = { "must-fire", 0, NULL, NULL, false,
			    "fail if a rule of the scenario (without one: any rule) has not fired "
			    "when the program ends" },
	[OPT_PROGRAM] = { "program", 0, "NAME|PID", NULL, false, "only this program" },
	[OPT_QP] = { "qp", 0, "N", NULL, false, "only the queue pair with this number" },
	[OPT_FOLLOW] = { "follow", 0, NULL, NULL, false,
			 "print new entries as they arrive, until the fabric stops" },
	[OPT_LAST] = { "last", 0, "N", NULL, false,
		       "show the journal of the fabric that has ended last (1), of the one before "
		       "(2), ..." },
	[OPT_VERBOSE] = { "verbose", 'v', NULL, NULL, false, "print all details" },
	[OPT_EXPLAIN] = { "explain", 0, NULL, NULL, false,
			  "when the program ends, report what went wrong and why" },
	[OPT_JUNIT] = { "junit", 0, "FILE", NULL, false,
			"write results of the program and the fault rules to FILE, as JUnit XML" },
	[OPT_TAP] = { "tap", 0, "FILE", NULL, false,
		      "write results of the program and the fault rules to FILE, as TAP" },
	[OPT_REPORT] = { "report", 0, "FILE.html", NULL, false,
			 "write what happened in the run to FILE.html, a page for a browser" },
	[OPT_TRACE] = { "trace", 0, "FILE", NULL, false,
			"capture that contains the packets, pcap or pcapng" },
	[OPT_NODES] = { "nodes", 0, "NAME=ADDRESS,...", NULL, false,
			"names of the nodes in the capture (default: node0, node1, ...)" },
	[OPT_CAPTURE] = { "capture", 0, "FILE", NULL, false,
			  "capture the packets of this run in FILE, as pcapng; '-' is standard "
			  "output" },
	[OPT_FILTER] = { "filter", 0, "EXPR", NULL, false,
			 "capture only Ethernet packets that a pcap-filter(7) expression selects" },
	[OPT_SNAPLEN] = { "snaplen", 0, "N", NULL, false,
			  "capture only the first N bytes of each packet" },
	[OPT_RING_SIZE] = { "ring-size", 0, "SIZE", NULL, false,
			    "begin a new file when one has SIZE bytes: FILE_00001.pcapng, ..." },
	[OPT_RING_FILES] = { "ring-files", 0, "N", NULL, false,
			     "keep only the last N of these files" },
	[OPT_LOSSY] = { "lossy", 0, NULL, NULL, false,
			"leave packets out of the capture, and count them, instead of blocking "
			"senders" },
	[OPT_CHROME] = { "chrome", 0, "FILE", NULL, false,
			 "write FILE for Perfetto and Chrome, compressed if it is called *.gz" },
	[OPT_BATCH] = { "batch", 'b', NULL, NULL, false, "print samples as text" },
	[OPT_INTERVAL] = { "interval", 'd', "MS", NULL, false,
			   "milliseconds between two samples (default: 1000)" },
	[OPT_COUNT_SAMPLES] = { "count", 'n', "N", NULL, false,
				"with --batch, end after N samples" },
	[OPT_LADDER] = { "ladder", 0, NULL, NULL, false,
			 "print entries as arrows between programs, in the order of time" },
	[OPT_FORMAT] = { "format", 0, "text|svg|mermaid", NULL, false,
			 "format of the ladder diagram (default: text)" },
	[OPT_DATA] = { "data", 0, NULL, NULL, false,
		       "include message payloads and the contents of memory" },
	[OPT_PACE] = { "pace", 0, "fast|recorded", NULL, false,
		       "play as fast as the recorded order allows (fast, the default) or at the "
		       "recorded times" },
	[OPT_REAL] = { "real", 0, "[=DEVICE,...|auto]", "RDMAEMU_REAL", false,
		       "use the machine's own RDMA devices, all or these, not those of a fabric; "
		       "with auto, the emulator if there are none" },
	[OPT_REAL_DIRECT] = { "real-direct", 0, "allow|hide|refuse", "RDMAEMU_REAL_DIRECT", false,
			      "whether a program on real devices may use them past libibverbs, by "
			      "libmlx5 or libefa (default: allow)" },
	[OPT_EMULATE] = { "emulate", 0, NULL, NULL, false,
			  "with --real: emulated devices next to the real ones" },
	[OPT_TIMEOUT] = { "timeout", 0, "SECONDS", NULL, false,
			  "longest time that a call may wait (default: 60)" },
	[OPT_OUT] = { "out", 'o', "DIR", NULL, false,
		      "write the trace to DIR, a new directory or one that is being recorded" },
	[OPT_WIRE] = { "capture", 0, NULL, NULL, false,
		       "also capture the packets, in DIR/wire.pcapng" },
	[OPT_PAYLOAD] = { "payload", 0, "full|hash|none", "RDMAEMU_RECORD_PAYLOAD", false,
			  "how much of messages and memory to record (default: full)" },
	[OPT_ERF] = { "erf", 0, NULL, NULL, false,
		      "give InfiniBand packets ERF headers, which Wireshark decodes" },
	[OPT_AS] = { "as", 0, "PROGRAM", NULL, false,
		     "play only this program, a name or p1, p2, ..., against a live one" },
	[OPT_IGNORE] = { "ignore", 0, "FIELD,...", NULL, false,
			 "leave these fields out of the comparison: wr_id, status, opcode, "
			 "byte_len, imm, wc_flags, payload, src_qp, memory" },
	[OPT_CAPABILITIES] = { "capabilities", 0, NULL, NULL, false,
			       "compare all capabilities of devices, also of devices of different "
			       "kinds" },
	[OPT_MODE] = { "mode", 0, "none|once|new_episodes|all", NULL, false,
		       "with --as, where the answers come from: the record (none, the default), "
		       "the record, which is made if there is none (once), the real program for "
		       "what the record lacks (new_episodes), or always the real program (all)" },
	[OPT_COMMAND] = { "command", 0, "COMMAND", NULL, false,
			  "command line of the real program, for sh(1) (default: as recorded)" },
	[OPT_LIVE_NODE] = { "live-node", 0, "NODE", NULL, false,
			    "node of the live program if there is no record; --node is that of the "
			    "real one" },
	[OPT_LIVE_FIRST] = { "live-first", 0, NULL, NULL, false,
			     "if there is no record, the live program listens and the real one "
			     "connects" },
	[OPT_UNEXPECTED] = { "unexpected", 0, "fail|wait|ignore", NULL, false,
			     "with --as, what to do with a completion or event that was not "
			     "recorded (default: fail)" },
	[OPT_INJECT] = { "inject", 0, NULL, NULL, false,
			 "send the packets of a capture to a queue pair, as its peer" },
	[OPT_FROM] = { "from", 0, "NODE", NULL, false,
		       "node that the packets come from, created if it is new (default: the "
		       "peer's)" },
	[OPT_SCRIPT] = { "script", 0, "FILE", NULL, false,
			 "read from FILE which packets to send and which to expect (default: send "
			 "all, print what comes back)" },
	[OPT_AS_IS] = { "as-is", 0, NULL, NULL, false, "send the packets unchanged" },
	[OPT_MR] = { "mr", 0, "N", NULL, false,
		     "memory region that the first key in the packets stands for, counted from 1 "
		     "(default: 1)" },
	[OPT_CHECK] = { "check", 0, "[=NAME,...]", FINDING_LIST_ENV, false,
			"report what the program does wrong with verbs: errors and warnings, or "
			"these findings" },
	[OPT_CHECK_EXIT] = { "check-exit", 0, "STATUS", NULL, false,
			     "exit status if the check finds errors (default: 99); 0 is that of "
			     "the program" },
	[OPT_CHECK_SUPPRESS] = { "check-suppress", 0, "FILE", "RDMAEMU_CHECK_SUPPRESS", false,
				 "leave out the findings that FILE names" },
	[OPT_CHECK_JSON] = { "check-json", 0, "FILE", NULL, false,
			     "also write the findings to FILE, as JSON" },
	[OPT_CHECK_SARIF] = { "check-sarif", 0, "FILE", NULL, false,
			      "also write the findings to FILE, as SARIF 2.1.0" },
	[OPT_GEN_SUPPRESSIONS] = { "gen-suppressions", 0, NULL, NULL, false,
				   "print after each finding the line that suppresses it" },
	[OPT_LEND] = { "lend", 0, "[=auto]", NULL, false,
		       "let programs lend all registered memory: others copy it without system "
		       "calls; with auto, the default, where it is cheap and stops no thread" },
	[OPT_NO_LEND] = { "no-lend", 0, NULL, NULL, false,
			  "let them keep it, whatever RDMAEMU_LEND says" },
	[OPT_MEMBER] = { "member", 0, "NAME", NULL, false,
			 "ask the fabric of that name that this one has joined with, through this "
			 "one" },
	[OPT_JOINED] = { "joined", 0, NULL, NULL, false,
			 "the fabrics that this one has joined with, on all hosts, as well" },
	[OPT_HELP] = { "help", 'h', NULL, NULL, false, "print this help" },
};

int print_error(const char *fmt, ...)
{
	char line[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "rdmaemu: %s\n", line);
	return -1;
}

void opts_init(struct opts *o)
{
	memset(o, 0, sizeof(*o));
	snprintf(o->fabric, sizeof(o->fabric), "default");
	o->linger_ms = LINGER_MS_RUN;
	o->timeout = 60;
	o->interval_ms = 1000;
	o->seed = SEED_DEFAULT;
	o->ppm = CLOCK_PPM;
	o->check_exit = EXIT_CHECK;
	snprintf(o->profile, sizeof(o->profile), "generic");
}

/* Store @value unless a higher level has set it. Return: what was expected of it, or NULL. */
static const char *opts_set(struct opts *o, enum opt_id id, const char *value, enum opt_level level)
{
	const char *expected;

	if (o->level[id] > level)
		return NULL;
	expected = opt_store(o, id, value);
	if (!expected)
		o->level[id] = (u8)level;
	return expected;
}

static int opts_find(const char *name, size_t n, opt_set allowed)
{
	int id;

	for (id = 0; id < OPT_COUNT; id++)
		if ((allowed & OPT_BIT(id)) && strlen(opt_defs[id].name) == n &&
		    !strncmp(opt_defs[id].name, name, n))
			return id;
	return -1;
}

const struct opt_def *opts_def(enum opt_id id)
{
	return &opt_defs[id];
}

/* The value of an option that is given without one. */
static const char *opts_omitted_value(enum opt_id id)
{
	if (id == OPT_PROMETHEUS)
		return "openmetrics";
	return id == OPT_CHAOS ? CHAOS_RANDOM : "yes";
}

/* The option that a word names: --NAME, --NAME=VALUE or -LETTER. Return: -1: none of @allowed. */
static int opts_find_flag(const char *arg, opt_set allowed)
{
	int id;

	if (arg[1] == '-')
		return opts_find(arg + 2, strcspn(arg + 2, "="), allowed);
	for (id = 0; id < OPT_COUNT; id++)
		if ((allowed & OPT_BIT(id)) && opt_defs[id].letter &&
		    arg[1] == opt_defs[id].letter && !arg[2])
			return id;
	return -1;
}

/* Return: -1. */
static int opts_print_unknown(const char *verb, const char *arg, opt_set allowed)
{
	struct suggestion s = { 0 };
	int id;

	for (id = 0; id < OPT_COUNT && !strncmp(arg, "--", 2); id++)
		if (allowed & OPT_BIT(id))
			suggest_compare(&s, arg + 2, strcspn(arg + 2, "="), opt_defs[id].name,
					strlen(opt_defs[id].name));
	if (s.word)
		return print_error("%s: unknown option '%s': did you mean '--%s'?", verb, arg,
				   s.word);
	return print_error("%s: unknown option '%s'; see 'rdmaemu %s --help'", verb, arg, verb);
}

int opts_parse(struct opts *o, const char *verb, opt_set allowed, int argc, char **argv)
{
	const char *arg, *value, *eq, *expected;
	int i, id;

	for (i = 0; i < argc; i++) {
		arg = argv[i];
		if (arg[0] != '-' || !arg[1])
			return i;
		if (!strcmp(arg, "--"))
			return i + 1;
		eq = arg[1] == '-' ? strchrnul(arg, '=') : "";
		id = opts_find_flag(arg, allowed);
		if (id < 0)
			return opts_print_unknown(verb, arg, allowed);
		if (!opt_defs[id].arg) {
			if (*eq)
				return print_error("%s: option '--%s' takes no value", verb,
						   opt_defs[id].name);
			value = "yes";
		} else if (*eq) {
			value = eq + 1;
		} else if (opt_defs[id].arg[0] == '[') {
			value = opts_omitted_value((enum opt_id)id);
		} else if (i + 1 < argc) {
			value = argv[++i];
		} else {
			return print_error("%s: option '%s' needs a value: %s", verb, arg,
					   opt_defs[id].arg);
		}
		expected = opts_set(o, (enum opt_id)id, value, LEVEL_FLAG);
		if (expected)
			return print_error("%s: --%s '%s': expected %s", verb, opt_defs[id].name,
					   value, expected);
	}
	return i;
}

int opts_env(struct opts *o)
{
	const char *value, *expected;
	int id;

	for (id = 0; id < OPT_COUNT; id++) {
		value = opt_defs[id].env ? getenv(opt_defs[id].env) : NULL;
		if (!value || !*value)
			continue;
		expected = opts_set(o, (enum opt_id)id, value, LEVEL_ENV);
		if (expected)
			return print_error("%s='%s': expected %s", opt_defs[id].env, value,
					   expected);
	}
	return 0;
}

void opts_env_clear(opt_set keep)
{
	int id;

	for (id = 0; id < OPT_COUNT; id++)
		if (opt_defs[id].env && !(keep & OPT_BIT(id)))
			unsetenv(opt_defs[id].env);
}

static char *opts_trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return s;
}

static int opts_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *opts_file_keys(const char *last, char *text, size_t size)
{
	const char *keys[OPT_COUNT] = { NULL };
	size_t n = 0, i, len = 0;
	int id;

	for (id = 0; id < OPT_COUNT; id++)
		if (opt_defs[id].in_file)
			keys[n++] = opt_defs[id].name;
	qsort(keys, n, sizeof(keys[0]), opts_compare_names);
	for (i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
			text + len, size - len, "%s%s%s%s", i ? i + 1 < n ? ", " : " " : "",
			i && i + 1 == n ? last : "", i && i + 1 == n ? " " : "", keys[i]);
	return text;
}

static int opts_parse_line(struct opts *o, const char *path, int lineno, char *line)
{
	char *key = opts_trim(line), *value, *eq;
	const char *expected;
	char keys[256];
	int id;

	if (!*key || *key == '#')
		return 0;
	eq = strchr(key, '=');
	if (!eq)
		return print_error("%s:%d: '%s': expected 'key = value'", path, lineno, key);
	*eq = '\0';
	value = opts_trim(eq + 1);
	key = opts_trim(key);
	id = opts_find(key, strlen(key), ~0ULL);
	if (id < 0 || !opt_defs[id].in_file)
		return print_error("%s:%d: unknown key '%s': expected %s", path, lineno, key,
				   opts_file_keys("or", keys, sizeof(keys)));
	expected = opts_set(o, (enum opt_id)id, value, LEVEL_FILE);
	if (expected)
		return print_error("%s:%d: %s = '%s': expected %s", path, lineno, key, value,
				   expected);
	return 0;
}

int opts_file(struct opts *o, const char *path, bool must)
{
	char line[PATH_MAX];
	int lineno = 0, ret = 0;
	FILE *file = fopen(path, "re");

	if (!file) {
		if (!must && errno == ENOENT)
			return 0;
		return print_error("%s: %s", path, strerror(errno));
	}
	while (!ret && fgets(line, sizeof(line), file)) {
		lineno++;
		if (!strchr(line, '\n') && !feof(file))
			ret = print_error("%s:%d: line too long", path, lineno);
		else
			ret = opts_parse_line(o, path, lineno, line);
	}
	if (!ret && ferror(file))
		ret = print_error("%s: %s", path, strerror(errno));
	fclose(file);
	return ret;
}
