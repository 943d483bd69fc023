/* SPDX-License-Identifier: MIT */
/**
 * DOC: an entry of the journal as JSON.
 */
#include "emulator/journal/text.h"
#include "fabric/fault/table.h"
#include "fabric/common/json.h"
#include "fabric/journal/log.h"
#include "fabric/journal/reader.h"

#include <stdio.h>

static struct json_object *log_json_who(const struct hca *hca, const struct journal_who *w)
{
	struct json_object *o = json_object_new_object();

	if (w->name[0]) {
		json_add(o, "name",
			 json_object_new_string_len(w->name,
						    (int)strnlen(w->name, sizeof(w->name))));
		json_add_int(o, "pid", (u64)w->pid);
		json_add_int(o, "client", w->client);
	}
	if (w->node < hca->n_nodes)
		json_add_str(o, "node", hca->node[w->node].name);
	if (w->qpn)
		json_add_int(o, "qpn", w->qpn);
	return o;
}

/* Times count from the fabric's start. */
static u64 log_json_since_start(const struct fabric *f, u64 ts)
{
	return ts > f->started ? ts - f->started : 0;
}

static void log_json_add_times(struct json_object *o, const struct fabric *f,
			       const struct journal_entry *j)
{
	if (j->since)
		json_add_int(o, "since", log_json_since_start(f, j->since));
	if (j->last)
		json_add_int(o, "last", log_json_since_start(f, j->last));
}

static void log_json_add_more(struct json_object *o, const struct fabric *f,
			      const struct journal_entry *j)
{
	if (!j->more)
		return;
	json_add_int(o, "more", j->more);
	json_add_int(o, "until", log_json_since_start(f, j->until));
}

static void log_json_add_key(struct json_object *o, const struct journal_key *k)
{
	struct json_object *key;

	if (!k->fault)
		return;
	key = json_object_new_object();
	json_add(key, "va", json_object_new_uint64(k->va));
	json_add_int(key, "len", k->len);
	if (k->fault != KEY_ALIGNMENT)
		json_add_int(key, "key", k->key);
	json_add_str(key, "fault", journal_key_fault_name(k->fault));
	if (k->near_key) {
		json_add_int(key, "region_key", k->near_key);
		json_add(key, "region_va", json_object_new_uint64(k->near_addr));
		json_add_int(key, "region_len", k->near_len);
	}
	json_add(o, "key", key);
}

static void log_json_add_why(struct json_object *o, const struct journal_entry *j)
{
	json_add_str(o, "cause", journal_cause_name(j->cause));
	json_add_int(o, "info", j->info);
	if (j->why) {
		json_add_str(o, "why", journal_why_name(j->why));
		json_add_int(o, "why_info", j->why_info);
	}
	if (j->why_cause)
		json_add_str(o, "why_cause", journal_cause_name(j->why_cause));
	if (j->n)
		json_add_int(o, "n", j->n);
	log_json_add_key(o, &j->key);
}

struct json_object *log_json(struct fabric *f, const struct journal_entry *j)
{
	struct json_object *o = json_object_new_object();
	const char *rule = j->rule ? fault_rule_text(f, j->rule) : NULL;
	char text[LOG_LINE_MAX];

	json_add_int(o, "ts", log_json_since_start(f, j->ts));
	json_add_str(o, "kind", journal_kind_name(j));
	json_add_str(o, "severity", journal_is_error(j) ? "error" : "notice");
	json_add_str(o, "status", journal_status_name(j));
	json_add(o, "who", log_json_who(f->hca, &j->who));
	json_add(o, "peer", log_json_who(f->hca, &j->peer));
	if (j->qp_type)
		json_add_str(o, "qp_type", ib_qp_type_name(j->qp_type));
	if (j->conn)
		json_add_int(o, "conn", j->conn);
	if (j->port && j->dev < f->hca->n_devs) {
		json_add_str(o, "device", f->hca->dev[j->dev].name);
		json_add_int(o, "port", j->port);
	}
	journal_op_text(j, text, sizeof(text));
	if (text[0])
		json_add_str(o, "opcode", text);
	if (j->has_wr_id)
		json_add(o, "wr_id", json_object_new_uint64(j->wr_id));
	if (j->has_psn)
		json_add_int(o, "psn", j->psn);
	if (j->counters[0])
		json_add_str(o, "counters", j->counters);
	json_add_int(o, "attempt", j->attempt);
	log_json_add_times(o, f, j);
	log_json_add_more(o, f, j);
	log_json_add_why(o, j);
	if (j->rule) {
		json_add_int(o, "rule", j->rule);
		json_add_str(o, "rule_text", rule);
	}
	journal_why_text(f->hca, j, f->started, rule, text, sizeof(text));
	json_add_str(o, "text", text);
	log_line(f, j, text, sizeof(text));
	json_add_str(o, "line", text);
	return o;
}
