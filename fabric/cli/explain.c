/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu run --explain`: report what went wrong for the program and its children, and why.
 */
#include "fabric/cli/run_report.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/log_text.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GONE_TRIES   50 /* the fabric may add entries while it cleans up after a program */
#define GONE_WAIT_US 10000

bool run_explain_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->explain;
}

int run_journal_summary(const struct fabric_paths *p, u32 run, struct proto_msg *m, int *fd)
{
	int sock = ctl_connect(p->sock), tries = 0, ret;

	if (sock < 0)
		return sock;
	for (;;) {
		*m = (struct proto_msg){ .op = PROTO_LOG, .flags = PROTO_F_SUMMARY };
		m->log.run = run;
		*fd = -1;
		ret = ctl_call(sock, m, fd);
		if (!ret && *fd < 0)
			ret = -EPROTO;
		if (ret || !m->log.clients || tries++ >= GONE_TRIES)
			break;
		close(*fd);
		usleep(GONE_WAIT_US);
	}
	close(sock);
	return ret;
}

/* Print the entries of a summary in @fd, one a line, as `rdmaemu log` does. */
static void explain_print(const struct opts *o, int fd)
{
	struct json_object *entry;
	char *text, *copy, *line, *rest;
	size_t len = 0;

	text = memfd_map(fd, &len);
	close(fd);
	if (!text)
		return;
	copy = rest = strndup(text, len);
	munmap(text, len);
	if (!copy)
		print_error("%s", strerror(ENOMEM));
	while ((line = strsep(&rest, "\n")) && *line) {
		entry = json_tokener_parse(line);
		if (entry)
			log_text_print(stderr, o, entry);
		json_object_put(entry);
	}
	free(copy);
}

enum run_result run_explain_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				   const char *program)
{
	struct proto_msg m;
	int fd, ret = run_journal_summary(p, run, &m, &fd);

	if (ret) {
		ctl_print_error(o, ret);
		return RUN_DONE;
	}
	if (!m.log.errors && !m.log.notices)
		fprintf(stderr, "rdmaemu: nothing to explain: no %s of %s\n",
			o->real == REAL_RULES ? "failed call or completion"
					      : "error, drop, NAK or retry",
			program);
	else
		fprintf(stderr, "rdmaemu: %llu error%s, %llu notice%s of %s\n",
			(unsigned long long)m.log.errors, m.log.errors == 1 ? "" : "s",
			(unsigned long long)m.log.notices, m.log.notices == 1 ? "" : "s", program);
	explain_print(o, fd);
	if (m.log.lost)
		fprintf(stderr, "rdmaemu: %llu more of other kinds; see 'rdmaemu log'\n",
			(unsigned long long)m.log.lost);
	return RUN_DONE;
}
