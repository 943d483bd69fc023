/* SPDX-License-Identifier: MIT */
/** DOC: the journal, for requests of clients and of the command. */
#ifndef FABRIC_JOURNAL_LOG_H
#define FABRIC_JOURNAL_LOG_H

#include "fabric/core/fabric.h"

#include <stdio.h>

struct json_object;

/** log_print() - journal and notes as JSON: an array, or with PROTO_F_LINES lines. */
void log_print(FILE *out, struct fabric *f, struct proto_log *q, u32 flags);
/** log_keep() - the fabric ends: keep its journal in the state directory. Return: 0 or -errno. */
int log_keep(struct fabric *f);
/**
 * log_make() - PROTO_LOG: journal and notes, or the journal's summary, as JSON, from the positions
 * in @q on, which advance.
 * @flags: enum proto_flags
 * Return: a memfd or -errno; -ENODEV: no node has that name.
 */
int log_make(struct fabric *f, struct proto_log *q, u32 flags);
/** log_entry() - PROTO_JOURNAL: @m becomes the answer. Return: 0 or -ENOENT. */
int log_entry(struct fabric *f, struct proto_msg *m);
/** log_json() - an entry of the journal. */
struct json_object *log_json(struct fabric *f, const struct journal_entry *j);
/**
 * follow_start() - PROTO_LOG with PROTO_F_FOLLOW: @c has got all entries before @m->log.
 * Return: 0 or -ENOMEM.
 */
int follow_start(struct fabric *f, struct conn *c, const struct proto_msg *m);
/** follow_end() - the connection closes. */
void follow_end(struct fabric *f, struct conn *c);
/** follow_push() - the fabric ends: send new entries to followers, and the counts of floods. */
void follow_push(struct fabric *f);
/** follow_tick() - send what is new, if it is time. Return: when to call it next, real time. */
u64 follow_tick(struct fabric *f);

#endif
