/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the checker finds: names, severities, rules, and how to mend it.
 *
 * The checker in the tap (libtap/check/) and the command that prints its reports
 * (fabric/cli/check/) share this table. docs/reference/checks.md has an example of each.
 */
#ifndef FABRIC_PROTO_FINDING_H
#define FABRIC_PROTO_FINDING_H

#include "emulator/types.h"

/* Set by `rdmaemu run --check` for the tap: where processes write what they find. */
#define FINDING_DIR_ENV "RDMAEMU_CHECK_DIR"
/* A file in it, by which those processes tell each other of their queue pairs. */
#define FINDING_BOARD ".board"
/* The patterns, which are a setting of the command, too. */
#define FINDING_LIST_ENV "RDMAEMU_CHECK"

/** enum finding_severity - how certain it is that the program breaks elsewhere. */
enum finding_severity {
	FINDING_ERROR, /* undefined by the specification or a man page, or a failure of the program */
	FINDING_WARNING, /* legal, but lucky, or resources lost */
	FINDING_INFO, /* legal, and often meant: reported only if asked for */
	FINDING_SEVERITIES,
};

/* What `--check` without names reports. */
#define FINDING_LIST_DEFAULT "errors,warnings"

/** enum finding_id - the findings, in the order of their table. */
enum finding_id {
	FINDING_AH_DESTROY_OUTSTANDING,
	FINDING_CQ_EVENT_SURPLUS,
	FINDING_CQ_EVENT_UNACKED,
	FINDING_CQ_EVENT_UNREAD,
	FINDING_CQ_NOTIFY_LOST,
	FINDING_CQ_POLL_CONTENDED,
	FINDING_CQ_POLL_SINGLE,
	FINDING_CQ_SIZE_DEPTH,
	FINDING_CQ_SIZE_OUTSTANDING,
	FINDING_DEVICE_EVENT_UNREAD,
	FINDING_DEVICE_LIMITS_UNASKED,
	FINDING_DEVICE_PORT_UNASKED,
	FINDING_ID_ACCEPT_DEPTH,
	FINDING_ID_ACCEPT_EMPTY,
	FINDING_ID_DESTROY_QP,
	FINDING_ID_PRIVATE_LONG,
	FINDING_MR_DEREG_OUTSTANDING,
	FINDING_MR_DEREG_POSTED,
	FINDING_MR_FORK_UNSAFE,
	FINDING_MR_REG_REPEATED,
	FINDING_MR_RIGHTS_UNUSED,
	FINDING_OBJECT_DESTROY_BUSY,
	FINDING_OBJECT_EVENT_UNACKED,
	FINDING_OBJECT_FORK_CHILD,
	FINDING_OBJECT_LEAK_EXIT,
	FINDING_OBJECT_THREAD_CONCURRENT,
	FINDING_QP_CACHE_EXCEEDED,
	FINDING_QP_DESTROY_OUTSTANDING,
	FINDING_QP_DESTROY_UNFLUSHED,
	FINDING_QP_GID_PEER,
	FINDING_QP_MODIFY_INVALID,
	FINDING_QP_MTU_PEER,
	FINDING_QP_PKEY_PEER,
	FINDING_QP_POST_STATE,
	FINDING_QP_PSN_CONSTANT,
	FINDING_QP_QKEY_PEER,
	FINDING_QP_READS_PEER,
	FINDING_QP_RETRY_NONE,
	FINDING_QP_RNR_INFINITE,
	FINDING_QP_RNR_LONGEST,
	FINDING_QP_SIGNAL_EACH,
	FINDING_QP_SQ_STUCK,
	FINDING_QP_SQ_UNSIGNALED,
	FINDING_QP_TIMEOUT_INFINITE,
	FINDING_SRQ_LIMIT_NEVER,
	FINDING_WC_FIELD_UNDEFINED,
	FINDING_WC_STATUS_IGNORED,
	FINDING_WR_ATOMIC_ALIGN,
	FINDING_WR_ATOMIC_CPU,
	FINDING_WR_BUFFER_EARLY,
	FINDING_WR_BUFFER_UNMAPPED,
	FINDING_WR_BUFFER_WRITTEN,
	FINDING_WR_FENCE_MISSING,
	FINDING_WR_ID_REPEATED,
	FINDING_WR_IMM_ORDER,
	FINDING_WR_INLINE_UNASKED,
	FINDING_WR_INLINE_UNUSED,
	FINDING_WR_LKEY_INVALID,
	FINDING_WR_PAYLOAD_UNALIGNED,
	FINDING_WR_POST_INVALID,
	FINDING_WR_POST_PARTIAL,
	FINDING_WR_POST_SINGLE,
	FINDING_WR_RECEIVE_OVERLAP,
	FINDING_WR_RECEIVE_SHORT,
	FINDING_WR_RECEIVE_TIGHT,
	FINDING_WR_REMOTE_RACE,
	FINDING_WR_RKEY_INVALID,
	FINDING_WR_RNR_EXCEEDED,
	FINDING_WR_RNR_SAVED,
	FINDING_WR_SEND_EARLY,
	FINDING_WR_WRITE_POLLED,
	FINDING_COUNT,
};

/**
 * struct finding_def - a finding.
 * @name: OBJECT:TOPIC:DETAIL
 * @summary: one sentence
 * @source: the man page or clause that has the rule
 * @mend: what to do, one sentence
 * @group: NULL, or of a costly finding, which only its group, its name or "all" turns on
 */
struct finding_def {
	const char *name;
	enum finding_severity severity;
	const char *summary;
	const char *source;
	const char *mend;
	const char *group;
};

extern const struct finding_def finding_defs[FINDING_COUNT];

/** struct finding_set - some of the findings: a bit for each. */
struct finding_set {
	u64 word[(FINDING_COUNT + 63) / 64];
};

/** finding_set_has() - whether a finding is in a set. */
static inline bool finding_set_has(const struct finding_set *set, enum finding_id id)
{
	return set->word[id / 64] >> id % 64 & 1;
}

/** finding_severity_name() - "error", "warning" or "info". */
const char *finding_severity_name(enum finding_severity severity);
/**
 * finding_list_parse() - read words with commas between: patterns of names with '*', groups, "all",
 * and "errors", "warnings" and "infos", which are those without a group. A '-' in front leaves them
 * out. A list that begins with a word to leave out begins with errors and warnings. A finding of a
 * group is added by its full name, but not by a pattern with '*'.
 * @on: receives the findings
 * Return: NULL, or the word that names no finding.
 */
const char *finding_list_parse(const char *list, struct finding_set *on);
/** finding_pattern_matches() - whether a text matches a pattern in which '*' is any text. */
bool finding_pattern_matches(const char *pattern, size_t len, const char *text);
/** finding_pattern_is_known() - whether a pattern matches the name of a finding. */
bool finding_pattern_is_known(const char *pattern);
/** finding_find() - find a finding by its name. Return: enum finding_id, or -1. */
int finding_find(const char *name);

#endif
