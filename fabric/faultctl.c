/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu fault add|list|remove|clear`.
 */
#include "fabric/atend.h"
#include "fabric/cli.h"
#include "fabric/fault.h"
#include "fabric/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The words as one line. */
static char *join_words(int argc, char **argv)
{
	size_t len = 1;
	char *text;
	int i;

	for (i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	text = calloc(1, len);
	for (i = 0; text && i < argc; i++) {
		strcat(text, argv[i]);
		strcat(text, i + 1 < argc ? " " : "");
	}
	return text;
}

/* Rules are on the command line, or in the file of --scenario. Return: 0 or the exit status. */
static int rules_given(struct scenario *s, const struct opts *o, int argc, char **argv)
{
	bool file = o->level[OPT_SCENARIO] == LEVEL_FLAG;
	char *text;
	int ret;

	if (file ? argc : !argc) {
		trouble("fault add: expected a rule or --scenario; see 'rdmaemu fault add --help'");
		return EXIT_USAGE;
	}
	if (file)
		return scenario_load(s, o) ? EXIT_USAGE : 0;
	text = join_words(argc, argv);
	ret = text ? scenario_text(s, text) : trouble("%s", strerror(ENOMEM));
	free(text);
	if (!ret && !s->n) {
		scenario_free(s);
		trouble("fault add: expected a rule; see 'rdmaemu fault add --help'");
		return EXIT_USAGE;
	}
	return ret ? EXIT_USAGE : 0;
}

int verb_fault_add(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct scenario s = { 0 };
	int sock, ret = rules_given(&s, o, argc, argv);

	if (ret)
		return ret;
	if (o->dry_run) {
		scenario_print(&s, o->json);
		scenario_free(&s);
		return 0;
	}
	sock = ctl_connect(p->sock);
	if (sock < 0) {
		scenario_free(&s);
		return not_running(o, sock);
	}
	ret = scenario_add(&s, sock, o, NULL, NULL) ? 1 : 0;
	close(sock);
	scenario_free(&s);
	return ret;
}

int verb_fault_list(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return print_text(o, p, PROTO_FAULT_LIST);
}

int verb_fault_remove(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m;
	int sock = ctl_connect(p->sock), ret = 0, i;

	if (sock < 0)
		return not_running(o, sock);
	for (i = 0; i < argc && !ret; i++) {
		memset(&m, 0, sizeof(m));
		m.op = PROTO_FAULT_REMOVE;
		if (!*argv[i] || strlen(argv[i]) >= sizeof(m.fault.name)) {
			trouble("fault remove: '%s': expected a rule's name", argv[i]);
			ret = EXIT_USAGE;
			break;
		}
		snprintf(m.fault.name, sizeof(m.fault.name), "%s", argv[i]);
		ret = ctl_call(sock, &m, NULL);
		if (ret == -ENOENT)
			ret = trouble("fabric %s has no rule '%s'; see 'rdmaemu fault list'",
				      o->fabric, argv[i])
				      ? 1
				      : 0;
		else if (ret)
			ret = not_running(o, ret);
	}
	close(sock);
	return ret;
}

int verb_fault_clear(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = { .op = PROTO_FAULT_CLEAR };
	int sock = ctl_connect(p->sock), ret;

	(void)argc;
	(void)argv;
	if (sock < 0)
		return not_running(o, sock);
	ret = ctl_call(sock, &m, NULL);
	close(sock);
	return ret ? not_running(o, ret) : 0;
}

bool faults_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->scenario[0];
}

void faults_report(const struct opts *o, const struct fabric_paths *p, u32 run, const char *program)
{
	struct proto_msg m = { .op = PROTO_FAULT_LIST, .flags = PROTO_F_SUMMARY };
	int sock = ctl_connect(p->sock), fd = -1, ret;
	char line[2 * FAULT_TEXT];
	FILE *in;

	(void)run;
	(void)program;
	ret = sock < 0 ? sock : ctl_call(sock, &m, &fd);
	if (sock >= 0)
		close(sock);
	in = ret || fd < 0 ? NULL : fdopen(fd, "r");
	if (!in) {
		not_running(o, ret ? ret : -EPROTO);
		return;
	}
	rewind(in);
	while (fgets(line, sizeof(line), in))
		fprintf(stderr, "rdmaemu: %s", line);
	fclose(in);
}
