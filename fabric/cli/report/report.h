/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu report` and `rdmaemu run --report`: what happened in a run, as one HTML page that
 * needs nothing else. docs/design/report.md describes the page and the data in it.
 *
 * The files in layers; each uses only those before it:
 *  - packed.c: compressed text in the page
 *  - strings.c: a table of texts, each once
 *  - capture.c, columns.c: packets of captures, and their columns in the page
 *  - call_columns.c: calls of recorded programs, as columns in the page
 *  - documents.c, trace.c, calls.c, memory.c: journals, rules, findings; traces of verbs
 *  - page.c: the page, with the viewer of viewer/
 *  - samples.c: the fabric's state during a run
 *  - command.c, run.c: where the data comes from
 */
#ifndef FABRIC_CLI_REPORT_REPORT_H
#define FABRIC_CLI_REPORT_REPORT_H

#include "fabric/common/opts.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_PACKETS 1000000u /* the latest ones that a page has */
#define REPORT_FRAMES  100000u /* packets of which it has the first bytes */
#define REPORT_BYTES   96u /* of each of them */
#define REPORT_CALLS   200000u /* the latest ones of a trace that a page has */
#define REPORT_HOSTS   1024u
#define REPORT_FLOWS   16384u
#define REPORT_FILES   64u

/** report_order() - compare rows for qsort(3): by time, then by their place in the files. */
static inline int report_order(u64 ns, u32 order, u64 other_ns, u32 other_order)
{
	if (ns != other_ns)
		return ns < other_ns ? -1 : 1;
	return order < other_order ? -1 : order > other_order;
}

/* --- packed.c --- */

struct packed;

/** packed_begin() - begin a text that is written to @out: zlib (RFC 1950), as base64. */
struct packed *packed_begin(FILE *out);
void packed_put(struct packed *p, const char *text, size_t n);
void packed_printf(struct packed *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/**
 * struct packed_column - a column of a table: a member of its rows.
 * @at, @size: of the member, which is unsigned
 * @since: the value is the difference to that of the row before
 */
struct packed_column {
	const char *name;
	u32 at;
	u32 size;
	bool since;
};

#define PACKED_COLUMN(type, name, member)                                                          \
	{                                                                                          \
		name, offsetof(type, member), sizeof(((type *)0)->member), false                   \
	}
#define PACKED_COLUMN_SINCE(type, name, member)                                                    \
	{                                                                                          \
		name, offsetof(type, member), sizeof(((type *)0)->member), true                    \
	}

/** packed_columns() - print members of a JSON object, one for each column: lists of numbers. */
void packed_columns(struct packed *p, const struct packed_column *c, u32 n_columns,
		    const void *rows, u32 n_rows, size_t row_size);
/** packed_end() - end and free it. Return: 0 or -ENOMEM. @p may be NULL, here and above. */
int packed_end(struct packed *p);

/* --- strings.c --- */

/** struct report_strings - texts by their number, from 1. 0 is no text. */
struct report_strings {
	char **text;
	u32 n, cap;
	u32 *slot; /* hash table of numbers */
	u32 slots;
	bool full;
};

#define REPORT_STRINGS 65536u

/** strings_number() - the number of a text, which is added if it is new; 0: no room for it. */
u32 strings_number(struct report_strings *s, const char *text, size_t len);
/** strings_json() - the list of them, from number 1 on. */
struct json_object *strings_json(const struct report_strings *s);
void strings_free(struct report_strings *s);

/* --- capture.c --- */

/** enum report_flag - what is special about a packet. */
enum report_flag {
	REPORT_LOST = 1 << 0, /* it did not arrive */
	REPORT_WRONG = 1 << 1, /* a reader finds it malformed */
	REPORT_AGAIN = 1 << 2, /* a retransmission */
};

/**
 * struct report_row - a packet.
 * @flow: index in report_packets.flow
 * @note, @label: numbers of texts: a comment, and a name other than the opcode's
 * @frame: offset of its bytes in report_packets.bytes, + 1; 0: the page has none
 * @order: its place in the files
 * @payload: offset of its payload in the frame
 */
struct report_row {
	u64 ns;
	u32 flow;
	u32 psn;
	u32 size;
	u32 note, label;
	u32 frame;
	u32 order;
	u8 opcode;
	u8 flags;
	u8 syndrome;
	u8 payload;
};

/** struct report_host - an address. @node: number of its node's name; 0: unknown */
struct report_host {
	char address[48];
	u32 node;
};

/** struct report_flow - packets from a QP to a QP. @from_qpn: ~0u: unknown. @conn: 0: none */
struct report_flow {
	u32 from, to;
	u32 from_qpn, to_qpn;
	u32 transport;
	u32 conn;
};

/**
 * struct report_packets - packets of all captures.
 * @total: RDMA packets in the files; @n: those that the page has
 * @cut: a file ends within a packet
 * @earlier: there were packets before those of the files
 */
struct report_packets {
	const char *file[REPORT_FILES];
	u32 n_files;
	u64 total;
	u32 n;
	struct report_row *row;
	struct report_host *host;
	u32 n_hosts;
	struct report_flow *flow;
	u32 n_flows;
	struct report_strings strings;
	u8 *bytes;
	size_t n_bytes;
	u32 n_frames;
	bool cut;
	bool earlier;
};

/** packets_read() - read the captures of @p->file. Return: 0, or -1 after one line on stderr. */
int packets_read(struct report_packets *p);
void packets_free(struct report_packets *p);

/* --- columns.c --- */

/** packets_about() - what the packets' columns refer to: hosts, flows, texts. */
struct json_object *packets_about(const struct report_packets *p);
/** packets_print() - print the columns, compressed. Return: 0 or -ENOMEM. */
int packets_print(const struct report_packets *p, FILE *out);

/* --- call_columns.c --- */

/** enum report_call_flag - what is special about a call. */
enum report_call_flag {
	REPORT_CALL_FAILED = 1 << 0, /* it has failed, or found a completion with an error */
	REPORT_CALL_INTO = 1 << 1, /* it hands the device something */
	REPORT_CALL_WR = 1 << 2, /* it has a wr_id */
};

/**
 * struct report_call - a call of a recorded program.
 * @program: its place in the document's list of programs
 * @name, @text: numbers of texts: the function, and what it was about
 * @qpn: 0: unknown
 * @order: its place before calls_sort()
 */
struct report_call {
	u64 ns;
	u64 took_ns;
	u64 wr_id;
	u32 program;
	u32 name, text;
	u32 qpn;
	u32 order;
	u32 flags;
};

/**
 * struct report_calls - calls of all traces.
 * @total: of the traces; @n: those that the page has
 * @n_programs: of the traces so far
 * @own_time: times are since the begin of their trace, not the fabric's
 */
struct report_calls {
	struct report_call *row;
	u32 n;
	u64 total;
	u32 n_programs;
	bool own_time;
	struct report_strings strings;
};

/** calls_sort() - sort them by time. */
void calls_sort(struct report_calls *c);
/** calls_about() - what the calls' columns refer to. */
struct json_object *calls_about(const struct report_calls *c);
/** calls_print() - print the columns, compressed. Return: 0 or -ENOMEM. */
int calls_print(const struct report_calls *c, FILE *out);
void calls_free(struct report_calls *c);

/* --- documents.c --- */

/**
 * struct report - a report.
 * @doc: the JSON document of the page
 */
struct report {
	const struct opts *o;
	struct json_object *doc;
	struct report_packets packets;
	struct report_calls calls;
};

/** report_begin() - begin a report. Return: 0 or -ENOMEM. */
int report_begin(struct report *r, const struct opts *o);
/** report_end() - free it. */
void report_end(struct report *r);
/**
 * report_add_text() - add JSON values, one after the other: what `rdmaemu log`, `fault list`,
 * `status` and `run --check-json` print, or a kept journal.
 * @list: name of the list that entries of a journal are added to
 * Return: 0, or -EBADMSG: something else.
 */
int report_add_text(struct report *r, const char *list, const char *text, size_t len);
/** report_add_source() - note where a part of the data comes from. */
void report_add_source(struct report *r, const char *kind, const char *name);
/** report_append() - add to a list of the document, which is made with its first element. */
void report_append(struct report *r, const char *list, struct json_object *one);
/** report_add_capture() - add a capture. Return: 0, or -1 after one line: there are too many. */
int report_add_capture(struct report *r, const char *path);

/* --- trace.c --- */

/**
 * report_add_trace() - add a trace directory, and its capture.
 * Return: 0, or -1 after one line on stderr.
 */
int report_add_trace(struct report *r, const char *path);

/* --- page.c --- */

/** report_is_page_name() - whether a page may be written to a file of that name: .html or .htm. */
bool report_is_page_name(const char *path);
/** report_write_page() - read the captures, and write the page. Return: 0, or -1 after one line. */
int report_write_page(struct report *r, const char *path);

/* --- samples.c --- */

/** report_run_add_samples() - add the samples that were taken while the program ran. */
void report_run_add_samples(struct report *r);

/* --- command.c --- */

struct fabric_paths;

/**
 * report_add_fabric() - add what a running fabric knows: its state, rules and journal.
 * Return: 0 or -errno.
 */
int report_add_fabric(struct report *r, const struct fabric_paths *p);

#endif
