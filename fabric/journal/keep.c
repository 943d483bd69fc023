/* SPDX-License-Identifier: MIT */
/**
 * DOC: keeping the journal of a fabric that ends: see common/journal_dir.h.
 */
#include "fabric/common/daemon_start.h"
#include "fabric/common/journal_dir.h"
#include "fabric/common/json.h"
#include "fabric/journal/log.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char *keep_make_entries(struct fabric *f, size_t *len)
{
	struct proto_log q = { 0 };
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	json_begin();
	log_print(out, f, &q, PROTO_F_LINES);
	if (!fclose(out) && !json_end())
		return text;
	free(text);
	return NULL;
}

/* The first line. @cut: older entries are left out */
static void keep_print_head(FILE *out, const struct fabric *f, bool cut)
{
	struct json_object *o = json_object_new_object(), *nodes = json_object_new_array();
	u32 i;

	for (i = 0; i < f->hca->n_nodes; i++)
		json_append(nodes, json_object_new_string(f->hca->node[i].name));
	json_add_str(o, "fabric", f->name);
	json_add_int(o, "pid", (u64)getpid());
	json_add_int(o, "ended", (u64)time(NULL));
	json_add(o, "cut", json_object_new_boolean(cut));
	json_add(o, "nodes", nodes);
	fprintf(out, "%s\n", json_text(o, JSON_C_TO_STRING_SPACED));
	json_object_put(o);
}

int log_keep(struct fabric *f)
{
	size_t entries_len = 0, len = 0, skip = 0;
	char *entries = keep_make_entries(f, &entries_len), *text = NULL, *end;
	FILE *out = open_memstream(&text, &len);
	int ret = -ENOMEM;

	if (entries && entries_len > JOURNAL_BYTES) {
		skip = entries_len - JOURNAL_BYTES;
		end = memchr(entries + skip, '\n', entries_len - skip);
		skip = end ? (size_t)(end - entries) + 1 : entries_len;
	}
	if (out) {
		json_begin();
		keep_print_head(out, f, skip);
		if (entries)
			fwrite(entries + skip, 1, entries_len - skip, out);
		if (!fclose(out) && entries && !json_end())
			ret = getenv(DAEMON_NO_JOURNAL_ENV)
				      ? 0
				      : journal_dir_add(f->paths.dir, f->name, text, len);
	}
	free(text);
	free(entries);
	return ret;
}
