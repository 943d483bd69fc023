/* SPDX-License-Identifier: MIT */
/**
 * DOC: see log_text.h.
 *
 * An entry is one line, so that grep(1) finds it whole. On a terminal a longer one is wrapped to
 * the terminal's width, with an indent, and its severity has a colour, unless NO_COLOR is set.
 */
#include "fabric/cli/log_text.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_TEXT_MAX  4096u
#define LOG_INDENT    8u /* the severity and a space */
#define NSEC_IN_USEC  1000u
#define USEC_IN_SEC   1000000u
#define COLOUR_ERROR  "\033[1;31m"
#define COLOUR_NOTICE "\033[33m"
#define COLOUR_INFO   "\033[36m"
#define COLOUR_END    "\033[0m"

static const char *entry_str(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "";
}

static u64 entry_int(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? (u64)json_object_get_int64(v) : 0;
}

/* "rping[123]", with "@NODE" unless that is the host itself. */
static void entry_who(struct json_object *entry, char *buf, size_t size)
{
	const char *name = "", *node = "";
	struct json_object *who;

	if (json_object_object_get_ex(entry, "who", &who)) {
		name = entry_str(who, "name");
		node = entry_str(who, "node");
	}
	if (*name)
		snprintf(buf, size, "%s[%llu]%s%s", name, (unsigned long long)entry_int(who, "pid"),
			 strcmp(node, "node0") != 0 ? "@" : "",
			 strcmp(node, "node0") != 0 ? node : "");
	else if (entry_int(entry, "port"))
		snprintf(buf, size, "%s port %llu", entry_str(entry, "device"),
			 (unsigned long long)entry_int(entry, "port"));
	else
		snprintf(buf, size, "%s%s", *node ? "node " : "fabric", node);
}

static void entry_short_text(struct json_object *entry, char *buf, size_t size)
{
	const char *op = entry_str(entry, "opcode");
	char who[128];

	entry_who(entry, who, sizeof(who));
	snprintf(buf, size, "%s%s%s: %s", who, *op ? " " : "", op, entry_str(entry, "text"));
}

/* The whole line after its severity. */
static void entry_text(const struct opts *o, struct json_object *entry, char *buf, size_t size)
{
	bool note = !strcmp(entry_str(entry, "kind"), "fabric");
	u64 us = entry_int(entry, "ts") / NSEC_IN_USEC;
	char rest[LOG_TEXT_MAX];

	if (note)
		snprintf(rest, sizeof(rest), "%s", entry_str(entry, "text"));
	else if (o->verbose)
		snprintf(rest, sizeof(rest), "%s", entry_str(entry, "line"));
	else
		entry_short_text(entry, rest, sizeof(rest));
	snprintf(buf, size, "%-25s %4llu.%06llu %s", note ? "fabric" : entry_str(entry, "status"),
		 (unsigned long long)(us / USEC_IN_SEC), (unsigned long long)(us % USEC_IN_SEC),
		 rest);
}

static bool log_has_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void severity_print(FILE *out, const char *severity)
{
	const char *colour = !strcmp(severity, "error")	   ? COLOUR_ERROR
			     : !strcmp(severity, "notice") ? COLOUR_NOTICE
							   : COLOUR_INFO;

	if (log_has_colour(out))
		fprintf(out, "%s%-7s" COLOUR_END " ", colour, severity);
	else
		fprintf(out, "%-7s ", severity);
}

/* Print @text from column LOG_INDENT on, and continue there in the next line. */
static void text_print_wrapped(FILE *out, const char *text, size_t width)
{
	size_t room = width - LOG_INDENT, n;

	while (strlen(text) > room) {
		for (n = room; n && text[n] != ' '; n--)
			;
		if (!n)
			n = strcspn(text, " ");
		fprintf(out, "%.*s\n", (int)n, text);
		text += n + strspn(text + n, " ");
		if (*text)
			fprintf(out, "%*s", (int)LOG_INDENT, "");
		else
			return;
	}
	fprintf(out, "%s\n", text);
}

void log_text_print(FILE *out, const struct opts *o, struct json_object *entry)
{
	char text[LOG_TEXT_MAX + 128];

	entry_text(o, entry, text, sizeof(text));
	severity_print(out, entry_str(entry, "severity"));
	if (isatty(fileno(out)))
		text_print_wrapped(out, text, text_width(out));
	else
		fprintf(out, "%s\n", text);
}
