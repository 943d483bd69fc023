/* SPDX-License-Identifier: MIT */
/**
 * DOC: settings of the `rdmaemu` command: options, RDMAEMU_* variables, a file of `key = value`
 * lines.
 *
 * An option overrides its variable, a variable the file, the file the default.
 */
#ifndef FABRIC_COMMON_OPTS_H
#define FABRIC_COMMON_OPTS_H

#include "emulator/clock.h"
#include "emulator/journal/entry.h"
#include "emulator/node.h"

#include <limits.h>

#define FABRIC_NAME_MAX 40
#define LINGER_MS_MAX	86400000u
#define LINGER_MS_RUN	1000u
#define SEED_DEFAULT	1u
#define SNAPLEN_MIN	64u
#define SNAPLEN_MAX	65535u
#define RING_SIZE_MIN	4096u
#define RING_SIZE_MAX	(1ULL << 50)

/** Exit statuses of rdmaemu itself, those of env(1) where it runs a program. */
enum exit_status {
	EXIT_USAGE = 2,
	EXIT_CHECK = 99, /* `run --check`: it has found errors; --check-exit gives another */
	EXIT_NOT_FIRED = 123, /* `run`: a fault rule that had to fire has not */
	EXIT_TROUBLE = 125, /* `run`: the program was not started, or its capture failed */
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
};

struct proto_given;

enum opt_id {
	OPT_FABRIC,
	OPT_FRESH,
	OPT_DIR,
	OPT_CONFIG,
	OPT_ISOLATED,
	OPT_CONTROL,
	OPT_LINGER,
	OPT_SEED,
	OPT_FIRST_MR,
	OPT_PROFILE,
	OPT_NODE,
	OPT_SUBNET,
	OPT_TOPOLOGY,
	OPT_LISTEN,
	OPT_JOIN,
	OPT_TOKEN_FILE,
	OPT_PLAINTEXT,
	OPT_NAME,
	OPT_ROCE,
	OPT_ROCE_PEERS,
	OPT_TIME_SCALE,
	OPT_CLOCK,
	OPT_CHAOS,
	OPT_DEVICE,
	OPT_PORT,
	OPT_JSON,
	OPT_AUDIT,
	OPT_PROMETHEUS,
	OPT_SCENARIO,
	OPT_DRY_RUN,
	OPT_MUST_FIRE,
	OPT_PROGRAM,
	OPT_QP,
	OPT_FOLLOW,
	OPT_LAST,
	OPT_VERBOSE,
	OPT_EXPLAIN,
	OPT_JUNIT,
	OPT_TAP,
	OPT_REPORT,
	OPT_TRACE,
	OPT_NODES,
	OPT_CAPTURE,
	OPT_FILTER,
	OPT_SNAPLEN,
	OPT_RING_SIZE,
	OPT_RING_FILES,
	OPT_LOSSY,
	OPT_ERF,
	OPT_CHROME,
	OPT_BATCH,
	OPT_INTERVAL,
	OPT_COUNT_SAMPLES,
	OPT_LADDER,
	OPT_FORMAT,
	OPT_DATA,
	OPT_PACE,
	OPT_REAL,
	OPT_REAL_DIRECT,
	OPT_EMULATE,
	OPT_TIMEOUT,
	OPT_OUT,
	OPT_PAYLOAD,
	OPT_WIRE,
	OPT_AS,
	OPT_IGNORE,
	OPT_CAPABILITIES,
	OPT_MODE,
	OPT_COMMAND,
	OPT_LIVE_NODE,
	OPT_LIVE_FIRST,
	OPT_UNEXPECTED,
	OPT_INJECT,
	OPT_FROM,
	OPT_SCRIPT,
	OPT_AS_IS,
	OPT_MR,
	OPT_CHECK,
	OPT_CHECK_EXIT,
	OPT_CHECK_SUPPRESS,
	OPT_CHECK_JSON,
	OPT_CHECK_SARIF,
	OPT_GEN_SUPPRESSIONS,
	OPT_LEND,
	OPT_NO_LEND,
	OPT_MEMBER,
	OPT_JOINED,
	OPT_HELP,
	OPT_COUNT,
};

/** opt_set - OPT_BIT()s of settings. */
typedef unsigned __int128 opt_set;

#define OPT_BIT(id) ((opt_set)1 << (id))

_Static_assert(OPT_COUNT <= 128, "a bit for each setting");

/**
 * struct opt_def - a setting, by its name in all places.
 * @name: the flag without its dashes, and the key in a file
 * @letter: short flag, or 0
 * @arg: name of its argument, or NULL for a switch; "[=X]": it may be left out
 * @env: variable, or NULL
 * @in_file: may stand in a file of settings
 * @help: one sentence, without its full stop
 */
struct opt_def {
	const char *name;
	char letter;
	const char *arg;
	const char *env;
	bool in_file;
	const char *help;
};

/** Where a setting came from; a higher one overrides a lower one. */
enum opt_level {
	LEVEL_DEFAULT,
	LEVEL_FILE,
	LEVEL_ENV,
	LEVEL_FLAG,
};

/**
 * enum replay_mode - which program's messages answer a live program, see
 * docs/reference/trace-format.md.
 */
enum replay_mode {
	MODE_NONE, /* the record */
	MODE_ONCE, /* the record, which is made if it does not exist */
	MODE_NEW, /* the record, and beyond it the real program, which is recorded */
	MODE_ALL, /* the real program, which is recorded */
};

/** enum opts_real - whose devices a program gets. */
enum opts_real {
	REAL_NO, /* the emulator's */
	REAL_YES, /* the machine's own, without a fabric */
	REAL_AUTO, /* the machine's own if there are any; fabric/cli/real.h decides */
	REAL_RULES, /* the machine's own, and a fabric without devices: rules, journal */
};

/** enum metrics_format - formats of metrics. */
enum metrics_format {
	METRICS_NONE,
	METRICS_OPEN, /* OpenMetrics 1.0 */
	METRICS_TEXT, /* the text format of Prometheus, version 0.0.4 */
};

/** enum picture_format - formats of ladder diagrams. */
enum picture_format {
	FORMAT_TEXT,
	FORMAT_SVG,
	FORMAT_MERMAID,
};

/**
 * struct opts - all settings.
 * @level: where each came from (enum opt_level)
 * @dir, @config: as given; "" when not
 * @profile: name or file
 * @ppm: fabric time that passes in 1,000,000 of real time
 * @manual: the fabric's clock stands until it is moved
 * @linger_ms: valid when its level is not LEVEL_DEFAULT
 */
struct opts {
	u8 level[OPT_COUNT];
	char fabric[FABRIC_NAME_MAX + 1];
	char dir[PATH_MAX];
	char config[PATH_MAX];
	bool isolated;
	bool control;
	bool json;
	bool audit;
	enum metrics_format prometheus; /* METRICS_NONE: not given */
	bool dry_run;
	bool must_fire;
	bool help;
	bool follow;
	bool explain;
	u32 linger_ms;
	u64 seed;
	u32 first_mr; /* index; 0: not given */
	u32 ppm;
	bool manual;
	bool chaos;
	bool chaos_random; /* the seed was drawn */
	u64 chaos_seed;
	bool faults; /* the fabric has rules when a program is started */
	char profile[PATH_MAX];
	char node[NODE_NAME_MAX + 1]; /* "": not given */
	char subnet[80]; /* likewise */
	char topology[PATH_MAX]; /* likewise */
	char listen[256 + 16]; /* ADDR:PORT; "": nowhere */
	char join[PATH_MAX]; /* HOST:PORT[,HOST:PORT]... */
	char token_file[PATH_MAX];
	char roce[200]; /* ADDR|IFACE[,...]; "": no wires */
	char roce_peers[256]; /* CIDR[,...]; "": all */
	bool plaintext; /* joined fabrics do not encrypt */
	char name[NODE_NAME_MAX + 1]; /* of the host's own node */
	char scenario[PATH_MAX]; /* likewise */
	char trace[PATH_MAX]; /* likewise */
	char nodes[PATH_MAX]; /* NAME=ADDRESS[,NAME=ADDRESS]... */
	char out[PATH_MAX]; /* trace directory; "": not given */
	char payload[8]; /* likewise */
	bool wire; /* a capture belongs to the trace */
	char device[32];
	u32 port; /* 0: not given */
	char program[JOURNAL_NAME]; /* "": not given */
	u32 qpn; /* 0: not given */
	char as[JOURNAL_NAME]; /* "": not given */
	char ignore[128]; /* likewise */
	enum replay_mode mode;
	char unexpected[8]; /* "": not given */
	char command[PATH_MAX]; /* likewise */
	char live_node[NODE_NAME_MAX + 1]; /* likewise */
	bool live_first;
	bool inject;
	bool fresh;
	bool verbose;
	u32 last; /* journal to show, 1 is the latest; 0: that of the running fabric */
	bool as_is;
	char from[NODE_NAME_MAX + 1]; /* "": not given */
	char script[PATH_MAX]; /* likewise */
	u32 mr; /* ordinal of a memory region; 0: not given */
	char capture[PATH_MAX]; /* "": not given */
	char filter[1024]; /* likewise */
	u32 snaplen; /* 0: not given */
	u64 ring_size; /* bytes; 0: not given */
	u32 ring_files; /* likewise */
	bool lossy;
	bool erf;
	bool data;
	bool pace; /* as recorded */
	enum opts_real real;
	char real_names[512]; /* of those to show, with commas between; "": all */
	bool emulate; /* emulated devices next to the real ones */
	char real_direct[8]; /* allow, hide or refuse; "": not given */
	bool capabilities; /* compare them in any case */
	u32 timeout; /* seconds */
	char check[512]; /* findings, with commas between; "": no check */
	u32 check_exit; /* exit status */
	char check_suppress[PATH_MAX]; /* "": not given */
	char check_json[PATH_MAX]; /* likewise */
	char check_sarif[PATH_MAX]; /* likewise */
	bool gen_suppressions;
	char junit[PATH_MAX]; /* "": not given */
	char tap[PATH_MAX]; /* likewise */
	char report[PATH_MAX]; /* likewise */
	char chrome[PATH_MAX]; /* likewise */
	char lend[8]; /* RDMAEMU_LEND of the program; "": as it is */
	bool batch;
	char member[NODE_NAME_MAX + 1]; /* of the mesh, to ask; "": the fabric itself */
	bool joined; /* all members, too */
	u32 interval_ms;
	u32 count; /* samples; 0: no limit */
	bool ladder;
	enum picture_format format;
};

/** opts_init() - defaults. */
void opts_init(struct opts *o);
/**
 * opts_parse() - read options from @argv until the first argument, or after "--".
 * @verb: for messages, e.g. "run"
 * @allowed: OPT_BIT()s of the options that this verb knows
 * Return: index of the first argument that is not an option, or -1 after one line on stderr.
 */
int opts_parse(struct opts *o, const char *verb, opt_set allowed, int argc, char **argv);
/** opts_env() - read the RDMAEMU_* variables. Return: 0, or -1 after one line on stderr. */
int opts_env(struct opts *o);
/**
 * opts_env_clear() - remove the variables, so that programs do not read them: all but those of the
 * OPT_BIT()s @keep.
 */
void opts_env_clear(opt_set keep);
/**
 * opts_file() - read the `key = value` lines of a file.
 * @must: report an error if the file does not exist
 * Return: 0, or -1 after one line on stderr that names file and line.
 */
int opts_file(struct opts *o, const char *path, bool must);
/** opts_def() - the definition of a setting. */
const struct opt_def *opts_def(enum opt_id id);
/**
 * opts_file_keys() - the keys of a settings file, sorted: "chaos, clock or name", for @last "or".
 */
const char *opts_file_keys(const char *last, char *text, size_t size);

/** opts_given() - settings of a fabric, to compare; not those that only the fabric knows. */
void opts_given(const struct opts *o, struct proto_given *g);

/** print_error() - print one line on stderr, with "rdmaemu: " before it. Return: -1. */
int print_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
