/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu fault add|list|remove|clear`. `try` is fabric/cli/fault_try/trial.c's.
 */
#include "fabric/cli/run_report.h"
#include "fabric/cli/cli.h"
#include "fabric/fault/rule.h"
#include "fabric/cli/scenario.h"

#include <stdio.h>
#include <unistd.h>

int verb_fault_add(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct scenario s = { 0 };
	int sock, ret = scenario_from_args(&s, "fault add", o, argc, argv);

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
		return ctl_print_error(o, sock);
	}
	ret = scenario_add(&s, sock, o, 0) ? 1 : 0;
	close(sock);
	scenario_free(&s);
	return ret;
}

int verb_fault_list(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ctl_print_text(o, p, PROTO_FAULT_LIST);
}

int verb_fault_remove(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m;
	int sock = ctl_connect(p->sock), ret = 0, i;

	if (sock < 0)
		return ctl_print_error(o, sock);
	for (i = 0; i < argc && !ret; i++) {
		memset(&m, 0, sizeof(m));
		m.op = PROTO_FAULT_REMOVE;
		if (!*argv[i] || strlen(argv[i]) >= sizeof(m.fault.name)) {
			print_error("fault remove: '%s': expected a rule's name", argv[i]);
			ret = EXIT_USAGE;
			break;
		}
		snprintf(m.fault.name, sizeof(m.fault.name), "%s", argv[i]);
		ret = ctl_call(sock, &m, NULL);
		if (ret == -ENOENT)
			ret = print_error("fabric %s has no rule '%s'; see 'rdmaemu fault list'",
					  o->fabric, argv[i])
				      ? 1
				      : 0;
		else if (ret)
			ret = ctl_print_error(o, ret);
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
		return ctl_print_error(o, sock);
	ret = ctl_call(sock, &m, NULL);
	close(sock);
	return ret ? ctl_print_error(o, ret) : 0;
}

bool run_faults_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->faults || o->must_fire;
}

/* Print the fabric's lines. Return: 0, or -errno if they cannot be had. */
static int run_faults_print(const struct fabric_paths *p, struct proto_msg *m)
{
	int sock = ctl_connect(p->sock), fd = -1, ret;
	char line[2 * FAULT_TEXT];
	FILE *in;

	ret = sock < 0 ? sock : ctl_call(sock, m, &fd);
	if (sock >= 0)
		close(sock);
	in = ret || fd < 0 ? NULL : fdopen(fd, "r");
	if (!in)
		return ret ? ret : -EPROTO;
	rewind(in);
	while (fgets(line, sizeof(line), in))
		fprintf(stderr, "rdmaemu: %s", line);
	fclose(in);
	return 0;
}

enum run_result run_faults_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				  const char *program)
{
	struct proto_msg m = { .op = PROTO_FAULT_LIST, .flags = PROTO_F_SUMMARY };
	int ret;

	(void)run;
	(void)program;
	m.fault.n = o->must_fire;
	/* As the fabric has stored it. */
	snprintf(m.fault.place, sizeof(m.fault.place), "%.240s", o->scenario);
	ret = run_faults_print(p, &m);
	if (ret) {
		ctl_print_error(o, ret);
		return o->must_fire ? RUN_TROUBLE : RUN_DONE;
	}
	if (o->must_fire && !m.fault.id) {
		print_error("--must-fire: %s", o->scenario[0] ? "the fabric has no rule of the "
								"scenario"
							      : "the fabric has no rules");
		return RUN_NOT_FIRED;
	}
	return m.fault.n ? RUN_NOT_FIRED : RUN_DONE;
}
