/* SPDX-License-Identifier: MIT */
/* See scenario.h. */
#include "fabric/cli/scenario.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/control.h"
#include "fabric/fault/keys.h"
#include "fabric/fault/parse.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/** struct reading - context of scenario_read_rule(). @all: the array for --json, or NULL */
struct reading {
	struct fault_bad bad;
	const struct scenario *s;
	u32 n;
	bool print;
	struct json_object *all;
};

static void scenario_show_rule(struct reading *r, const struct fault_rule *rule, u32 line)
{
	char name[FAULT_NAME], place[FAULT_PLACE] = "";
	struct json_object *o;

	snprintf(name, sizeof(name), "%s", rule->name);
	if (!name[0])
		snprintf(name, sizeof(name), "f%u", r->n);
	if (r->s->file)
		snprintf(place, sizeof(place), "%.240s:%u", r->s->file, line);
	if (!r->all) {
		printf("%s: %s%s%s\n", name, rule->text, place[0] ? "  # " : "", place);
		return;
	}
	o = json_object_new_object();
	json_add_str(o, "name", name);
	json_add_str(o, "rule", rule->text);
	if (place[0])
		json_add_str(o, "place", place);
	json_object_array_add(r->all, o);
}

static int scenario_read_rule(void *ctx, const char *text, u32 line)
{
	struct reading *r = ctx;
	struct fault_rule rule;
	int ret = fault_parse(&rule, text, &r->bad);

	if (!ret && r->s->real)
		ret = fault_check_real(&rule, &r->bad);
	if (ret)
		return ret;
	if (r->n++ >= FAULT_RULES)
		return fault_refuse(&r->bad, text, "at most %u rules", FAULT_RULES);
	if (r->print)
		scenario_show_rule(r, &rule, line);
	return 0;
}

/* Return: 0 or -1 after a line on stderr. */
static int scenario_read_rules(struct scenario *s)
{
	struct reading r = { .s = s };
	u32 line = 0;

	if (!fault_parse_lines(s->text, s->len, &r.bad, &line, scenario_read_rule, &r)) {
		s->n = r.n;
		return 0;
	}
	if (s->file)
		print_error("%s:%u: '%s': expected %s", s->file, line, r.bad.word, r.bad.expected);
	else
		print_error("fault: '%s': expected %s", r.bad.word, r.bad.expected);
	scenario_free(s);
	return -1;
}

int scenario_load(struct scenario *s, const struct opts *o)
{
	*s = (struct scenario){ .file = o->scenario, .real = o->real == REAL_RULES };
	if (!o->scenario[0])
		return 0;
	s->text = text_input_read("scenario", o->scenario, FAULT_SCENARIO, &s->len);
	return s->text ? scenario_read_rules(s) : -1;
}

int scenario_text(struct scenario *s, const char *text)
{
	*s = (struct scenario){ .text = strdup(text), .len = strlen(text) };
	if (!s->text)
		return print_error("%s", strerror(ENOMEM));
	return scenario_read_rules(s);
}

/*
 * Whether an argument begins a rule of its own: one with a name before it, or a whole rule in one
 * argument. Other arguments are words of the rule before them.
 */
static bool argument_is_rule(const char *arg)
{
	size_t n;
	char word[FAULT_NAME];

	arg += strspn(arg, " \t");
	n = strcspn(arg, " \t:=");
	if (n && arg[n] == ':' && (!arg[n + 1] || strchr(" \t", arg[n + 1])))
		return true;
	if (!strpbrk(arg, " \t") || n >= sizeof(word))
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)n, arg);
	return fault_act_def(word);
}

/* Join the words to one line, which the caller frees. */
static char *scenario_join_words(int argc, char **argv)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int i;

	if (!out)
		return NULL;
	for (i = 0; i < argc; i++)
		fprintf(out, "%s%s", !i ? "" : argument_is_rule(argv[i]) ? " ; " : " ", argv[i]);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

int scenario_from_args(struct scenario *s, const char *verb, const struct opts *o, int argc,
		       char **argv)
{
	bool file = o->level[OPT_SCENARIO] == LEVEL_FLAG;
	char *text;
	int ret;

	if (file ? argc : !argc) {
		print_error("%s: expected a rule or --scenario; see 'rdmaemu %s --help'", verb,
			    verb);
		return EXIT_USAGE;
	}
	if (file)
		return scenario_load(s, o) ? EXIT_USAGE : 0;
	text = scenario_join_words(argc, argv);
	ret = text ? scenario_text(s, text) : print_error("%s", strerror(ENOMEM));
	free(text);
	if (!ret && !s->n) {
		scenario_free(s);
		print_error("%s: expected a rule; see 'rdmaemu %s --help'", verb, verb);
		return EXIT_USAGE;
	}
	return ret ? EXIT_USAGE : 0;
}

void scenario_print(const struct scenario *s, bool json)
{
	struct reading r = { .s = s, .print = true, .all = json ? json_object_new_array() : NULL };
	u32 line;

	if (s->text)
		fault_parse_lines(s->text, s->len, &r.bad, &line, scenario_read_rule, &r);
	if (json)
		json_print(stdout, r.all);
}

static int scenario_send(int sock, struct proto_msg *m, const char *text, size_t len)
{
	int fd = text_memfd(text, len), ret;

	if (fd < 0)
		return fd;
	ret = ctl_call_fd(sock, m, fd);
	close(fd);
	return ret;
}

int scenario_add(const struct scenario *s, int sock, const struct opts *o, u32 flags)
{
	static struct proto_msg m;
	int ret;

	if (!s->text)
		return 0;
	m = (struct proto_msg){ .op = PROTO_FAULT_ADD, .flags = flags };
	if (s->file)
		snprintf(m.fault.place, sizeof(m.fault.place), "%s", s->file);
	ret = scenario_send(sock, &m, s->text, s->len);
	if (ret == -EINVAL && m.fault.text[0])
		return print_error("%s%s", s->file ? "" : "fault: ", m.fault.text);
	if (ret == -EBUSY)
		return print_error("fabric %s is busy with other rules: try again", o->fabric);
	if (ret)
		return ret == -EACCES
			       ? ctl_print_error(o, ret)
			       : print_error("fabric %s: rules: %s", o->fabric, strerror(-ret));
	return 0;
}

void scenario_free(struct scenario *s)
{
	free(s->text);
	s->text = NULL;
}
