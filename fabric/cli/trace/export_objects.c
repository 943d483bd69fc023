/* SPDX-License-Identifier: MIT */
/**
 * DOC: the first pass of an export: the queue pairs of each program, and which of them are peers.
 *
 * Peers name each other by number: in ibv_modify_qp(), or in the messages of the rdma_cm, which
 * events have. On hardware two hosts may give out the same number, so two queue pairs are peers if
 * each names the other, and no third one does.
 */
#include "fabric/cli/trace/export.h"

#include <errno.h>
#include <stdlib.h>

/* Length of the word at @at; blanks in quotes are of the word. */
static size_t line_word_length(const char *at)
{
	bool quoted = false;
	size_t n;

	for (n = 0; at[n] && (quoted || at[n] != ' '); n++)
		if (at[n] == '"')
			quoted = !quoted;
	return n;
}

const char *export_line_value(const char *line, bool out, const char *name, char *text, size_t size)
{
	size_t n, len = strlen(name);
	bool after = false;

	text[0] = '\0';
	for (; *line; line += n + (line[n] != '\0')) {
		n = line_word_length(line);
		if (n == 1 && *line == '=')
			after = true;
		if (after != out || n <= len || line[len] != '=' || strncmp(line, name, len) != 0)
			continue;
		snprintf(text, size, "%.*s", (int)(n - len - 1), line + len + 1);
		break;
	}
	return text;
}

/* The word after " = ". */
static const char *line_result(const char *line, char *text, size_t size)
{
	size_t n;

	text[0] = '\0';
	for (; *line; line += n + (line[n] != '\0')) {
		n = line_word_length(line);
		if (n != 1 || *line != '=' || !line[n])
			continue;
		line += 2;
		snprintf(text, size, "%.*s", (int)line_word_length(line), line);
		break;
	}
	return text;
}

u32 export_ordinal(const char *text, const char *kind)
{
	size_t n = strlen(kind);
	unsigned long v;
	char *end;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): @text is a string */
	if (strncmp(text, kind, n) != 0 || text[n] < '1' || text[n] > '9')
		return 0;
	v = strtoul(text + n, &end, 10);
	return !*end && v < VT_MAX_OBJ ? (u32)v : 0;
}

void *export_at(void *table, u32 *n, u32 i, size_t size)
{
	u32 more = i + i / 2 + 64;
	void *bigger;

	if (i < *n)
		return table;
	bigger = realloc(table, more * size);
	if (!bigger)
		return NULL;
	memset((char *)bigger + *n * size, 0, (more - *n) * size);
	*n = more;
	return bigger;
}

struct export_qp *export_qp_of(const struct export_program *p, u32 ordinal)
{
	return ordinal && ordinal < p->n_qps ? &p->qp[ordinal] : NULL;
}

/* Return: NULL: no memory, or it is none of a trace. */
static struct export_qp *qp_make(struct export_program *p, u32 ordinal)
{
	struct export_qp *bigger;

	if (!ordinal || ordinal >= VT_MAX_OBJ)
		return NULL;
	bigger = export_at(p->qp, &p->n_qps, ordinal, sizeof(*p->qp));
	if (!bigger)
		return NULL;
	p->qp = bigger;
	return &p->qp[ordinal];
}

static struct export_id *id_make(struct export_program *p, u32 ordinal)
{
	struct export_id *bigger;

	if (!ordinal || ordinal >= VT_MAX_OBJ)
		return NULL;
	bigger = export_at(p->id, &p->n_ids, ordinal, sizeof(*p->id));
	if (!bigger)
		return NULL;
	p->id = bigger;
	return &p->id[ordinal];
}

static int scan_created(struct export_program *p, const struct vt_rec *rec, const char *line,
			u32 ordinal, const char *number)
{
	struct export_qp *qp = qp_make(p, ordinal);
	char type[64];
	u64 num;

	if (!qp)
		return -ENOMEM;
	if (vt_rec_fact(p->p, rec, true, number, &num))
		qp->num = (u32)num;
	export_line_value(line, false, "attr.qp_type", type, sizeof(type));
	if (!strncmp(type, "IBV_QPT_", 8))
		snprintf(qp->type, sizeof(qp->type), "%.*s", (int)sizeof(qp->type) - 1, type + 8);
	return 0;
}

/* A queue pair of an identifier of the rdma_cm. */
static int scan_created_by_id(struct export_program *p, const struct vt_rec *rec, const char *line,
			      u32 qp)
{
	struct export_id *id;
	char text[64];

	id = id_make(
		p, export_ordinal(export_line_value(line, false, "id", text, sizeof(text)), "id"));
	if (id)
		id->qp = qp;
	return scan_created(p, rec, line, qp, "id.qp.qp_num");
}

static void scan_modified(struct export_program *p, const struct vt_rec *rec, const char *line)
{
	char text[64];
	struct export_qp *qp = export_qp_of(
		p, export_ordinal(export_line_value(line, false, "qp", text, sizeof(text)), "qp"));
	u64 dest;

	if (!qp)
		return;
	if (vt_rec_fact(p->p, rec, false, "attr.dest_qp_num", &dest))
		qp->dest = (u32)dest;
	/* Used again: which messages came before, the peer need not know. */
	export_line_value(line, false, "attr.qp_state", text, sizeof(text));
	if (!strcmp(text, "IBV_QPS_RESET") && (qp->messages || qp->received))
		qp->reused = true;
}

/* An event that has the number of the peer's queue pair. */
static int scan_event(struct export_program *p, const struct vt_rec *rec, const char *line)
{
	char text[64];
	u32 ordinal =
		export_ordinal(export_line_value(line, true, "event.id", text, sizeof(text)), "id");
	struct export_id *id;
	u64 num;

	if (!ordinal || !vt_rec_fact(p->p, rec, true, "event.param.qp_num", &num) || !num)
		return 0;
	id = id_make(p, ordinal);
	if (!id)
		return -ENOMEM;
	if (!id->dest)
		id->dest = (u32)num;
	return 0;
}

static int scan_call(struct export_program *p, const struct vt_rec *rec)
{
	size_t len;
	const char *line = vt_rec_line(p->p, rec, &len);
	char text[64];
	u32 ordinal;

	ordinal = export_ordinal(line_result(line, text, sizeof(text)), "qp");
	if (ordinal)
		return scan_created(p, rec, line, ordinal, "qp_num");
	if (!strncmp(line, "rdma_create_qp", 14)) {
		export_line_value(line, true, "id.qp", text, sizeof(text));
		ordinal = export_ordinal(text, "qp");
		return ordinal ? scan_created_by_id(p, rec, line, ordinal) : 0;
	}
	if (!strncmp(line, "ibv_modify_qp ", 14))
		scan_modified(p, rec, line);
	else if (!strncmp(line, "rdma_get_cm_event ", 18))
		return scan_event(p, rec, line);
	return 0;
}

bool export_consumes_receive(u32 opcode)
{
	return opcode == WR_SEND || opcode == WR_SEND_WITH_IMM || opcode == WR_SEND_WITH_INV ||
	       opcode == WR_RDMA_WRITE_WITH_IMM;
}

static void scan_post(struct export_program *p, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct export_qp *qp = export_qp_of(p, post->obj);
	const struct vt_wr *wr = vt_wr_first(rec);
	u32 i;

	for (i = 0; qp && i < post->bad; i++, wr = vt_wr_next(wr))
		qp->messages += export_consumes_receive(wr->opcode);
}

static void scan_poll(struct export_program *p, const struct vt_rec *rec)
{
	const struct vt_wc *wc = vt_poll_wcs(rec);
	struct export_qp *qp;
	u32 i;

	for (i = 0; i < VT_BODY(vt_poll, rec)->n; i++) {
		qp = export_qp_of(p, wc[i].qp);
		if (qp && wc[i].status == WCS_SUCCESS && wc[i].opcode & WCO_RECV)
			qp->received++;
	}
}

static int scan_program(struct export *x, struct export_program *p)
{
	const struct vt_rec *rec;
	u64 off = 0;
	int ret = 0;
	u32 i;

	while (!ret && (rec = vt_rec_next(p->p, &off))) {
		if (rec->t_begin < x->begin)
			x->begin = rec->t_begin;
		if (rec->t_end > x->end)
			x->end = rec->t_end;
		if (rec->kind == VT_CALL)
			ret = scan_call(p, rec);
		else if (vt_is_send(rec->kind))
			scan_post(p, rec);
		else if (rec->kind == VT_POLL)
			scan_poll(p, rec);
	}
	for (i = 1; i < p->n_ids; i++)
		if (p->id[i].qp && p->id[i].qp < p->n_qps && !p->qp[p->id[i].qp].dest)
			p->qp[p->id[i].qp].dest = p->id[i].dest;
	return ret;
}

/* The queue pair that names @qp and is named by it, if it is the only one. */
static struct export_qp *qp_find_peer(const struct export *x, const struct export_qp *qp)
{
	struct export_qp *found = NULL, *other;
	u32 i, k;

	for (i = 0; i < x->n_progs; i++)
		for (k = 1; k < x->prog[i].n_qps; k++) {
			other = &x->prog[i].qp[k];
			if (!other->num || other->num != qp->dest || other->dest != qp->num)
				continue;
			if (found)
				return NULL;
			found = other;
		}
	return found;
}

int export_scan(struct export *x)
{
	struct export_qp *qp;
	u64 flows = 0;
	u32 i, k;
	int ret;

	for (i = 0; i < x->n_progs; i++) {
		ret = scan_program(x, &x->prog[i]);
		if (ret)
			return ret;
	}
	for (i = 0; i < x->n_progs; i++)
		for (k = 1; k < x->prog[i].n_qps; k++) {
			qp = &x->prog[i].qp[k];
			/* Only a reliable connection gives each message a receive, in order. */
			if (!qp->num || !qp->dest || strcmp(qp->type, "RC") != 0)
				continue;
			qp->peer = qp_find_peer(x, qp);
			qp->flows = flows;
			flows += qp->received;
		}
	return 0;
}

void export_free(struct export *x)
{
	struct export_program *p;
	u32 i, kind, k;

	for (i = 0; i < x->n_progs; i++) {
		p = &x->prog[i];
		for (kind = 0; kind < EXPORT_QUEUES; kind++) {
			for (k = 0; k < p->n_queues[kind]; k++)
				free(p->queue[kind][k].wr);
			free(p->queue[kind]);
		}
		free(p->qp);
		free(p->id);
	}
	free(x->prog);
}
