/* SPDX-License-Identifier: MIT */
/**
 * DOC: settings: one table names each as flag, as variable and as key of a file.
 */
#include "fabric/common/opts_store.h"
#include "fabric/proto/proto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * struct opt_def - one setting.
 * @name: the flag without its dashes, and the key in a file
 * @arg: name of its argument, or NULL for a switch
 * @env: variable, or NULL
 * @in_file: may stand in a file
 */
static const struct opt_def {
	const char *name;
	const char *arg;
	const char *env;
	bool in_file;
	const char *help;
} opt_defs[OPT_COUNT] = {
	[OPT_FABRIC] = { "fabric", "NAME", "RDMAEMU_FABRIC", true,
			 "the fabric's name (default: default)" },
	[OPT_DIR] = { "dir", "DIR", "RDMAEMU_DIR", false,
		      "directory of sockets and state, private to its user" },
	[OPT_CONFIG] = { "config", "FILE", "RDMAEMU_CONFIG", false,
			 "file of settings (default: DIR/config)" },
	[OPT_ISOLATED] = { "isolated", NULL, "RDMAEMU_ISOLATED", true,
			   "programs may not reach each other's state; slower" },
	[OPT_LINGER] = { "linger", "MS", "RDMAEMU_LINGER", true,
			 "milliseconds a fabric stays after its last program" },
	[OPT_SEED] = { "seed", "N", "RDMAEMU_SEED", true,
		       "seed of all random decisions (default: 1)" },
	[OPT_FIRST_MR] = { "first-mr", "N", NULL, false,
			   "index of the first memory region's keys (default: 1)" },
	[OPT_PROFILE] = { "profile", "NAME|FILE", "RDMAEMU_PROFILE", true,
			  "what the fabric's devices are like, see rdmaemu-profile(5)" },
	[OPT_NODE] = { "node", "NAME", PROTO_NODE_ENV, false,
		       "the node: where to run (made when first named; default: node0, the host), "
		       "or all" },
	[OPT_SUBNET] = { "subnet", "ADDR/BITS", "RDMAEMU_SUBNET", true,
			 "where nodes' addresses come from (default: 10.77.0.0/16,fd77::/64)" },
	[OPT_TOPOLOGY] = { "topology", "FILE", "RDMAEMU_TOPOLOGY", true,
			   "the fabric's nodes, see rdmaemu-topology(5)" },
	[OPT_LISTEN] = { "listen", "ADDR:PORT", "RDMAEMU_LISTEN", true,
			 "take in other fabrics there, by TCP" },
	[OPT_JOIN] = { "join", "HOST:PORT,...", "RDMAEMU_JOIN", true,
		       "become one fabric with those that listen there" },
	[OPT_TOKEN_FILE] = { "token-file", "FILE", "RDMAEMU_TOKEN_FILE", true,
			     "the secret that joined fabrics share" },
	[OPT_NAME] = { "name", "NAME", "RDMAEMU_NAME", true,
		       "what others call this host (default, if joined: its hostname)" },
	[OPT_TIME_SCALE] = { "time-scale", "X", "RDMAEMU_TIME_SCALE", true,
			     "fabric time runs X times as fast as real time" },
	[OPT_CLOCK] = { "clock", "run|manual", "RDMAEMU_CLOCK", true,
			"manual: fabric time stands until 'rdmaemu clock' moves it" },
	[OPT_CHAOS] = { "chaos", "[=SEED]", "RDMAEMU_CHAOS", true,
			"no faults, but what may be in any order is (default seed: random)" },
	[OPT_DEVICE] = { "device", "NAME", NULL, false, "the device (default: all)" },
	[OPT_PORT] = { "port", "N", NULL, false, "the device's port (default: all)" },
	[OPT_JSON] = { "json", NULL, NULL, false, "print JSON" },
	[OPT_AUDIT] = { "audit", NULL, NULL, false, "also check the HCA's memory for consistency" },
	[OPT_SCENARIO] = { "scenario", "FILE", "RDMAEMU_SCENARIO", true,
			   "rules of faults, see rdmaemu-faults(7)" },
	[OPT_DRY_RUN] = { "dry-run", NULL, NULL, false,
			  "only say which rules of faults would be set" },
	[OPT_PROGRAM] = { "program", "NAME|PID", NULL, false, "only what is about this program" },
	[OPT_QP] = { "qp", "N", NULL, false, "only what is about the queue pair of this number" },
	[OPT_FOLLOW] = { "follow", NULL, NULL, false, "go on with what happens from now on" },
	[OPT_EXPLAIN] = { "explain", NULL, NULL, false,
			  "when the program ends, say what went wrong and why" },
	[OPT_TRACE] = { "trace", "FILE", NULL, false, "a capture, pcap or pcapng" },
	[OPT_NODES] = { "nodes", "NAME=ADDRESS,...", NULL, false,
			"what the trace's nodes are called (default: node0, node1, ...)" },
	[OPT_CAPTURE] = { "capture", "FILE", NULL, false,
			  "write the packets of this run, as pcapng; -: to standard output" },
	[OPT_FILTER] = { "filter", "EXPR", NULL, false,
			 "capture only what pcap-filter(7) says (Ethernet)" },
	[OPT_SNAPLEN] = { "snaplen", "N", NULL, false, "capture so many bytes of each packet" },
	[OPT_RING_SIZE] = { "ring-size", "SIZE", NULL, false,
			    "capture to files of at most SIZE: FILE_00001.pcapng, ..." },
	[OPT_RING_FILES] = { "ring-files", "N", NULL, false, "keep the last N of them" },
	[OPT_LOSSY] = { "lossy", NULL, NULL, false,
			"lose packets, and count them, where senders would have to wait" },
	[OPT_DATA] = { "data", NULL, NULL, false, "also what was sent and what memory held" },
	[OPT_PACE] = { "pace", "fast|recorded", NULL, false,
		       "as fast as the order allows (the default), or at the recorded times" },
	[OPT_REAL] = { "real", NULL, NULL, false,
		       "on the devices that there are, without a fabric" },
	[OPT_TIMEOUT] = { "timeout", "SECONDS", NULL, false,
			  "how long anything may be waited for (default: 60)" },
	[OPT_OUT] = { "out", "DIR", NULL, false,
		      "write the trace there (also -o DIR): a new directory, or one that is being "
		      "recorded" },
	[OPT_WIRE] = { "capture", NULL, NULL, false, "also capture the wire, in DIR/wire.pcapng" },
	[OPT_PAYLOAD] = { "payload", "full|hash|none", "RDMAEMU_RECORD_PAYLOAD", false,
			  "what is recorded of messages and memory (default: full)" },
	[OPT_ERF] = { "erf", NULL, NULL, false,
		      "InfiniBand packets with headers of ERF's, which Wireshark reads" },
	[OPT_AS] = { "as", "PROGRAM", NULL, false,
		     "play this program alone, by name or as p1, against the live one that "
		     "follows" },
	[OPT_IGNORE] = { "ignore", "FIELD,...", NULL, false,
			 "do not compare: wr_id, status, opcode, byte_len, imm, wc_flags, payload, "
			 "src_qp, memory" },
	[OPT_CAPABILITIES] = { "capabilities", NULL, NULL, false,
			       "compare what devices have of everything, also with devices of "
			       "another kind" },
	[OPT_MODE] = { "mode", "none|once|new_episodes|all", NULL, false,
		       "with --as: play the record (none), make it if there is none (once), have "
		       "the "
		       "real program answer beyond it (new_episodes) or always (all)" },
	[OPT_COMMAND] = { "command", "COMMAND", NULL, false,
			  "the real program, for sh(1) (default: as recorded)" },
	[OPT_LIVE_NODE] = { "live-node", "NODE", NULL, false,
			    "where to run the live program if there is no record; the real one: "
			    "--node" },
	[OPT_LIVE_FIRST] = { "live-first", NULL, NULL, false,
			     "if there is no record: the live program listens, the real one "
			     "connects" },
	[OPT_UNEXPECTED] = { "unexpected", "fail|wait|ignore", NULL, false,
			     "with --as: what to do when something else comes than was recorded "
			     "(default: fail)" },
	[OPT_INJECT] = { "inject", NULL, NULL, false,
			 "send a capture's packets to a queue pair, as its peer" },
	[OPT_FROM] = { "from", "NODE", NULL, false,
		       "the node that the packets come from, made if there is none (default: the "
		       "peer's)" },
	[OPT_SCRIPT] = { "script", "FILE", NULL, false,
			 "which packets go, and what is to come back (default: all; it is "
			 "printed)" },
	[OPT_AS_IS] = { "as-is", NULL, NULL, false, "packets as they are in the file" },
	[OPT_MR] = { "mr", "N", NULL, false,
		     "the memory region that the packets' first key stands for (default: 1, the "
		     "first)" },
	[OPT_HELP] = { "help", NULL, NULL, false, "print this help" },
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
	o->seed = SEED_DEFAULT;
	o->ppm = CLOCK_PPM;
	snprintf(o->profile, sizeof(o->profile), "generic");
}

/* Stores @value unless a higher level has spoken. Returns what was expected of it, or NULL. */
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

static int opts_find(const char *name, size_t n, u64 allowed)
{
	int id;

	for (id = 0; id < OPT_COUNT; id++)
		if ((allowed & OPT_BIT(id)) && strlen(opt_defs[id].name) == n &&
		    !strncmp(opt_defs[id].name, name, n))
			return id;
	return -1;
}

int opts_parse(struct opts *o, const char *verb, u64 allowed, int argc, char **argv)
{
	const char *arg, *value, *eq, *expected;
	int i, id;

	for (i = 0; i < argc; i++) {
		arg = argv[i];
		if (arg[0] != '-' || !arg[1])
			return i;
		if (!strcmp(arg, "--"))
			return i + 1;
		if (!strcmp(arg, "-h"))
			arg = "--help";
		if (!strcmp(arg, "-o"))
			arg = "--out";
		eq = strchrnul(arg, '=');
		id = arg[1] == '-' ? opts_find(arg + 2, (size_t)(eq - arg - 2), allowed) : -1;
		if (id < 0)
			return print_error("%s: unknown option '%s'; see 'rdmaemu %s --help'", verb,
					   arg, verb);
		if (!opt_defs[id].arg) {
			if (*eq)
				return print_error("%s: option '--%s' takes no value", verb,
						   opt_defs[id].name);
			value = "yes";
		} else if (*eq) {
			value = eq + 1;
		} else if (opt_defs[id].arg[0] == '[') {
			value = CHAOS_RANDOM; /* the only one whose value may be left out */
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

void opts_env_clear(u64 keep)
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

static int opts_parse_line(struct opts *o, const char *path, int lineno, char *line)
{
	char *key = opts_trim(line), *value, *eq;
	const char *expected;
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
		return print_error(
			"%s:%d: unknown key '%s': expected chaos, clock, fabric, isolated, join, "
			"linger, listen, name, profile, scenario, seed, subnet, time-scale, "
			"token-file or topology",
			path, lineno, key);
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

void opts_usage(u64 allowed)
{
	char flag[48];
	int id;

	for (id = 0; id < OPT_COUNT; id++) {
		if (!(allowed & OPT_BIT(id)))
			continue;
		snprintf(flag, sizeof(flag), "--%s%s%s", opt_defs[id].name,
			 opt_defs[id].arg && opt_defs[id].arg[0] != '[' ? " " : "",
			 opt_defs[id].arg ? opt_defs[id].arg : "");
		printf("  %-16s  %s", flag, opt_defs[id].help);
		if (opt_defs[id].env)
			printf(" [%s]", opt_defs[id].env);
		putchar('\n');
	}
}
