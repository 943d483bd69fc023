/* SPDX-License-Identifier: MIT */
/**
 * DOC: the table of verbs.
 */
#include "fabric/cli/verbs.h"
#include "fabric/cli/cli.h"

#define RULES (OPT_BIT(OPT_SCENARIO) | OPT_BIT(OPT_DRY_RUN))
#define CHECK                                                                                      \
	(OPT_BIT(OPT_CHECK) | OPT_BIT(OPT_CHECK_EXIT) | OPT_BIT(OPT_CHECK_SUPPRESS) |              \
	 OPT_BIT(OPT_CHECK_JSON) | OPT_BIT(OPT_CHECK_SARIF) | OPT_BIT(OPT_GEN_SUPPRESSIONS))
#define LEND  (OPT_BIT(OPT_LEND) | OPT_BIT(OPT_NO_LEND))
#define PORTS (OPT_BIT(OPT_NODE) | OPT_BIT(OPT_DEVICE) | OPT_BIT(OPT_PORT))

#define PORTS_NODE "only ports of this node (default: all)"

static const struct verb verbs[] = {
	{ .name = "run",
	  .args = "[OPTION]... [--] PROGRAM [ARG]...",
	  .summary = "Run a program on a fabric, which it starts if needed",
	  .help = "rdmaemu becomes the program and passes on its exit status, its signals and its "
		  "terminal. With --explain, --check, --capture, --junit, --tap, --report or fault "
		  "rules it stays as the program's parent, and passes them on all the same.\n"
		  "A fabric that a run has started begins anew for the next one when no program "
		  "is left on it.\n"
		  "With --real nothing is preloaded and no fabric is used: the program sees what "
		  "it would see without rdmaemu. With fault rules as well, its calls and work "
		  "requests fail as they say, and with --explain a fabric keeps the journal of "
		  "those that fail. With --emulate the program has real and emulated devices in "
		  "one list; all other options are about the emulated ones then.\n"
		  "Exit status of rdmaemu itself: 2 if there is no device for --real; 99 if "
		  "--check has found errors; 123 if a fault rule that must fire did not, "
		  "whatever the program's status; 125 if the fabric cannot be used, or if the "
		  "capture failed and the program did not; 126 if the program cannot be executed; "
		  "127 if there is no such program.",
	  .flags = VERB_COMMON | VERB_NEW_FABRIC | RULES | VERB_CAPTURE | OPT_BIT(OPT_NODE) |
		   OPT_BIT(OPT_EXPLAIN) | OPT_BIT(OPT_MUST_FIRE) | OPT_BIT(OPT_FRESH) |
		   OPT_BIT(OPT_CONTROL) | OPT_BIT(OPT_REAL) | OPT_BIT(OPT_REAL_DIRECT) |
		   OPT_BIT(OPT_EMULATE) | OPT_BIT(OPT_JUNIT) | OPT_BIT(OPT_TAP) |
		   OPT_BIT(OPT_REPORT) | CHECK | LEND,
	  .group = GROUP_RUN,
	  .arg = ARG_PROGRAM,
	  .expected = "a program",
	  .run = verb_run },
	{ .name = "record",
	  .args = "-o DIR [OPTION]... [--] PROGRAM [ARG]...",
	  .summary = "Run a program and record its verbs calls in a trace",
	  .help = "The trace has the program's calls of libibverbs and librdmacm, their results, "
		  "and what its registered memory contains, for 'rdmaemu trace' and 'rdmaemu "
		  "replay'. Programs that are recorded at the same time may share a directory.",
	  .flags = VERB_COMMON | VERB_NEW_FABRIC | RULES | OPT_BIT(OPT_NODE) |
		   OPT_BIT(OPT_EXPLAIN) | OPT_BIT(OPT_FRESH) | OPT_BIT(OPT_CONTROL) |
		   OPT_BIT(OPT_OUT) | OPT_BIT(OPT_PAYLOAD) | OPT_BIT(OPT_REAL) |
		   OPT_BIT(OPT_REAL_DIRECT) | OPT_BIT(OPT_WIRE) | OPT_BIT(OPT_REPORT) | LEND,
	  .group = GROUP_RUN,
	  .arg = ARG_PROGRAM,
	  .expected = "a program",
	  .run = verb_record },
	{ .name = "doctor",
	  .args = "[OPTION]... [--] [PROGRAM [ARG]...]",
	  .summary = "Check whether this machine and a program can work",
	  .help = "It checks versions, limits, seccomp, namespaces and the state directory, "
		  "measures "
		  "what copies between processes cost, and opens a device on a fabric of its own. "
		  "It does not run PROGRAM, but says whether the device can be preloaded into it. "
		  "A bug report needs its output.\n"
		  "Exit status 0 if all can work, 1 if something fails.",
	  .flags = OPT_BIT(OPT_DIR) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP),
	  .group = GROUP_RUN,
	  .arg = ARG_PROGRAM,
	  .own_state = true,
	  .run = verb_doctor },
	{ .name = "fabric start",
	  .args = "[OPTION]...",
	  .summary = "Start a fabric that stays until 'fabric stop'",
	  .help = "With --linger it stops so long after its last program has ended. A fabric that "
		  "is already running stays from now on.",
	  .flags = VERB_COMMON | VERB_NEW_FABRIC | RULES,
	  .group = GROUP_FABRIC,
	  .run = verb_fabric_start },
	{ .name = "fabric stop",
	  .args = "[OPTION]...",
	  .summary = "Stop a fabric; its programs see their devices fail",
	  .flags = VERB_COMMON,
	  .group = GROUP_FABRIC,
	  .run = verb_fabric_stop },
	{ .name = "fabric status",
	  .args = "[OPTION]...",
	  .summary = "Report in one line whether a fabric is running",
	  .help = "Exit status 0 if it is running, 1 if not.",
	  .flags = VERB_COMMON,
	  .group = GROUP_FABRIC,
	  .run = verb_fabric_status },
	{ .name = "status",
	  .args = "[OPTION]...",
	  .summary = "Show a fabric's nodes, devices, programs and queue pairs",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_AUDIT) | OPT_BIT(OPT_VERBOSE) |
		   OPT_BIT(OPT_PROMETHEUS) | OPT_BIT(OPT_MEMBER),
	  .group = GROUP_FABRIC,
	  .run = verb_status },
	{ .name = "top",
	  .args = "[OPTION]... [FABRIC]...",
	  .summary = "Watch a fabric's queue pairs, rules and journal, as top(1)",
	  .help = "In a terminal it shows queue pairs with rates, and the keys at the bottom. With "
		  "--batch it prints the same as text. FABRICs of this machine stand in one table, "
		  "and "
		  "with --joined those of other hosts that have joined.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_BATCH) | OPT_BIT(OPT_INTERVAL) |
		   OPT_BIT(OPT_COUNT_SAMPLES) | OPT_BIT(OPT_JOINED),
	  .group = GROUP_FABRIC,
	  .arg = ARG_VALUE,
	  .run = verb_top },
	{ .name = "log",
	  .args = "[OPTION]...",
	  .summary = "Show errors and drops of a fabric, each with its cause",
	  .help = "The journal has error completions, asynchronous events and failed connections, "
		  "and what led to them: dropped packets, retransmissions and NAKs. Times are "
		  "seconds since the fabric's start. Without a running fabric the journal of the "
		  "last one is shown.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_NODE) | OPT_BIT(OPT_PROGRAM) |
		   OPT_BIT(OPT_QP) | OPT_BIT(OPT_FOLLOW) | OPT_BIT(OPT_LAST) |
		   OPT_BIT(OPT_VERBOSE) | OPT_BIT(OPT_LADDER) | OPT_BIT(OPT_FORMAT) |
		   OPT_BIT(OPT_MEMBER),
	  .group = GROUP_FABRIC,
	  .node_help = "only entries about this node",
	  .no_env = OPT_BIT(OPT_NODE),
	  .run = verb_log },
	{ .name = "report",
	  .args = "[OPTION]... PAGE.html [FILE|DIR]...",
	  .summary = "Make a page for a browser of what happened",
	  .help = "It has what went wrong and why, rules, completions, packets as a ladder, rates, "
		  "latencies, memory and the journal. FILEs are captures, kept journals and JSON "
		  "of "
		  "'rdmaemu log', 'fault list', 'status' and 'run --check-json', and DIRs traces. "
		  "Without any it is about the fabric that is running, or has ended last. The page "
		  "needs no network and no other file.\n"
		  "'rdmaemu run --report' makes such a page of a run.",
	  .flags = VERB_COMMON,
	  .group = GROUP_FABRIC,
	  .arg = ARG_FILE,
	  .parse = PARSE_ANYWHERE,
	  .expected = "a name for the page, which ends in .html",
	  .run = verb_report },
	{ .name = "port up",
	  .args = "[OPTION]...",
	  .summary = "Bring ports up: IBV_EVENT_PORT_ACTIVE, packets pass again",
	  .flags = VERB_COMMON | PORTS,
	  .group = GROUP_CHANGE,
	  .node_help = PORTS_NODE,
	  .run = verb_port_up },
	{ .name = "port down",
	  .args = "[OPTION]...",
	  .summary = "Take ports down: IBV_EVENT_PORT_ERR, packets are lost",
	  .flags = VERB_COMMON | PORTS,
	  .group = GROUP_CHANGE,
	  .node_help = PORTS_NODE,
	  .run = verb_port_down },
	{ .name = "port lid",
	  .args = "[OPTION]... LID",
	  .summary = "Give an InfiniBand port another LID: IBV_EVENT_LID_CHANGE",
	  .flags = VERB_COMMON | PORTS,
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .expected = "a LID",
	  .node_help = PORTS_NODE,
	  .run = verb_port_lid },
	{ .name = "port pkey",
	  .args = "[OPTION]... INDEX PKEY",
	  .summary = "Change an entry of the P_Key table: IBV_EVENT_PKEY_CHANGE",
	  .help = "P_Key 0 empties the entry.",
	  .flags = VERB_COMMON | PORTS,
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .expected = "an index and a P_Key",
	  .node_help = PORTS_NODE,
	  .run = verb_port_pkey },
	{ .name = "port link",
	  .args = "[OPTION]... none|[delay TIME] [jitter TIME] [rate RATE] [mtu N]",
	  .summary = "Set delay, jitter, rate and MTU of links to the switch",
	  .help = "The values hold for both directions of each link. A value that is left out is "
		  "not limited.",
	  .flags = VERB_COMMON | PORTS,
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .expected = "delay, jitter, rate, mtu or none",
	  .words = "none delay jitter rate mtu",
	  .node_help = PORTS_NODE,
	  .run = verb_port_link },
	{ .name = "clock",
	  .args = "[OPTION]...",
	  .summary = "Show a fabric's clock",
	  .help = "The clock is the time since the fabric's start. Timeouts, links and timestamps "
		  "follow it.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_CHANGE,
	  .run = verb_clock },
	{ .name = "clock advance",
	  .args = "[OPTION]... TIME",
	  .summary = "Move a fabric's clock ahead, from deadline to deadline",
	  .help = "The engine does everything that is due at a deadline before the clock moves to "
		  "the next one. The command returns when the clock has arrived.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .expected = "a time",
	  .run = verb_clock_advance },
	{ .name = "clock run",
	  .args = "[OPTION]... [X]",
	  .summary = "Let a fabric's clock run, X times as fast as real time",
	  .help = "Without X it runs as fast as before.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .run = verb_clock_run },
	{ .name = "clock stop",
	  .args = "[OPTION]...",
	  .summary = "Stop a fabric's clock",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_CHANGE,
	  .run = verb_clock_stop },
	{ .name = "fault add",
	  .args = "[OPTION]... [NAME:] RULE... [; [NAME:] RULE...]...",
	  .summary = "Add fault rules to a running fabric",
	  .help = "Either all rules are added or, if one is wrong, none. rdmaemu-faults(7) "
		  "describes rules; 'rdmaemu fault --help' lists their actions.",
	  .flags = VERB_COMMON | RULES | OPT_BIT(OPT_JSON),
	  .group = GROUP_CHANGE,
	  .arg = ARG_RULES,
	  .expected = "a rule or --scenario",
	  .run = verb_fault_add },
	{ .name = "fault list",
	  .args = "[OPTION]...",
	  .summary = "Show a fabric's fault rules and how often each has hit",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_MEMBER),
	  .group = GROUP_CHANGE,
	  .run = verb_fault_list },
	{ .name = "fault remove",
	  .args = "[OPTION]... NAME...",
	  .summary = "Remove fault rules and end their effects",
	  .flags = VERB_COMMON,
	  .group = GROUP_CHANGE,
	  .arg = ARG_VALUE,
	  .expected = "a rule's name",
	  .run = verb_fault_remove },
	{ .name = "fault clear",
	  .args = "[OPTION]...",
	  .summary = "Remove all fault rules",
	  .flags = VERB_COMMON,
	  .group = GROUP_CHANGE,
	  .run = verb_fault_clear },
	{ .name = "fault try",
	  .args = "[OPTION]... --trace FILE [NAME:] RULE... [; [NAME:] RULE...]...",
	  .summary = "Show which packets of a capture fault rules would hit",
	  .help = "No fabric is needed.",
	  .flags = OPT_BIT(OPT_TRACE) | OPT_BIT(OPT_NODES) | OPT_BIT(OPT_SCENARIO) |
		   OPT_BIT(OPT_SEED) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP),
	  .group = GROUP_CHANGE,
	  .arg = ARG_RULES,
	  .expected = "a rule or --scenario",
	  .run = verb_fault_try },
	{ .name = "capture start",
	  .args = "[OPTION]... FILE",
	  .summary = "Write a running fabric's packets to a pcapng file or pipe",
	  .help = "Each packet is written once, when it enters the wire, on the interface of its "
		  "port. FILE '-' is standard output. Captures are lossless by default: senders "
		  "block while the file is slow. The command prints the capture's number.",
	  .flags = VERB_COMMON | PORTS | (VERB_CAPTURE & ~OPT_BIT(OPT_CAPTURE)),
	  .group = GROUP_PACKETS,
	  .arg = ARG_FILE,
	  .expected = "a file, or '-'",
	  .node_help = "only ports of this node, or all (the default)",
	  .run = verb_capture_start },
	{ .name = "capture stop",
	  .args = "[OPTION]... [NUMBER]...",
	  .summary = "End captures (default: all)",
	  .help = "The command returns when all packets are in their files.",
	  .flags = VERB_COMMON,
	  .group = GROUP_PACKETS,
	  .arg = ARG_VALUE,
	  .run = verb_capture_stop },
	{ .name = "capture list",
	  .args = "[OPTION]...",
	  .summary = "Show a fabric's captures and what they have written",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_PACKETS,
	  .run = verb_capture_list },
	{ .name = "capture status",
	  .args = "[OPTION]...",
	  .summary = "The same as 'capture list'",
	  .flags = VERB_COMMON | OPT_BIT(OPT_JSON),
	  .group = GROUP_PACKETS,
	  .alias = true,
	  .run = verb_capture_list },
	{ .name = "replay",
	  .args = "[OPTION]... FILE --inject",
	  .summary = "Send a capture's packets to a queue pair, as its peer",
	  .help = "The packets that the queue pair sends back are compared with a script, see "
		  "rdmaemu-inject(7). Exit status 1 if they differ.",
	  .flags = VERB_COMMON | PORTS | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_PROGRAM) |
		   OPT_BIT(OPT_QP) | OPT_BIT(OPT_INJECT) | OPT_BIT(OPT_FROM) | OPT_BIT(OPT_SCRIPT) |
		   OPT_BIT(OPT_AS_IS) | OPT_BIT(OPT_MR),
	  .selector = OPT_INJECT,
	  .group = GROUP_PACKETS,
	  .arg = ARG_FILE,
	  .parse = PARSE_AROUND_FIRST,
	  .expected = "a capture, pcap or pcapng",
	  .node_help = "only queue pairs of this node",
	  .no_env = OPT_BIT(OPT_NODE),
	  .run = verb_inject },
	{ .name = "trace show",
	  .args = "[OPTION]... DIR",
	  .summary = "Print a trace of verbs, call by call",
	  .flags = OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_DATA) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP),
	  .group = GROUP_TRACES,
	  .arg = ARG_DIR,
	  .parse = PARSE_ANYWHERE,
	  .expected = "a trace directory",
	  .run = verb_trace_show },
	{ .name = "trace stat",
	  .args = "[OPTION]... DIR",
	  .summary = "Count a trace's calls, work requests, bytes and completions",
	  .help = "It prints completions by status, empty polls, and the time from posting a work "
		  "request to its completion, for each program.",
	  .flags = OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP),
	  .group = GROUP_TRACES,
	  .arg = ARG_DIR,
	  .parse = PARSE_ANYWHERE,
	  .expected = "a trace directory",
	  .run = verb_trace_stat },
	{ .name = "trace ladder",
	  .args = "[OPTION]... FILE",
	  .summary = "Draw a capture's packets as arrows between hosts",
	  .help = "It reads pcap and pcapng, of a fabric or of other devices. In captures of a "
		  "fabric hosts have their nodes' names, and packets that did not arrive are "
		  "shown, "
		  "with the reason.",
	  .flags = OPT_BIT(OPT_QP) | OPT_BIT(OPT_FORMAT) | OPT_BIT(OPT_HELP),
	  .group = GROUP_TRACES,
	  .arg = ARG_FILE,
	  .parse = PARSE_ANYWHERE,
	  .expected = "a capture, pcap or pcapng",
	  .run = verb_trace_ladder },
	{ .name = "trace export",
	  .args = "--chrome FILE [OPTION]... DIR",
	  .summary = "Convert a trace for Perfetto and Chrome's about:tracing",
	  .help = "Programs are processes. Their calls are slices, work requests asynchronous "
		  "slices, and messages arrows from a post to the poll that found the receive.",
	  .flags = OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_CHROME) | OPT_BIT(OPT_HELP),
	  .group = GROUP_TRACES,
	  .arg = ARG_DIR,
	  .parse = PARSE_ANYWHERE,
	  .expected = "a trace directory",
	  .run = verb_trace_export },
	{ .name = "trace diff",
	  .args = "[OPTION]... DIR DIR",
	  .summary = "Compare two traces, except what varies from run to run",
	  .help = "Exit status 1 if they differ. What differs because the devices do, as those "
		  "of a run on hardware and of one on the emulator, is printed after the "
		  "differences, with '~', and does not count.",
	  .flags = OPT_BIT(OPT_DATA) | OPT_BIT(OPT_CAPABILITIES) | OPT_BIT(OPT_JSON) |
		   OPT_BIT(OPT_HELP),
	  .group = GROUP_TRACES,
	  .arg = ARG_DIR,
	  .parse = PARSE_ANYWHERE,
	  .expected = "two trace directories",
	  .run = verb_trace_diff },
	{ .name = "replay",
	  .args = "[OPTION]... DIR [--as PROGRAM -- OTHER [ARG]...]",
	  .summary = "Repeat a trace's calls on a fresh fabric and compare",
	  .help = "The fabric is like the recorded one. All programs of the trace are played, or "
		  "with --as one of them, against the live program OTHER. The first divergence is "
		  "printed with both sides; exit status 1.\n"
		  "With --json the output of OTHER goes to standard error.\n"
		  "'rdmaemu replay --inject --help' describes how to send a capture's packets.",
	  .flags = VERB_COMMON | OPT_BIT(OPT_PROFILE) | OPT_BIT(OPT_SEED) | OPT_BIT(OPT_SCENARIO) |
		   OPT_BIT(OPT_TOPOLOGY) | OPT_BIT(OPT_SUBNET) | OPT_BIT(OPT_CHAOS) |
		   OPT_BIT(OPT_ISOLATED) | OPT_BIT(OPT_PACE) | OPT_BIT(OPT_REAL) |
		   OPT_BIT(OPT_TIMEOUT) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_AS) |
		   OPT_BIT(OPT_IGNORE) | OPT_BIT(OPT_CAPABILITIES) | OPT_BIT(OPT_MODE) |
		   OPT_BIT(OPT_COMMAND) | OPT_BIT(OPT_NODE) | OPT_BIT(OPT_LIVE_NODE) |
		   OPT_BIT(OPT_LIVE_FIRST) | OPT_BIT(OPT_UNEXPECTED) | OPT_BIT(OPT_INJECT),
	  .group = GROUP_TRACES,
	  .arg = ARG_DIR,
	  .parse = PARSE_AROUND_FIRST,
	  .expected = "a trace directory",
	  .node_help = "node of the real program if there is no record",
	  .no_env = OPT_BIT(OPT_REAL),
	  .run = verb_replay },
	{ .name = "completion",
	  .args = "bash|zsh|fish",
	  .summary = "Print a shell's completion script for this command",
	  .help = "'make install' puts the scripts where the shells look for them.",
	  .flags = OPT_BIT(OPT_HELP),
	  .group = GROUP_SHELL,
	  .arg = ARG_VALUE,
	  .expected = "bash, zsh or fish",
	  .words = "bash zsh fish",
	  .run = verb_completion },
};

const struct verb *verb_at(size_t i)
{
	return i < ARRAY_SIZE(verbs) ? &verbs[i] : NULL;
}

size_t verb_group_len(const struct verb *v)
{
	const char *space = strchr(v->name, ' ');

	return space ? (size_t)(space - v->name) : 0;
}

bool verb_is_in_group(const struct verb *v, const char *group)
{
	size_t n = verb_group_len(v);

	return n && strlen(group) == n && !strncmp(group, v->name, n);
}

bool verb_is_group(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verb_is_in_group(&verbs[i], word))
			return true;
	return false;
}

const char *verb_first_word(size_t i, char word[VERB_WORD_MAX])
{
	size_t n = strcspn(verbs[i].name, " "), k;

	for (k = 0; k < i; k++)
		if (strcspn(verbs[k].name, " ") == n && !strncmp(verbs[k].name, verbs[i].name, n))
			return NULL;
	snprintf(word, VERB_WORD_MAX, "%.*s", (int)n, verbs[i].name);
	return word;
}

/* How many words of the command line are the verb's name: 1 or 2, or 0 if it is not called. */
static int verb_match_words(const struct verb *v, int argc, char **argv)
{
	if (!verb_group_len(v))
		return !strcmp(argv[0], v->name) ? 1 : 0;
	if (argc < 2 || !verb_is_in_group(v, argv[0]))
		return 0;
	return !strcmp(argv[1], v->name + verb_group_len(v) + 1) ? 2 : 0;
}

/* Two verbs are called replay: the option --inject tells them apart. */
static bool verb_is_selected(const struct verb *v, int argc, char **argv)
{
	int i;

	if (!v->selector)
		return true;
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, opts_def(v->selector)->name))
			return true;
	return false;
}

/* "clock stop" is preferred to "clock": of two matches, the one of more words. */
const struct verb *verb_find(int argc, char **argv, int *words)
{
	const struct verb *found = NULL;
	size_t i;
	int n;

	*words = 0;
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		n = verb_match_words(&verbs[i], argc, argv);
		if (n > *words && verb_is_selected(&verbs[i], argc, argv)) {
			found = &verbs[i];
			*words = n;
		}
	}
	return found;
}

const char *verb_option_help(const struct verb *v, enum opt_id id)
{
	return id == OPT_NODE && v->node_help ? v->node_help : opts_def(id)->help;
}

const char *verb_group_title(enum verb_group group)
{
	static const char *const titles[GROUP_COUNT] = {
		[GROUP_RUN] = "Run programs",
		[GROUP_FABRIC] = "Start, stop and inspect fabrics",
		[GROUP_CHANGE] = "Change a running fabric: ports, clock, faults",
		[GROUP_PACKETS] = "Capture and send packets",
		[GROUP_TRACES] = "Inspect and replay recorded programs",
		[GROUP_SHELL] = "Shell",
	};

	return titles[group];
}
