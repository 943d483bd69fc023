/* SPDX-License-Identifier: MIT */
/* The checker around a program. */
#include "fabric/cli/check/session.h"
#include "fabric/cli/check/found.h"

#include "fabric/proto/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char session_dir[PATH_MAX];
static struct suppress_file session_suppress;

bool check_session_is_on(void)
{
	return session_dir[0];
}

/*
 * A checker that watches buffers or polled memory takes rights away from the program's pages for a
 * while. These stay where they are, whatever the program is to lend. Return: 0 or -1.
 */
static int session_keep_memory(const struct opts *o)
{
	static const enum finding_id guards[] = {
		FINDING_WR_BUFFER_WRITTEN, FINDING_WR_BUFFER_EARLY, FINDING_WR_BUFFER_UNMAPPED,
		FINDING_WR_WRITE_POLLED,   FINDING_WR_ATOMIC_CPU,
	};
	struct finding_set on;
	size_t i;

	if (finding_list_parse(o->check, &on))
		return 0;
	for (i = 0; i < ARRAY_SIZE(guards); i++)
		if (finding_set_has(&on, guards[i]))
			return setenv(PROTO_LEND_ENV, "0", 1);
	return 0;
}

int check_session_start(const struct opts *o)
{
	const char *tmp = getenv("TMPDIR");

	if (o->check_suppress[0] && suppress_file_load(&session_suppress, o->check_suppress))
		return -1;
	snprintf(session_dir, sizeof(session_dir), "%.3000s/rdmaemu-check-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(session_dir)) {
		print_error("check: %s: %s", session_dir, strerror(errno));
		session_dir[0] = '\0';
		return -1;
	}
	if (setenv(FINDING_DIR_ENV, session_dir, 1) || setenv(FINDING_LIST_ENV, o->check, 1) ||
	    session_keep_memory(o))
		return print_error("environment: %s", strerror(errno));
	return 0;
}

/* Prints what is not suppressed. Return: the number of errors. */
static u32 session_print(const struct opts *o, const struct found_all *all)
{
	u32 i, n[FINDING_SEVERITIES] = { 0 };

	for (i = 0; i < all->n; i++) {
		if (all->found[i]->suppressed)
			continue;
		found_print(all->found[i], o->gen_suppressions);
		n[finding_defs[all->found[i]->id].severity]++;
	}
	if (n[FINDING_ERROR] + n[FINDING_WARNING] + n[FINDING_INFO])
		fprintf(stderr, "rdmaemu: check: %u error%s, %u warning%s%s\n", n[FINDING_ERROR],
			n[FINDING_ERROR] == 1 ? "" : "s", n[FINDING_WARNING],
			n[FINDING_WARNING] == 1 ? "" : "s", n[FINDING_INFO] ? ", and infos" : "");
	return n[FINDING_ERROR];
}

int check_session_report(const struct opts *o, bool *has_errors)
{
	static struct found_all all;
	int ret = 0;
	u32 i;

	*has_errors = false;
	if (!check_session_is_on())
		return 0;
	found_read(&all, session_dir);
	for (i = 0; i < all.n; i++) {
		symbols_resolve(&all.found[i]->here);
		symbols_resolve(&all.found[i]->other);
	}
	suppress_apply(&all, &session_suppress);
	*has_errors = session_print(o, &all) > 0;
	if (all.lost)
		ret = print_error("check: reports of a program are incomplete");
	if (o->check_json[0] && found_write_json(&all, o->check_json))
		ret = -1;
	if (o->check_sarif[0] && found_write_sarif(&all, o->check_sarif))
		ret = -1;
	return ret;
}
