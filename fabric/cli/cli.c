/* SPDX-License-Identifier: MIT */
/**
 * DOC: the `rdmaemu` command: its verbs as a table.
 */
#include "fabric/cli/cli.h"

#include <stdio.h>

#define RULES (OPT_BIT(OPT_SCENARIO) | OPT_BIT(OPT_DRY_RUN))

#define FRAMES                                                                                     \
	(OPT_BIT(OPT_FILTER) | OPT_BIT(OPT_SNAPLEN) | OPT_BIT(OPT_RING_SIZE) |                     \
	 OPT_BIT(OPT_RING_FILES) | OPT_BIT(OPT_LOSSY) | OPT_BIT(OPT_ERF))

#define PORTS (OPT_BIT(OPT_NODE) | OPT_BIT(OPT_DEVICE) | OPT_BIT(OPT_PORT))

static const struct verb verbs[] = {
	{ "run", "run [OPTION]... [--] PROGRAM [ARG]...",
	  "Run a program on a fabric, which is started if it is not running.\n"
	  "rdmaemu becomes the program: its exit status, its signals, its terminal. With "
	  "--explain\n"
	  "or --capture it stays as its parent, and these are the same.\n"
	  "Exit status if it cannot: 125 trouble with the fabric (or the capture failed, and the\n"
	  "program did not), 126 the program cannot be\n"
	  "executed, 127 there is no such program.",
	  CLI_PLACE | CLI_NEW_FABRIC | RULES | FRAMES | OPT_BIT(OPT_NODE) | OPT_BIT(OPT_EXPLAIN) |
		  OPT_BIT(OPT_CAPTURE),
	  true, verb_run },
	{ "record", "record -o DIR [OPTION]... [--] PROGRAM [ARG]...",
	  "Run a program as 'run' does, and write what it calls of libibverbs and librdmacm, with "
	  "what\n"
	  "comes of it and what its memory holds, into a trace directory: for 'trace' and "
	  "'replay'.\n"
	  "Programs that are recorded at the same time may share a directory.",
	  CLI_PLACE | CLI_NEW_FABRIC | RULES | OPT_BIT(OPT_NODE) | OPT_BIT(OPT_EXPLAIN) |
		  OPT_BIT(OPT_OUT) | OPT_BIT(OPT_PAYLOAD) | OPT_BIT(OPT_REAL) | OPT_BIT(OPT_WIRE),
	  true, verb_record },
	{ "fabric start", "fabric start [OPTION]...",
	  "Start a fabric that stays until 'rdmaemu fabric stop', or with --linger until its\n"
	  "last program has gone that long. One that is running already stays from now on.",
	  CLI_PLACE | CLI_NEW_FABRIC | RULES, false, verb_fabric_start },
	{ "fabric stop", "fabric stop [OPTION]...",
	  "Stop a fabric. Its programs see their devices fail.", CLI_PLACE, false,
	  verb_fabric_stop },
	{ "fabric status", "fabric status [OPTION]...",
	  "Say in a line whether a fabric is running. Exit status 0 if it is, 1 if not.", CLI_PLACE,
	  false, verb_fabric_status },
	{ "status", "status [OPTION]...",
	  "Show nodes, devices, programs and queue pairs of a fabric.",
	  CLI_PLACE | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_AUDIT), false, verb_status },
	{ "port up", "port up [OPTION]...",
	  "Bring ports up again: IBV_EVENT_PORT_ACTIVE, and their packets pass.", CLI_PLACE | PORTS,
	  false, verb_port_up },
	{ "port down", "port down [OPTION]...",
	  "Take ports down: IBV_EVENT_PORT_ERR, and their packets are lost, both ways.",
	  CLI_PLACE | PORTS, false, verb_port_down },
	{ "port lid", "port lid [OPTION]... LID",
	  "Give an InfiniBand port another LID: IBV_EVENT_LID_CHANGE.", CLI_PLACE | PORTS, true,
	  verb_port_lid },
	{ "port pkey", "port pkey [OPTION]... INDEX PKEY",
	  "Change an entry of the ports' P_Key table: IBV_EVENT_PKEY_CHANGE. 0 empties it.",
	  CLI_PLACE | PORTS, true, verb_port_pkey },
	{ "port link", "port link [OPTION]... none|[delay TIME] [jitter TIME] [rate RATE] [mtu N]",
	  "Say what the ports' links to the switch are like, in both directions.",
	  CLI_PLACE | PORTS, true, verb_port_link },
	{ "fault add", "fault add [OPTION]... [NAME:] RULE... [; [NAME:] RULE...]...",
	  "Add rules of faults to a running fabric, see rdmaemu-faults(7). All of them or none.",
	  CLI_PLACE | RULES | OPT_BIT(OPT_JSON), true, verb_fault_add },
	{ "fault list", "fault list [OPTION]...",
	  "Show the rules of a fabric, what they were about so far, and how often they hit.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), false, verb_fault_list },
	{ "fault remove", "fault remove [OPTION]... NAME...",
	  "Remove rules. What they hold, as a link that is down, ends with them.", CLI_PLACE, true,
	  verb_fault_remove },
	{ "fault clear", "fault clear [OPTION]...", "Remove all rules.", CLI_PLACE, false,
	  verb_fault_clear },
	{ "fault try", "fault try [OPTION]... --trace FILE [NAME:] RULE... [; [NAME:] RULE...]...",
	  "Say which packets of a captured trace rules would hit, and how often each. No fabric "
	  "is\n"
	  "needed.",
	  OPT_BIT(OPT_TRACE) | OPT_BIT(OPT_NODES) | OPT_BIT(OPT_SCENARIO) | OPT_BIT(OPT_SEED) |
		  OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP),
	  true, verb_fault_try },
	{ "clock advance", "clock advance [OPTION]... TIME",
	  "Move a fabric's clock ahead, from deadline to deadline: all that is due at one is done\n"
	  "before the next. Returns when it is there.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), true, verb_clock_advance },
	{ "clock run", "clock run [OPTION]... [X]",
	  "Let a fabric's clock run, X times as fast as real time (default: as fast as before).",
	  CLI_PLACE | OPT_BIT(OPT_JSON), true, verb_clock_run },
	{ "clock stop", "clock stop [OPTION]...", "Stop a fabric's clock.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), false, verb_clock_stop },
	{ "clock", "clock [OPTION]...",
	  "Show a fabric's clock: the time since the fabric's start, by which time-outs, links "
	  "and\n"
	  "timestamps go.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), false, verb_clock },
	{ "capture start", "capture start [OPTION]... FILE",
	  "Write the packets of a running fabric to a file or pipe, as pcapng: each when it enters "
	  "the\n"
	  "wire, on the interface of its port; '-' is standard output. All of them: senders wait "
	  "for\n"
	  "the file. Prints the capture's number.",
	  CLI_PLACE | PORTS | FRAMES, true, verb_capture_start },
	{ "capture stop", "capture stop [OPTION]... [NUMBER]...",
	  "End captures (default: all). Returns when all is in their files.", CLI_PLACE, true,
	  verb_capture_stop },
	{ "capture list", "capture list [OPTION]...",
	  "Show the captures of a fabric, and what they have written.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), false, verb_capture_list },
	{ "capture status", "capture status [OPTION]...", "The same as capture list.",
	  CLI_PLACE | OPT_BIT(OPT_JSON), false, verb_capture_list },
	{ "log", "log [OPTION]...",
	  "Show the journal of a fabric: error completions, asynchronous events and failed\n"
	  "connections, and what led to them: packets dropped or sent again, NAKs. With the cause\n"
	  "of each, and times in seconds since the fabric's start.",
	  CLI_PLACE | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_NODE) | OPT_BIT(OPT_PROGRAM) |
		  OPT_BIT(OPT_QP) | OPT_BIT(OPT_FOLLOW),
	  false, verb_log },
	{ "trace show", "trace show [OPTION]... DIR", "Print a trace of verbs, call by call.",
	  OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_DATA) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP), true,
	  verb_trace_show },
	{ "trace stat", "trace stat [OPTION]... DIR",
	  "Count a trace's calls, work requests, bytes, completions by status and empty polls, and "
	  "say how\n"
	  "long it took from a post to its completion, for each program.",
	  OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP), true, verb_trace_stat },
	{ "trace diff", "trace diff [OPTION]... DIR DIR",
	  "Compare two traces, without what may differ from run to run. Exit status 1 if they "
	  "differ.",
	  OPT_BIT(OPT_DATA) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_HELP), true, verb_trace_diff },
	{ "replay", "replay [OPTION]... FILE --inject",
	  "Send packets of a capture to a queue pair of a running program, as its peer would, and\n"
	  "compare what comes back with a script, see rdmaemu-inject(7). Exit status 1 where it "
	  "differs.",
	  CLI_PLACE | PORTS | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_PROGRAM) | OPT_BIT(OPT_QP) |
		  OPT_BIT(OPT_INJECT) | OPT_BIT(OPT_FROM) | OPT_BIT(OPT_SCRIPT) |
		  OPT_BIT(OPT_AS_IS) | OPT_BIT(OPT_MR),
	  true, verb_inject },
	{ "replay", "replay [OPTION]... DIR [--as PROGRAM -- OTHER [ARG]...]",
	  "Carry out a trace's calls again, of all its programs and without them, on a fresh "
	  "fabric like\n"
	  "the recorded one, and compare what comes of them. The first divergence is shown with "
	  "both\n"
	  "sides, exit status 1. With --json standard output has nothing else: what OTHER prints "
	  "there\n"
	  "goes to standard error.",
	  CLI_PLACE | OPT_BIT(OPT_PROFILE) | OPT_BIT(OPT_SEED) | OPT_BIT(OPT_SCENARIO) |
		  OPT_BIT(OPT_TOPOLOGY) | OPT_BIT(OPT_SUBNET) | OPT_BIT(OPT_CHAOS) |
		  OPT_BIT(OPT_ISOLATED) | OPT_BIT(OPT_PACE) | OPT_BIT(OPT_REAL) |
		  OPT_BIT(OPT_TIMEOUT) | OPT_BIT(OPT_JSON) | OPT_BIT(OPT_AS) | OPT_BIT(OPT_IGNORE) |
		  OPT_BIT(OPT_CAPABILITIES) | OPT_BIT(OPT_MODE) | OPT_BIT(OPT_COMMAND) |
		  OPT_BIT(OPT_NODE) | OPT_BIT(OPT_LIVE_NODE) | OPT_BIT(OPT_LIVE_FIRST) |
		  OPT_BIT(OPT_UNEXPECTED),
	  true, verb_replay },
};

static int cli_print_help(void)
{
	size_t i;

	puts("rdmaemu: RDMA without RDMA hardware.\n");
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("%s rdmaemu %s\n", i ? "      " : "usage:", verbs[i].usage);
	puts("       rdmaemu --version\n       rdmaemu [VERB] --help");
	return 0;
}

static int verb_print_help(const struct verb *v)
{
	printf("usage: rdmaemu %s\n\n%s\n\n", v->usage, v->help);
	opts_usage(v->flags);
	puts("\nA flag wins over its variable [in brackets], a variable over the file of settings\n"
	     "('key = value' lines; keys chaos, clock, fabric, isolated, join, linger, listen,\n"
	     "name, profile, scenario, seed, subnet, time-scale, token-file, topology).");
	return 0;
}

/* All settings, in the order in which one may depend on the one before. */
static int cli_load_settings(struct opts *o, struct fabric_paths *p)
{
	char dir[PATH_MAX], file[PATH_MAX + 8];

	if (opts_env(o) || statedir_open(o->dir, dir))
		return -1;
	snprintf(file, sizeof(file), "%s/config", dir);
	if (opts_file(o, o->config[0] ? o->config : file, o->config[0]))
		return -1;
	return statedir_paths(p, dir, o->fabric);
}

static bool verb_is_launcher(const struct verb *v)
{
	return v->run == verb_run || v->run == verb_record;
}

/* Flags behind the first argument, which comes behind them then. Return: as opts_parse(). */
static int verb_parse_late_flags(const struct verb *v, struct opts *o, int n, int argc, char **argv)
{
	char *first;
	int more;

	if (n >= argc)
		return n;
	first = argv[n];
	more = opts_parse(o, v->name, v->flags, argc - n - 1, argv + n + 1);
	if (more <= 0)
		return more < 0 ? more : n;
	memmove(argv + n, argv + n + 1, (size_t)more * sizeof(*argv));
	argv[n + more] = first;
	return n + more;
}

static bool verb_is_trace(const struct verb *v)
{
	return v->run == verb_trace_show || v->run == verb_trace_stat || v->run == verb_trace_diff;
}

/* Flags between and behind the arguments of @v, up to "--". Return: -1, or how many words are left of @argv. */
static int verb_parse_all_flags(const struct verb *v, struct opts *o, int n, int argc, char **argv)
{
	bool flags = true; /* no "--" has come yet */
	int from = n, to = n, more;

	while (from < argc) {
		argv[to++] = argv[from++];
		more = flags ? opts_parse(o, v->name, v->flags, argc - from, argv + from) : 0;
		if (more < 0)
			return more;
		from += more;
		flags = flags && !(more && !strcmp(argv[from - 1], "--"));
	}
	return to;
}

/* What a verb that was called without arguments expects; NULL: its usage says so. */
static const char *verb_expected_argument(const struct verb *v)
{
	if (v->run == verb_replay || v->run == verb_trace_show || v->run == verb_trace_stat)
		return "a trace directory";
	if (v->run == verb_trace_diff)
		return "two trace directories";
	if (v->run == verb_capture_start)
		return "a file, or '-'";
	return v->run == verb_inject ? "a capture, pcap or pcapng" : NULL;
}

static int verb_print_missing(const struct verb *v)
{
	const char *expected = verb_expected_argument(v);

	if (expected)
		print_error("%s: expected %s; see 'rdmaemu %s --help'", v->name, expected, v->name);
	else
		print_error("%s: no %s given; see 'rdmaemu %s --help'", v->name,
			    verb_is_launcher(v) ? "program" : "value", v->name);
	return EXIT_USAGE;
}

/* What was printed has to be there. Return: exit status. */
static int cli_flush_output(int status)
{
	if (fflush(stdout))
		print_error("standard output: %s", strerror(errno));
	else if (ferror(stdout))
		print_error("standard output: it could not be written");
	else
		return status;
	return status ? status : 1;
}

static int verb_main(const struct verb *v, int argc, char **argv)
{
	static struct fabric_paths paths;
	static struct opts o;
	int n;

	opts_init(&o);
	n = opts_parse(&o, v->name, v->flags, argc, argv);
	if (n >= 0 && (v->run == verb_inject || v->run == verb_replay))
		n = verb_parse_late_flags(v, &o, n, argc, argv);
	if (n >= 0 && verb_is_trace(v))
		argc = verb_parse_all_flags(v, &o, n, argc, argv);
	if (n < 0 || argc < 0)
		return EXIT_USAGE;
	if (o.help)
		return verb_print_help(v);
	if (!v->takes_args && n < argc) {
		print_error("%s: unexpected argument '%s'; see 'rdmaemu %s --help'", v->name,
			    argv[n], v->name);
		return EXIT_USAGE;
	}
	if (v->takes_args && n >= argc &&
	    !(v->flags & OPT_BIT(OPT_SCENARIO) && o.scenario[0] && !verb_is_launcher(v)) &&
	    v->run != verb_clock_run && v->run != verb_capture_stop)
		return verb_print_missing(v);
	if (cli_load_settings(&o, &paths))
		return verb_is_launcher(v) ? EXIT_TROUBLE : 1;
	return cli_flush_output(v->run(&o, &paths, argc - n, argv + n));
}

/* Whether @v is called by @argv, "fabric start" being two words. Returns the words taken, or 0. */
static int verb_words(const struct verb *v, int argc, char **argv)
{
	const char *space = strchr(v->name, ' ');
	size_t n;

	if (!space)
		return !strcmp(argv[0], v->name) ? 1 : 0;
	n = (size_t)(space - v->name);
	if (argc < 2 || strlen(argv[0]) != n || strncmp(argv[0], v->name, n) != 0)
		return 0;
	return !strcmp(argv[1], space + 1) ? 2 : 0;
}

/* Two verbs are called replay: the flag tells them apart. */
static bool verb_is_meant(const struct verb *v, int argc, char **argv)
{
	int i;

	for (i = 1; v->run == verb_inject && i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--inject"))
			return true;
	return v->run != verb_inject;
}

/* The second words of verbs that have two; NULL: @first is the first word of none. */
static const char *cli_group_words(const char *first)
{
	static const char *const groups[][2] = {
		{ "fabric", "start, stop or status" },
		{ "port", "up, down, lid, pkey or link" },
		{ "fault", "add, list, remove, clear or try" },
		{ "capture", "start, stop or list" },
		{ "trace", "show, stat or diff" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(groups[i][0], first))
			return groups[i][1];
	return NULL;
}

int cli_main(int argc, char **argv)
{
	const char *words;
	size_t i;
	int n;

	if (!argc) {
		print_error("no verb given; see 'rdmaemu --help'");
		return EXIT_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		n = verb_words(&verbs[i], argc, argv);
		if (n && verb_is_meant(&verbs[i], argc, argv))
			return verb_main(&verbs[i], argc - n, argv + n);
	}
	if (!strcmp(argv[0], "--version")) {
		puts("rdmaemu " RDMAEMU_VERSION);
		return 0;
	}
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h") || !strcmp(argv[0], "help"))
		return cli_print_help();
	words = cli_group_words(argv[0]);
	if (words) {
		if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
			return cli_print_help();
		print_error("%s: expected %s; see 'rdmaemu --help'", argv[0], words);
		return EXIT_USAGE;
	}
	print_error("unknown %s '%s'; see 'rdmaemu --help'", argv[0][0] == '-' ? "option" : "verb",
		    argv[0]);
	return EXIT_USAGE;
}
