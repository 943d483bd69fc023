/* SPDX-License-Identifier: MIT */
/* The checker around a program. */
#include "fabric/cli/check/session.h"
#include "fabric/cli/check/found.h"

#include "fabric/proto/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char session_dir[PATH_MAX];
static const struct opts *session_opts;
static struct found_all session_early; /* printed before the end */
static struct suppress_file session_suppress;

bool check_session_is_on(void)
{
	return session_dir[0];
}

/*
 * A checker that watches buffers or polled memory takes rights away from the program's pages for a
 * while. These stay where they are, whatever the program is to lend, and the device has mappings of
 * its own of those that are shared. Return: 0 or -1.
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
			return setenv(PROTO_LEND_ENV, "0", 1) || setenv(PROTO_ALIAS_ENV, "1", 1);
	return 0;
}

int check_session_start(const struct opts *o)
{
	session_opts = o;
	if (o->check_suppress[0] && suppress_file_load(&session_suppress, o->check_suppress))
		return -1;
	if (directory_make(session_dir))
		return -1;
	if (setenv(FINDING_DIR_ENV, session_dir, 1) || setenv(FINDING_LIST_ENV, o->check, 1) ||
	    session_keep_memory(o))
		return print_error("environment: %s", strerror(errno));
	return 0;
}

static bool session_is_printed(const struct found_all *all, const struct found *f)
{
	return all != &session_early && found_has(&session_early, f);
}

/* Prints what is not suppressed, and not printed yet. Return: the number of errors. */
static u32 session_print(const struct opts *o, const struct found_all *all)
{
	u32 i, n[FINDING_SEVERITIES] = { 0 };

	for (i = 0; i < all->n; i++) {
		if (all->found[i]->suppressed)
			continue;
		if (!session_is_printed(all, all->found[i]))
			found_print(all->found[i], o->gen_suppressions);
		n[finding_defs[all->found[i]->id].severity]++;
	}
	if (n[FINDING_ERROR] + n[FINDING_WARNING] + n[FINDING_INFO])
		fprintf(stderr, "rdmaemu: check: %u error%s, %u warning%s%s\n", n[FINDING_ERROR],
			n[FINDING_ERROR] == 1 ? "" : "s", n[FINDING_WARNING],
			n[FINDING_WARNING] == 1 ? "" : "s", n[FINDING_INFO] ? ", and infos" : "");
	return n[FINDING_ERROR];
}

static void session_read(struct found_all *all)
{
	u32 i;

	found_read(all, session_dir);
	for (i = 0; i < all->n; i++) {
		symbols_resolve(&all->found[i]->here);
		symbols_resolve(&all->found[i]->other);
	}
	suppress_apply(all, &session_suppress);
}

void check_session_report_early(void)
{
	if (!check_session_is_on())
		return;
	session_read(&session_early);
	if (session_early.n)
		fprintf(stderr,
			"rdmaemu: check: the program has not ended yet, and has until now:\n");
	session_print(session_opts, &session_early);
}

int check_session_report(const struct opts *o, bool *has_errors)
{
	static struct found_all all;
	int ret = 0;

	*has_errors = false;
	if (!check_session_is_on())
		return 0;
	session_read(&all);
	directory_remove(session_dir);
	*has_errors = session_print(o, &all) > 0;
	if (all.lost)
		ret = print_error("check: reports of a program are incomplete");
	if (o->check_json[0] && found_write_json(&all, o->check_json))
		ret = -1;
	if (o->check_sarif[0] && found_write_sarif(&all, o->check_sarif))
		ret = -1;
	return ret;
}
