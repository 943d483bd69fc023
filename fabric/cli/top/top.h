/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu top`: fabrics at work, in a terminal or, with --batch, as text.
 *
 * Every interval the command asks the fabric process for its status, its fault rules and the new
 * entries of its journal (sample.c), and compares the counters with those of the sample before. The
 * fabric process answers as it does for `rdmaemu status`: from HCA memory, without the engine
 * token, so programs do not wait. table.c selects, sorts and prints the queue pairs; screen.c shows
 * them by ncurses, and batch.c without a terminal.
 *
 * The queue pairs of several fabrics stand in one table, and counts are sums. A fabric that ends
 * leaves the table. With --joined the members of the first fabric's mesh stand there, too: that
 * fabric asks them (members.c). One that does not answer leaves the table until it does.
 *
 * Names come from programs. All that is not printable ASCII becomes '?', so no name can move the
 * cursor.
 */
#ifndef FABRIC_CLI_TOP_TOP_H
#define FABRIC_CLI_TOP_TOP_H

#include "fabric/cli/cli.h"

#define TOP_FABRICS 80u /* with all members of a mesh */
#define TOP_TEXT    40u
#define TOP_JOURNAL 8u /* entries that are kept */
#define TOP_FAULTS  8u /* rules that are kept: those with the most hits */
#define TOP_LINE    512u

/** enum top_counter - counters of a queue pair. */
enum top_counter {
	TOP_TX_BYTES,
	TOP_RX_BYTES,
	TOP_TX_PACKETS,
	TOP_RX_PACKETS,
	TOP_RETRIES,
	TOP_RNR,
	TOP_COUNTERS,
};

/**
 * struct top_qp - a queue pair.
 * @nth: the place of its fabric among those that are shown; @fabric: its name
 * @rate: of each counter, in a second; 0 in the first sample
 * @in_flight: work requests that were sent and have not completed
 * @cq_used, @cq_depth: of the CQ of its receives
 */
struct top_qp {
	u32 nth;
	u32 qpn;
	u64 pid;
	char fabric[TOP_TEXT];
	char node[TOP_TEXT];
	char program[TOP_TEXT];
	char type[16];
	char state[16];
	char peer[TOP_TEXT];
	u64 count[TOP_COUNTERS];
	double rate[TOP_COUNTERS];
	u64 in_flight;
	u64 cq_used, cq_depth;
};

/** struct top_fault - a fault rule. */
struct top_fault {
	char name[TOP_TEXT];
	char rule[TOP_LINE];
	u64 seen, hits;
};

/**
 * struct top_sample - fabrics at one time.
 * @at: real time
 * @fabric: their names; @engine: of the first; @uptime_ms: the longest
 * @qp: in the order of their fabrics and numbers
 * @dropped: by all ports; @dropped_rate: in a second
 * @journal: the last entries, the oldest first
 */
struct top_sample {
	u64 at;
	u32 n_fabrics;
	char fabric[TOP_LINE];
	char engine[TOP_TEXT];
	u64 uptime_ms;
	u64 nodes, programs, members, memory, lent;
	struct top_qp *qp;
	u32 n_qps;
	double rate[TOP_COUNTERS];
	u64 dropped;
	double dropped_rate;
	struct top_fault fault[TOP_FAULTS];
	u32 n_faults, n_rules;
	char journal[TOP_JOURNAL][TOP_LINE];
	u32 n_journal;
};

/**
 * struct top_fabric - a fabric.
 * @member: its name in the first one's mesh, to request it there; "": it is a fabric of its own
 * @sock: -1: it has ended; @log: position in its journal
 */
struct top_fabric {
	char name[TOP_TEXT];
	char member[NODE_NAME_MAX + 1];
	int sock;
	struct proto_log log;
};

/** struct top_source - the fabrics that samples are of. @sock_path: socket of the first */
struct top_source {
	const struct opts *o;
	char sock_path[PATH_MAX];
	struct top_fabric fabric[TOP_FABRICS];
	u32 n_fabrics;
	char journal[TOP_JOURNAL][TOP_LINE];
	u32 n_journal;
};

/* --- sample.c --- */

/** top_connect() - connect to one more fabric. Return: 0 or -errno. */
int top_connect(struct top_source *s, const struct fabric_paths *p, const char *name);
/** top_disconnect() - from all of them. */
void top_disconnect(struct top_source *s);
/**
 * top_sample_take() - ask for a sample.
 * @before: the sample before, for rates, or NULL
 * Return: 0, or -errno; -EPIPE: the last fabric has ended
 */
int top_sample_take(struct top_source *s, struct top_sample *new, const struct top_sample *before);
void top_sample_free(struct top_sample *s);
/** top_text() - copy a text, with '?' for all that is not printable ASCII. */
void top_text(char *to, size_t size, const char *from);

/* --- members.c --- */

/**
 * top_members_find() - add the members of the first fabric's mesh that are not among the fabrics
 * yet, as far as there is room. @status: of the first fabric
 */
void top_members_find(struct top_source *s, struct json_object *status);
/** top_member_is_away() - whether an error says that a member cannot answer now. */
bool top_member_is_away(const struct top_fabric *f, int err);

/* --- table.c --- */

/** struct top_order - which queue pairs are shown, and how they are sorted. @column: by which */
struct top_order {
	u32 column;
	bool reverse;
	char filter[TOP_TEXT]; /* text that a line must have; "": all */
};

/** top_columns_head() - the line of the columns' names that fit @width. @many: of fabrics */
void top_columns_head(char *line, u32 width, bool many);
/** top_columns_qp() - the line of a queue pair. */
void top_columns_qp(char *line, u32 width, bool many, const struct top_qp *qp);
/** top_column_name() - the name of a column, NULL after the last. */
const char *top_column_name(u32 column);
/** top_column_default() - the column by which queue pairs are sorted at first: what they send. */
u32 top_column_default(void);
/**
 * top_select() - the queue pairs to show, in their order.
 * @list: room for all of the sample
 * Return: their number
 */
u32 top_select(const struct top_sample *s, const struct top_order *order,
	       const struct top_qp **list);
/** top_summary() - line @i of the summary, from 0; false: there are no more. */
bool top_summary(const struct top_sample *s, u32 i, char *line, size_t size);
/** top_fault_line() - the line of a fault rule. */
void top_fault_line(const struct top_fault *f, char *line, size_t size);
/** top_scaled() - "1.2G": a number in at most 5 characters. */
void top_scaled(char text[8], double v);

/* --- batch.c, screen.c --- */

/** top_batch() - print samples as text. Return: exit status. */
int top_batch(struct top_source *s);
/** top_screen() - show samples in the terminal until the user quits. Return: exit status. */
int top_screen(struct top_source *s);

#endif
