/* SPDX-License-Identifier: MIT */
/**
 * DOC: the table of fault rules in the fabric process.
 */
#ifndef FABRIC_FAULT_TABLE_H
#define FABRIC_FAULT_TABLE_H

#include "emulator/journal/entry.h"
#include "fabric/fault/rule.h"

struct fabric;
struct conn;
struct json_object;
struct proto_msg;
struct fault_pkt;

#define FAULT_JOBS  16u /* requests that wait for the token */
#define FAULT_CALLS 32u /* journal entries of calls that wait for it */
#define FAULT_FILES 64u /* scenarios that are remembered */

/**
 * struct fault_job - a queued request to change rules. @conn: NULL: none. @text: a scenario, or
 * NULL
 */
struct fault_job;

/**
 * struct faults - all rules.
 * @rule: in the order in which they were added; slots with id 0 are free
 * @high: slots that have ever been in use
 * @n, @n_on: number of rules; number per enum fault_on
 * @wire: at least one rule is about packets, so tx.c examines bursts
 * @due: when the next FAULT_ON_TIME rule is due; FAULT_NEVER: none
 * @stale: ports were marked without the token: the paths of QPs are out of date
 * @has_ended: the runs of some rules have ended: those are removed when the token is free
 * @random: the seed has decided at least one hit
 * @file: hashes of the scenarios that were added
 * @own_limits: what the first @n_own_limits devices have without rules; NULL: no rule has changed
 *	any
 * @call: failed calls that are not yet in the journal
 */
struct faults {
	struct fault_rule rule[FAULT_RULES];
	u32 high;
	u32 n;
	u32 last_id;
	u32 n_on[FAULT_ON_STATE + 1];
	bool wire;
	bool random;
	bool stale;
	bool has_ended;
	u64 due;
	u64 file[FAULT_FILES];
	u32 n_files;
	struct hca_limits *own_limits;
	u32 n_own_limits;
	struct fault_job *job[FAULT_JOBS];
	u32 n_jobs;
	struct journal_entry call[FAULT_CALLS];
	u32 n_calls;
};

/* --- request.c -------------------------------------------------------------------------------- */

/**
 * fault_request() - PROTO_FAULT_ADD, _REMOVE, _CLEAR, which need the token.
 * @fd: the descriptor that came with the request, or -1; the caller keeps it
 * Return: -EINPROGRESS: answered later; else the answer, with the error text in m->fault.text.
 */
int fault_request(struct fabric *f, struct conn *c, struct proto_msg *m, int fd);
/** fault_conn_closed() - drop the queued requests of a connection that is closed. */
void fault_conn_closed(struct fabric *f, const struct conn *c);
/** fault_requests_serve() - carry out and answer the requests that wait. Token held. */
void fault_requests_serve(struct fabric *f);

/* --- table.c ---------------------------------------------------------------------------------- */

/** fault_table_make() - allocate an empty table. Return: 0 or -ENOMEM. */
int fault_table_make(struct fabric *f);
/** fault_table_is_due() - whether work is pending that needs the token. */
bool fault_table_is_due(const struct fabric *f);
/** fault_table_next_due() - when the next rule is due. */
u64 fault_table_next_due(const struct fabric *f);
/** fault_table_changed() - rules were added or removed: update what depends on them. Token held. */
void fault_table_changed(struct fabric *f);
/** fault_rule_add() - put a copy of @new into the table, and let it begin. Token held. */
void fault_rule_add(struct fabric *f, const struct fault_rule *new);
/** fault_table_work() - handle requests, and rules that are due. Token held. */
void fault_table_work(struct fabric *f);
/**
 * fault_node_added() - a node was added: mark those of its ports that rules are about. No token
 * needed.
 */
void fault_node_added(struct fabric *f);
/** fault_rule_find() - the rule of that name, or with that id if @name is "", or NULL. */
struct fault_rule *fault_rule_find(struct faults *t, const char *name, u32 id);
/**
 * fault_rule_insert() - store a rule in a free slot, which must exist, and give it its ordinal,
 * name and window. Nothing else: the caller has ports marked and the action carried out.
 */
struct fault_rule *fault_rule_insert(struct fabric *f, const struct fault_rule *new);
/**
 * fault_rule_text() - "NAME: TEXT (PLACE)" of a rule by id, also of one that was removed lately;
 * "ID, which was removed" once another rule has its slot.
 */
const char *fault_rule_text(struct fabric *f, u32 rule);

/**
 * fault_trigger_rules() - a packet passes: fire the rules that wait for such a packet. Token held.
 */
void fault_trigger_rules(struct fabric *f, const struct fault_pkt *p);
/** fault_rule_set_due() - the rule fires (again) at @at, on the fabric clock. */
void fault_rule_set_due(struct fabric *f, struct fault_rule *r, u64 at);

/** fault_rule_remove() - end a rule's effects and free its slot. The caller has ports marked. */
void fault_rule_remove(struct fabric *f, struct fault_rule *r);

/* --- scenario.c ------------------------------------------------------------------------------- */

/** fault_scenario_is_known() - whether the scenario with that hash was added before. */
bool fault_scenario_is_known(const struct faults *t, u64 hash);
/** fault_scenario_remember() - it is added now. */
void fault_scenario_remember(struct faults *t, u64 hash);
/** fault_scenario_share() - it is added again; unless @of_run its rules stay from now on. */
void fault_scenario_share(struct faults *t, u64 hash, bool of_run);
/** fault_scenario_end() - no run uses it any more: its rules end, unless they are to stay. */
void fault_scenario_end(struct fabric *f, u64 hash);
/** fault_scenario_remove_ended() - remove such rules. Return: whether any existed. Token held. */
bool fault_scenario_remove_ended(struct fabric *f);

/* --- list.c ----------------------------------------------------------------------------------- */

/** fault_list_next() - PROTO_FAULT_NEXT: @m becomes the answer. Return: 0 or -ENOENT. */
int fault_list_next(const struct fabric *f, struct proto_msg *m);
/**
 * fault_list_memfd() - PROTO_FAULT_LIST, in the format of @m's flags. Return: a memfd or -errno.
 */
int fault_list_memfd(struct fabric *f, struct proto_msg *m);
/** fault_list_json() - the same as a JSON object that the caller owns. */
struct json_object *fault_list_json(const struct fabric *f);

#endif
