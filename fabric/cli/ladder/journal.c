/* SPDX-License-Identifier: MIT */
/**
 * DOC: a ladder of the journal: `rdmaemu log --ladder`. A lane is a program; an entry about a
 * packet leads from its sender to its receiver, any other one stands at its program.
 */
#include "fabric/cli/ladder/ladder.h"
#include "fabric/common/json.h"

#include <string.h>

/* "rping[123]@b"; or the node or fabric, if no program is known. */
static u32 journal_lane(struct ladder *l, struct json_object *entry, const char *side)
{
	struct json_object *who = json_object_object_get(entry, side);
	const char *name = json_get_str(who, "name"), *node = json_get_str(who, "node");
	char text[LADDER_NAME];

	if (*name)
		snprintf(text, sizeof(text), "%.32s[%s]%s%.20s", name, json_get_str(who, "pid"),
			 *node ? "@" : "", node);
	else
		snprintf(text, sizeof(text), "%s%.50s", *node ? "node " : "fabric", node);
	return ladder_lane(l, text);
}

static bool journal_has_peer(struct json_object *entry)
{
	struct json_object *peer = json_object_object_get(entry, "peer");

	return json_get_str(peer, "name")[0] || json_get_str(peer, "node")[0];
}

static bool journal_is_kind(struct json_object *entry, const char *kind)
{
	return !strcmp(json_get_str(entry, "kind"), kind);
}

/* Whether the entry is about a packet that one side has sent to the other. */
static bool journal_is_arrow(struct json_object *entry)
{
	return journal_has_peer(entry) &&
	       (journal_is_kind(entry, "drop") || journal_is_kind(entry, "nak") ||
		journal_is_kind(entry, "retry"));
}

void ladder_journal_count(struct ladder *l, struct json_object *entry)
{
	journal_lane(l, entry, "who");
	if (journal_is_arrow(entry))
		journal_lane(l, entry, "peer");
	ladder_count(l, json_get_int(entry, "ts"));
}

void ladder_journal_step(struct ladder *l, struct json_object *entry)
{
	const char *op = json_get_str(entry, "opcode"), *status = json_get_str(entry, "status");
	struct ladder_step s = { .ns = json_get_int(entry, "ts") };

	s.from = journal_lane(l, entry, "who");
	s.to = journal_is_arrow(entry) ? journal_lane(l, entry, "peer") : s.from;
	s.lost = journal_is_kind(entry, "drop");
	s.bad = s.lost || !strcmp(json_get_str(entry, "severity"), "error");
	if (*status || *op) {
		snprintf(s.label, sizeof(s.label), "%.60s%s%.60s", status, *op ? " " : "", op);
		snprintf(s.note, sizeof(s.note), "%s", json_get_str(entry, "text"));
	} else {
		/* A note of the fabric process. */
		snprintf(s.label, sizeof(s.label), "%s", json_get_str(entry, "text"));
	}
	ladder_step(l, &s);
}
