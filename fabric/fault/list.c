/* SPDX-License-Identifier: MIT */
/* Output of `rdmaemu fault list`. */
#include "fabric/core/fabric.h"
#include "fabric/fault/table.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

static const char *rule_on_name(const struct fault_rule *r)
{
	static const char *const names[] = {
		[FAULT_ON_WIRE] = "packets",	 [FAULT_ON_CALL] = "calls",
		[FAULT_ON_WR] = "work requests", [FAULT_ON_CQ] = "completion queues",
		[FAULT_ON_TIME] = "once",	 [FAULT_ON_STATE] = "state",
	};

	return r->triggered ? "packets" : names[r->on];
}

static void json_add_window_ns(struct json_object *o, const char *key, const struct fabric *f,
			       u64 at)
{
	if (at && at != FAULT_NEVER)
		json_add_int(o, key, at - f->started);
}

static struct json_object *rule_json(const struct fabric *f, const struct fault_rule *r)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "id", r->id);
	json_add_str(o, "name", r->name);
	json_add_str(o, "rule", r->text);
	if (r->place[0])
		json_add_str(o, "place", r->place);
	json_add_str(o, "on", rule_on_name(r));
	json_add_int(o, "seen", r->seen);
	json_add_int(o, "hits", r->hits);
	json_add_window_ns(o, "from_ns", f, r->from);
	json_add_window_ns(o, "until_ns", f, r->until);
	return o;
}

/*
 * Whether the rule must have fired at the end of a run with the scenario @q->place ("": with none).
 * A rule marked `must-fire` of another run's scenario may fire later.
 */
static bool rule_must_fire(const struct fault_rule *r, const struct proto_fault *q)
{
	size_t n = strnlen(q->place, sizeof(q->place));
	bool own = n && !strncmp(r->place, q->place, n) && r->place[n] == ':';

	if (q->n && (own || !n))
		return true;
	return r->what.must_fire && (own || !r->place[0]);
}

/* @end_of: the run at whose end they are listed, or NULL */
static struct json_object *list_json(const struct fabric *f, const struct proto_fault *end_of)
{
	struct json_object *root = json_object_new_object(), *all = json_object_new_array();
	const struct faults *t = f->faults;
	struct json_object *one;
	u32 i;

	for (i = 0; i < t->high; i++) {
		if (!t->rule[i].id)
			continue;
		one = rule_json(f, &t->rule[i]);
		if (end_of)
			json_add(one, "must_fire",
				 json_object_new_boolean(rule_must_fire(&t->rule[i], end_of)));
		json_append(all, one);
	}
	json_add(root, "seed", json_object_new_uint64(f->hca->seed));
	json_add(root, "random", json_object_new_boolean(t->random));
	json_add(root, "faults", all);
	return root;
}

struct json_object *fault_list_json(const struct fabric *f)
{
	return list_json(f, NULL);
}

static void list_write_text(const struct fabric *f, FILE *out)
{
	const struct faults *t = f->faults;
	const struct fault_rule *r;
	u32 i;

	if (t->n)
		fprintf(out, "%-16s %10s %10s  RULE\n", "NAME", "SEEN", "HITS");
	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id)
			fprintf(out, "%-16s %10llu %10llu  %s%s%s\n", r->name,
				(unsigned long long)r->seen, (unsigned long long)r->hits, r->text,
				r->place[0] ? "  # " : "", r->place);
	}
}

static void list_write_unfired(const struct fault_rule *r, bool must, FILE *out)
{
	fprintf(out, "fault %s %snever %s: %s%s%s%s", r->name, must ? "must fire, but " : "",
		r->seen ? "hit" : "matched", r->text, r->place[0] ? " (" : "", r->place,
		r->place[0] ? ")" : "");
	if (r->seen)
		fprintf(out, ": seen %llu time%s", (unsigned long long)r->seen,
			r->seen == 1 ? "" : "s");
	fputc('\n', out);
}

/* Printed at the end of a run: the rules that did nothing, and the seed if it decided anything. */
static void list_write_summary(const struct fabric *f, struct proto_fault *q, FILE *out)
{
	const struct proto_fault asked = *q;
	const struct faults *t = f->faults;
	const struct fault_rule *r;
	bool must;
	u32 i;

	for (i = q->id = q->n = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (!r->id)
			continue;
		must = rule_must_fire(r, &asked);
		q->id += must;
		q->n += must && !r->hits;
		if (!r->hits)
			list_write_unfired(r, must, out);
	}
	if (t->random)
		fprintf(out, "faults were decided by --seed %llu\n",
			(unsigned long long)f->hca->seed);
}

int fault_list_memfd(struct fabric *f, struct proto_msg *m)
{
	struct text_out text;
	FILE *out = text_begin(&text);

	if (!out)
		return -ENOMEM;
	if (m->flags & PROTO_F_JSON)
		json_print(out, list_json(f, m->flags & PROTO_F_SUMMARY ? &m->fault : NULL));
	else if (m->flags & PROTO_F_SUMMARY)
		list_write_summary(f, &m->fault, out);
	else
		list_write_text(f, out);
	return text_end(&text);
}

int fault_list_next(const struct fabric *f, struct proto_msg *m)
{
	const struct fault_rule *r, *found = NULL;
	const struct faults *t = f->faults;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->id >= m->fault.id && (!found || r->id < found->id))
			found = r;
	}
	if (!found)
		return -ENOENT;
	m->fault = (struct proto_fault){
		.id = found->id, .n = t->n, .seen = found->seen, .hits = found->hits
	};
	snprintf(m->fault.name, sizeof(m->fault.name), "%s", found->name);
	snprintf(m->fault.place, sizeof(m->fault.place), "%s", found->place);
	snprintf(m->fault.text, sizeof(m->fault.text), "%s", found->text);
	return 0;
}
