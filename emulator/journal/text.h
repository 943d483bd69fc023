/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading the journal: entries in words.
 */
#ifndef EMULATOR_JOURNAL_TEXT_H
#define EMULATOR_JOURNAL_TEXT_H

#include "emulator/hca.h"

/* --- writer.c --- */

/** journal_is_error() - whether an entry is an error, or a notice: some events tell of no error. */
bool journal_is_error(const struct journal_entry *j);

/* --- names.c --- */

/** journal_status_name() - in a word: the completion's status, the event, ... */
const char *journal_status_name(const struct journal_entry *j);
/** journal_kind_name() - "completion", "event", "cm", "drop", ... */
const char *journal_kind_name(const struct journal_entry *j);
/** journal_cause_name(), journal_why_name() - enum journal_cause and journal_why, for machines. */
const char *journal_cause_name(u32 cause);
const char *journal_why_name(u32 why);
/** journal_key_fault_name() - enum key_fault, for machines. */
const char *journal_key_fault_name(u32 fault);

/* --- key_text.c --- */

/** journal_key_text() - why the key was refused. @cause: enum journal_cause: which kind of key */
void journal_key_text(u32 cause, const struct journal_key *k, char *buf, size_t size);

/* --- text.c --- */

/**
 * journal_who_text() - one side as "program[pid]@node RC qp 0x000011"; "" when nothing is known of
 * it.
 * @qp_type: enum ib_qp_type, 0: none
 */
void journal_who_text(const struct hca *hca, const struct journal_who *w, u32 qp_type, char *buf,
		      size_t size);
/** journal_op_text() - the work request's or packet's opcode, "" when there is none. */
void journal_op_text(const struct journal_entry *j, char *buf, size_t size);
/**
 * journal_why_text() - the cause in words.
 * @epoch: the fabric clock when the fabric started: times are told from there
 * @rule: what names @j->rule: its text and where it stands
 */
void journal_why_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
		      const char *rule, char *buf, size_t size);
/**
 * journal_entry_text() - all of it as a line without newline and time. Arguments as of
 * journal_why_text().
 */
void journal_entry_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
			const char *rule, char *buf, size_t size);

#endif
