/* SPDX-License-Identifier: MIT */
/**
 * DOC: requests to add and remove fault rules. They wait in a queue for the token. The rules of one
 * request are all added, or none.
 */
#include "fabric/core/fabric.h"
#include "fabric/fault/action.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"
#include "fabric/nodes/nodes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fault_job {
	struct conn *conn;
	struct proto_msg msg;
	char *text;
	size_t len;
};

/**
 * struct batch - the rules of one request, collected before any is added: all are added, or none.
 */
struct batch {
	struct fabric *f;
	struct fault_rule *rule;
	u32 n;
	const char *file; /* "": from the command line */
	u64 hash; /* of the file, 0: none */
	bool of_run;
	struct fault_bad bad;
};

static bool batch_has_name(const struct batch *b, const char *name)
{
	u32 i;

	if (!name[0])
		return false;
	for (i = 0; i < b->n; i++)
		if (!strcmp(b->rule[i].name, name))
			return true;
	return fault_rule_find(b->f->faults, name, 0);
}

/* A partition that is named must be there: it stands before the rule that ends it. */
static int batch_check_heal(struct batch *b, const struct fault_rule *r)
{
	const char *name = r->what.heal;
	const struct fault_rule *o = name[0] ? fault_rule_find(b->f->faults, name, 0) : NULL;
	u32 i;

	for (i = 0; i < b->n && !o; i++)
		o = strcmp(b->rule[i].name, name) ? NULL : &b->rule[i];
	if (!name[0] || (o && o->act == FA_PARTITION))
		return 0;
	return fault_refuse(&b->bad, name, "the name of a partition, which was added before");
}

/* A rule that acts at once, and then never again, needs a program that it meets. */
static int batch_check_process(struct batch *b, const struct fault_rule *r)
{
	if (r->triggered || r->when.has_at || fault_process_is_there(b->f, r))
		return 0;
	return fault_refuse(&b->bad, r->act == FA_KILL ? "kill" : "pause",
			    "a program of that name, id or node that runs now; at= or opcode= "
			    "makes it happen later");
}

static int batch_add_rule(void *ctx, const char *text, u32 line)
{
	struct batch *b = ctx;
	struct fault_rule *r = &b->rule[b->n];
	int ret;

	if (b->f->faults->n + b->n >= FAULT_RULES)
		return fault_refuse(&b->bad, text, "at most %u rules", FAULT_RULES);
	ret = fault_parse(r, text, &b->bad);
	if (!ret)
		ret = b->f->real ? fault_check_real(r, &b->bad) : fault_check_emulated(r, &b->bad);
	if (!ret)
		ret = fault_check_fabric(b->f->hca, b->f->nodes->topology, r, &b->bad);
	if (!ret && r->act == FA_LIMIT)
		ret = fault_limit_check(b->f, r, &b->bad);
	if (!ret && r->act == FA_HEAL)
		ret = batch_check_heal(b, r);
	if (!ret && (r->act == FA_KILL || r->act == FA_PAUSE))
		ret = batch_check_process(b, r);
	if (ret)
		return ret;
	if (batch_has_name(b, r->name))
		return fault_refuse(&b->bad, r->name, "a name that no other rule has");
	if (b->file[0])
		snprintf(r->place, sizeof(r->place), "%.240s:%u", b->file, line);
	r->scenario = b->hash;
	r->of_run = b->of_run;
	b->n++;
	return 0;
}

static void batch_apply(struct fabric *f, const struct batch *b, struct proto_fault *q)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		fault_rule_add(f, &b->rule[i]);
	q->n = b->n;
	q->id = f->faults->last_id;
	fault_table_changed(f);
}

static int fault_job_add(struct fabric *f, struct fault_job *j)
{
	struct proto_fault *q = &j->msg.fault;
	struct batch b = { .f = f, .file = q->place, .of_run = j->msg.flags & PROTO_F_RUN };
	const char *text = j->text ? j->text : q->text;
	size_t len = j->text ? j->len : strlen(q->text);
	char where[FAULT_PLACE + 16] = "";
	u32 line;
	int ret;

	q->n = 0;
	if (b.file[0])
		b.hash = fnv1a(fnv1a(FNV1A_BASIS, b.file, strlen(b.file)), text, len);
	if (b.of_run)
		j->conn->scenario = b.hash;
	if (b.hash && fault_scenario_is_known(f->faults, b.hash)) {
		fault_scenario_share(f->faults, b.hash, b.of_run);
		return 0;
	}
	b.rule = calloc(FAULT_RULES, sizeof(*b.rule));
	if (!b.rule)
		return -ENOMEM;
	ret = fault_parse_lines(text, len, &b.bad, &line, batch_add_rule, &b);
	if (ret) {
		if (b.file[0])
			snprintf(where, sizeof(where), "%.240s:%u: ", b.file, line);
		snprintf(q->text, sizeof(q->text), "%.200s'%.70s': expected %.200s", where,
			 b.bad.word, b.bad.expected);
	} else {
		batch_apply(f, &b, q);
		if (b.hash)
			fault_scenario_remember(f->faults, b.hash);
	}
	free(b.rule);
	return ret;
}

static int fault_job_remove(struct fabric *f, struct proto_fault *q)
{
	struct fault_rule *r = fault_rule_find(f->faults, q->name, q->id);

	if (!r)
		return -ENOENT;
	q->hits = r->hits;
	fault_rule_remove(f, r);
	q->n = 1;
	fault_table_changed(f);
	return 0;
}

static int fault_job_clear(struct fabric *f, struct proto_fault *q)
{
	struct faults *t = f->faults;
	u32 i;

	for (i = q->n = 0; i < t->high; i++)
		if (t->rule[i].id) {
			fault_rule_remove(f, &t->rule[i]);
			q->n++;
		}
	/* From now on the same scenario may be added again. */
	t->n_files = 0;
	fault_table_changed(f);
	return 0;
}

static int fault_job_run(struct fabric *f, struct fault_job *j)
{
	switch (j->msg.op) {
	case PROTO_FAULT_ADD:
		return fault_job_add(f, j);
	case PROTO_FAULT_REMOVE:
		return fault_job_remove(f, &j->msg.fault);
	default:
		return fault_job_clear(f, &j->msg.fault);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

static void fault_job_free(struct faults *t, u32 i)
{
	free(t->job[i]->text);
	free(t->job[i]);
	t->job[i] = NULL;
	t->n_jobs--;
}

/* Read a scenario's text from a memfd, which no read waits for. Return: 0 or -errno. */
static int fault_job_read_text(struct fault_job *j, int fd)
{
	struct stat st;
	ssize_t n;

	/* Only files in memory have seals. */
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)FAULT_SCENARIO)
		return -EINVAL;
	j->text = calloc(1, (size_t)st.st_size + 1);
	if (!j->text)
		return -ENOMEM;
	n = pread(fd, j->text, (size_t)st.st_size, 0);
	if (n < 0 || memchr(j->text, '\0', (size_t)n))
		return n < 0 ? -errno : -EINVAL;
	j->len = (size_t)n;
	return 0;
}

int fault_request(struct fabric *f, struct conn *c, struct proto_msg *m, int fd)
{
	struct faults *t = f->faults;
	struct proto_fault *q = &m->fault;
	struct fault_job *j;
	int ret = 0;
	u32 i;

	q->name[sizeof(q->name) - 1] = '\0';
	q->text[sizeof(q->text) - 1] = '\0';
	q->place[sizeof(q->place) - 1] = '\0';
	for (i = 0; i < FAULT_JOBS && t->job[i]; i++)
		;
	if (i == FAULT_JOBS)
		return -EBUSY;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->conn = c;
	j->msg = *m;
	if (fd >= 0)
		ret = fault_job_read_text(j, fd);
	t->job[i] = j;
	t->n_jobs++;
	if (!ret)
		return -EINPROGRESS;
	fault_job_free(t, i);
	return ret;
}

void fault_conn_closed(struct fabric *f, const struct conn *c)
{
	u32 i;

	for (i = 0; i < FAULT_JOBS; i++)
		if (f->faults->job[i] && f->faults->job[i]->conn == c)
			fault_job_free(f->faults, i);
}

void fault_requests_serve(struct fabric *f)
{
	struct faults *t = f->faults;
	struct fault_job *j;
	struct conn *c;
	u32 i;

	for (i = 0; i < FAULT_JOBS && t->n_jobs; i++) {
		j = t->job[i];
		if (!j)
			continue;
		j->msg.ret = fault_job_run(f, j);
		c = j->conn;
		/* Answering may close the connection, which frees its jobs. */
		j->conn = NULL;
		conn_reply(c, &j->msg);
		fault_job_free(t, i);
	}
}
