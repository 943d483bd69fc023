/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu log`: the journal of a running fabric, or one that was kept.
 *
 * The fabric process sends entries as JSON, one a line; kept journals (common/journal_dir.h) have
 * the same lines. What selects and prints them is here.
 */
#include "fabric/cli/log_text.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/ladder/ladder.h"
#include "fabric/common/journal_dir.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/**
 * struct entries - entries that are printed.
 * @select: they are not selected yet
 * @n: how many there were so far
 * @ladder: of --ladder, or NULL; @count: this is its first pass
 */
struct entries {
	const struct opts *o;
	bool select;
	u64 n;
	struct ladder *ladder;
	bool count;
};

/* A node is one that --node names, not the one that programs are on. */
static const char *log_node(const struct opts *o)
{
	return o->level[OPT_NODE] == LEVEL_FLAG ? o->node : "";
}

static struct proto_msg log_query(const struct opts *o)
{
	struct proto_msg m = { .op = PROTO_LOG, .flags = PROTO_F_JSON };

	if (o->follow)
		m.flags |= PROTO_F_FOLLOW;
	if (o->follow || !o->json)
		m.flags |= PROTO_F_LINES;
	snprintf(m.log.program, sizeof(m.log.program), "%s", o->program);
	snprintf(m.log.node, sizeof(m.log.node), "%s", log_node(o));
	m.log.qpn = o->qpn;
	memcpy(m.member, o->member, sizeof(o->member));
	return m;
}

static int log_print_error(const struct opts *o, int err)
{
	const char *fabric = o->member[0] ? o->member : o->fabric;

	if (err != -ENODEV)
		return ctl_print_error(o, err);
	print_error("fabric %s has no node '%s'; see 'rdmaemu status'", fabric, log_node(o));
	return 1;
}

/* --- selection of entries of a kept journal --------------------------------------------------- */

static const char *side_str(struct json_object *side, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(side, key, &v) ? json_object_get_string(v) : "";
}

static bool side_is_wanted(const struct opts *o, struct json_object *entry, const char *which)
{
	const char *node = log_node(o);
	struct json_object *side, *qpn;

	if (!json_object_object_get_ex(entry, which, &side))
		return false;
	if (o->program[0] && strcmp(side_str(side, "name"), o->program) != 0 &&
	    strcmp(side_str(side, "pid"), o->program) != 0)
		return false;
	if (*node && strcmp(side_str(side, "node"), node) != 0)
		return false;
	return !o->qpn || (json_object_object_get_ex(side, "qpn", &qpn) &&
			   json_object_get_int64(qpn) == o->qpn);
}

static bool log_has_filter(const struct opts *o)
{
	return o->program[0] || *log_node(o) || o->qpn;
}

static bool entry_is_wanted(const struct opts *o, struct json_object *entry)
{
	return !log_has_filter(o) || side_is_wanted(o, entry, "who") ||
	       side_is_wanted(o, entry, "peer");
}

/* --- printing --------------------------------------------------------------------------------- */

static void entry_print(struct entries *e, struct json_object *entry, const char *line, size_t n)
{
	e->n++;
	if (e->ladder && e->count)
		ladder_journal_count(e->ladder, entry);
	else if (e->ladder)
		ladder_journal_step(e->ladder, entry);
	else if (!e->o->json)
		log_text_print(stdout, e->o, entry);
	else
		printf("%s%.*s", e->n == 1 ? "[\n  " : ",\n  ", (int)n, line);
}

/* Print the entries in @text, one a line, or go through them. Return: 0 or -1. */
static int entries_each(struct entries *e, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	const char *end = text + len, *nl;
	struct json_object *entry;

	for (; tok && text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		nl = nl ? nl : end;
		json_tokener_reset(tok);
		entry = json_tokener_parse_ex(tok, text, (int)(nl - text));
		if (!json_object_is_type(entry, json_type_object)) {
			json_object_put(entry);
			json_tokener_free(tok);
			return print_error("log: expected JSON objects, one a line");
		}
		if (!e->select || entry_is_wanted(e->o, entry))
			entry_print(e, entry, text, (size_t)(nl - text));
		json_object_put(entry);
	}
	json_tokener_free(tok);
	return fflush(stdout) ? print_error("standard output: %s", strerror(errno)) : 0;
}

static int entries_print_ladder(struct entries *e, const char *text, size_t len)
{
	static struct ladder l;
	int ret;

	ladder_init(&l, stdout, e->o);
	e->ladder = &l;
	e->count = true;
	ret = entries_each(e, text, len);
	if (ret)
		return ret;
	e->n = 0;
	e->count = false;
	ladder_head(&l);
	ret = entries_each(e, text, len);
	ladder_end(&l);
	return ret;
}

/* Return: 0 or -1. */
static int entries_print(struct entries *e, const char *text, size_t len)
{
	return e->o->ladder ? entries_print_ladder(e, text, len) : entries_each(e, text, len);
}

/* A program or queue pair that no entry is about may have a typing error in its name. */
static void log_note_none(const struct entries *e)
{
	if (e->n || e->o->follow)
		return;
	if (e->o->program[0])
		print_error("no entry of the journal is about program '%s'", e->o->program);
	else if (e->o->qpn)
		print_error("no entry of the journal is about queue pair 0x%06x", e->o->qpn);
}

/* Return: exit status. */
static int log_print_answer(const struct opts *o, const struct proto_msg *m, int fd)
{
	struct entries e = { .o = o };
	size_t len = 0;
	char *text;
	int ret;

	if (m->log.lost)
		print_error("%llu entries were overwritten before they could be printed",
			    (unsigned long long)m->log.lost);
	if (o->json)
		return memfd_print(fd, stdout);
	text = memfd_map(fd, &len);
	close(fd);
	ret = text ? entries_print(&e, text, len) : 0;
	if (!ret)
		log_note_none(&e);
	if (text)
		munmap(text, len);
	return ret ? 1 : 0;
}

/* Print new entries until the fabric ends. Return: exit status. */
static int log_follow(const struct opts *o, int sock)
{
	struct proto_msg m;
	int fd = -1, ret;

	for (;;) {
		ret = ctl_receive(sock, &m, &fd);
		if (ret == -ETIMEDOUT)
			continue;
		if (ret == -EPIPE)
			return 0;
		if (!ret && (m.ret || fd < 0))
			ret = m.ret ? m.ret : -EPROTO;
		if (ret)
			return log_print_error(o, ret);
		ret = log_print_answer(o, &m, fd);
		if (ret)
			return ret;
	}
}

/* --- kept journals ---------------------------------------------------------------------------- */

static bool kept_has_node(struct json_object *head, const char *node)
{
	struct json_object *nodes;
	size_t i;

	if (!json_object_object_get_ex(head, "nodes", &nodes))
		return false;
	for (i = 0; i < json_object_array_length(nodes); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(nodes, i)), node))
			return true;
	return false;
}

/* One line on stderr says which journal follows. Return: 0 or -1. */
static int kept_print_head(const struct opts *o, struct json_object *head)
{
	time_t ended = (time_t)strtoll(side_str(head, "ended"), NULL, 10);
	const char *fabric = side_str(head, "fabric"), *node = log_node(o);
	char when[64] = "";
	struct tm tm;

	if (*node && !kept_has_node(head, node))
		return print_error("fabric %s had no node '%s'", fabric, node);
	if (localtime_r(&ended, &tm))
		strftime(when, sizeof(when), "%F %T", &tm);
	print_error("the journal of fabric %s, which ended %lld s ago, at %s%s", fabric,
		    (long long)(time(NULL) - ended), when,
		    !strcmp(side_str(head, "cut"), "true") ? "; its oldest entries were not kept"
							   : "");
	return 0;
}

/* Return: exit status. */
static int kept_print(const struct opts *o, const char *path)
{
	struct entries e = { .o = o, .select = true };
	struct json_object *head;
	size_t len = 0, first;
	char *text = text_file_read("journal", path, (size_t)2 * JOURNAL_BYTES, &len);
	int ret;

	if (!text)
		return 1;
	first = strcspn(text, "\n");
	text[first] = '\0';
	head = json_tokener_parse(text);
	if (!head) {
		print_error("journal %s: expected JSON objects, one a line", path);
		free(text);
		return 1;
	}
	ret = kept_print_head(o, head);
	json_object_put(head);
	if (!ret && first + 1 < len)
		ret = entries_print(&e, text + first + 1, len - first - 1);
	if (!ret)
		log_note_none(&e);
	if (!ret && o->json)
		printf(e.n ? "\n]\n" : "[]\n");
	free(text);
	return ret ? 1 : 0;
}

/* The @nth last journal. Return: exit status. */
static int log_print_kept(const struct opts *o, const struct fabric_paths *p, u32 nth)
{
	const char *fabric = o->level[OPT_FABRIC] ? o->fabric : NULL;
	char path[PATH_MAX];
	u32 kept;

	if (!journal_dir_find(p->dir, fabric, nth, path, &kept))
		return kept_print(o, path);
	if (!o->last)
		return ctl_print_error(o, -ENOENT);
	print_error("log: --last %u: %u journal%s%s%s kept", nth, kept, kept == 1 ? "" : "s",
		    fabric ? " of this fabric" : "", kept == 1 ? " is" : " are");
	return 1;
}

static bool log_is_over(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -EPIPE;
}

int verb_log(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = log_query(o);
	int sock, fd = -1, ret;

	(void)argc;
	(void)argv;
	if (o->last && o->follow) {
		print_error("log: --last: expected no --follow: that journal is complete");
		return EXIT_USAGE;
	}
	if (o->member[0] && (o->last || o->follow)) {
		print_error("log: --member: expected no --last or --follow");
		return EXIT_USAGE;
	}
	if (o->ladder && (o->follow || o->json)) {
		print_error("log: --ladder: expected no --follow or --json");
		return EXIT_USAGE;
	}
	if (o->level[OPT_FORMAT] == LEVEL_FLAG && !o->ladder) {
		print_error("log: --format: expected --ladder as well");
		return EXIT_USAGE;
	}
	if (o->last)
		return log_print_kept(o, p, o->last);
	sock = ctl_connect(p->sock);
	ret = sock < 0 ? sock : ctl_call(sock, &m, &fd);
	if (!ret && fd < 0)
		ret = -EPROTO;
	if (log_is_over(ret) && !o->follow)
		ret = log_print_kept(o, p, 1);
	else
		ret = ret ? log_print_error(o, ret) : log_print_answer(o, &m, fd);
	if (!ret && o->follow)
		ret = log_follow(o, sock);
	if (sock >= 0)
		close(sock);
	return ret;
}
