/* SPDX-License-Identifier: MIT */
/**
 * DOC: texts of other members: their status, journal and fault rules.
 *
 * A process requests a member's text from its own fabric. The fabric sends the member QUERY, which
 * makes the text and answers with its first PIECE; a QUERY for each further piece follows. So a
 * piece is on its way only when its receiver waits for it, and texts need no credit. A member keeps
 * one text for each other member, so the fabric requests one at a time.
 *
 * A member may send what it likes, and the text comes to a terminal: text_plain.c removes what
 * moves its cursor.
 *
 * Frames come with the token held, and to make a text may take long, so join_texts_tick() answers.
 * Every wait ends after JOIN_SILENT_NS: a member that is silent for as long does not answer any
 * more.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A member may ask for a status, rules and journal that often. */
#define TEXTS_PER_S 30u
#define TEXTS_BURST 60u
/* When a connection had no room, it is tried again after that. */
#define TEXT_AGAIN_NS (100 * NSEC_PER_MSEC)

/* Copy a text that may have no end. */
static void text_take(char *to, size_t size, const char *from, size_t from_size)
{
	size_t n = strnlen(from, from_size < size ? from_size : size - 1);

	memcpy(to, from, n);
	memset(to + n, 0, size - n);
}

/* Flags of a request that its QUERY has, too. */
static const struct {
	u32 request;
	u32 query;
} text_flags[] = {
	{ PROTO_F_JSON, JQ_F_JSON },
	{ PROTO_F_LINES, JQ_F_LINES },
	{ PROTO_F_VERBOSE, JQ_F_VERBOSE },
};

static struct join_position position_of_log(const struct proto_log *log)
{
	return (struct join_position){
		.errors = log->errors,
		.notices = log->notices,
		.notes = log->notes,
		.floods = log->floods,
	};
}

static void log_set_position(struct proto_log *log, const struct join_position *at)
{
	log->errors = at->errors;
	log->notices = at->notices;
	log->notes = at->notes;
	log->floods = at->floods;
}

/* --- asking ----------------------------------------------------------------------------------- */

static u32 query_what(u32 op)
{
	return op == PROTO_STATUS ? JQ_STATUS : op == PROTO_LOG ? JQ_LOG : JQ_FAULTS;
}

static u32 query_flags(u32 flags)
{
	u32 i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(text_flags); i++)
		ret |= flags & text_flags[i].request ? text_flags[i].query : 0;
	return ret;
}

/* Ask for the next piece. */
static void query_send(struct fabric *f, struct text_query *q, u64 now)
{
	struct member *m = mesh_member(f, q->member);
	struct join_query ask = { .number = q->number,
				  .what = query_what(q->op),
				  .flags = query_flags(q->flags),
				  .from = q->got };
	u8 body[JOIN_QUERY];

	if (q->op == PROTO_LOG) {
		ask.qpn = q->log.qpn;
		ask.position = position_of_log(&q->log);
		text_take(ask.program, sizeof(ask.program), q->log.program, sizeof(q->log.program));
		text_take(ask.node, sizeof(ask.node), q->log.node, sizeof(q->log.node));
	}
	join_query_put(body, &ask);
	q->again_at = NEVER;
	if (m && m->via && jconn_send(f, m->via, JT_QUERY, f->join->id, m->id, body, sizeof(body)))
		q->again_at = now + TEXT_AGAIN_NS;
}

/* Begin the oldest question to a member, unless one is under way. */
static void query_begin(struct fabric *f, u64 member, u64 now)
{
	struct text_query *q, *first = NULL;

	for (q = f->join->query; q < f->join->query + JOIN_MAX_QUERIES; q++) {
		if (q->member != member)
			continue;
		if (q->asked)
			return;
		if (!first || q->number < first->number)
			first = q;
	}
	if (!first)
		return;
	first->asked = true;
	first->until = now + JOIN_SILENT_NS;
	query_send(f, first, now);
}

/* The answer to the process that waits: the text, or -errno. */
static void query_end(struct fabric *f, struct text_query *q, int err)
{
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = q->op, .flags = q->flags };
	u64 member = q->member;

	if (!err)
		err = text_make_plain(q->fd);
	m.ret = err;
	if (q->op == PROTO_LOG)
		m.log = q->log;
	if (q->conn && conn_send(q->conn, &m, &q->fd, err ? 0 : 1))
		conn_hang_up(q->conn);
	close(q->fd);
	*q = (struct text_query){ .fd = -1 };
	query_begin(f, member, real_ns());
}

static struct member *member_named(const struct join *j, const char *name)
{
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && !strcmp(j->member[i]->name, name))
			return j->member[i];
	return NULL;
}

static struct text_query *query_free(struct join *j)
{
	u32 i;

	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		if (!j->query[i].member)
			return &j->query[i];
	return NULL;
}

int join_text_ask(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	struct member *to = f->join ? member_named(f->join, m->member) : NULL;
	struct text_query *q;
	int fd;

	if (!to)
		return -ENXIO;
	if (!to->via)
		return -EHOSTUNREACH;
	q = query_free(f->join);
	if (!q)
		return -EBUSY;
	fd = memfd_create("rdmaemu-text", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!++f->join->n_queries)
		f->join->n_queries = 1;
	*q = (struct text_query){ .member = to->id,
				  .number = f->join->n_queries,
				  .conn = c,
				  .op = m->op,
				  .flags = m->flags,
				  .fd = fd,
				  .again_at = NEVER };
	if (m->op == PROTO_LOG)
		q->log = m->log;
	query_begin(f, to->id, real_ns());
	return -EINPROGRESS;
}

void join_conn_closed(struct fabric *f, const struct conn *c)
{
	u32 i;

	for (i = 0; f->join && i < JOIN_MAX_QUERIES; i++)
		if (f->join->query[i].conn == c)
			f->join->query[i].conn = NULL;
}

/* Return: 0 or -errno. */
static int text_append(int fd, const u8 *data, u32 len)
{
	ssize_t n;

	while (len) {
		n = write(fd, data, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (u32)n : 0;
	}
	return 0;
}

static struct text_query *query_of_piece(struct join *j, const struct member *m, u32 number)
{
	u32 i;

	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		if (j->query[i].asked && j->query[i].member == m->id &&
		    j->query[i].number == number)
			return &j->query[i];
	return NULL;
}

static const char *piece_input(struct fabric *f, struct member *m, const u8 *body, u32 len)
{
	struct text_query *q;
	struct join_piece t;
	u64 now = real_ns();
	int ret;

	if (join_piece_get(body, len, &t))
		return "malformed text";
	q = query_of_piece(f->join, m, t.number);
	/* It was given up meanwhile, or this is a piece of before a route was lost. */
	if (!q || (!t.err && t.from != q->got))
		return NULL;
	ret = t.err ? -(int)t.err : text_append(q->fd, t.data, t.len);
	if (ret) {
		query_end(f, q, ret);
		return NULL;
	}
	if (q->op == PROTO_LOG && !q->got) {
		log_set_position(&q->log, &t.position);
		q->log.lost = t.lost;
	}
	q->got += t.len;
	q->until = now + JOIN_SILENT_NS;
	if (q->got == t.total)
		query_end(f, q, 0);
	else
		query_send(f, q, now);
	return NULL;
}

/* --- answering -------------------------------------------------------------------------------- */

void join_answer_by(struct fabric *f, join_make_text *make)
{
	if (f->join)
		f->join->make_text = make;
}

static u32 request_flags(u32 query_flags)
{
	u32 i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(text_flags); i++)
		ret |= query_flags & text_flags[i].query ? text_flags[i].request : 0;
	return ret;
}

/* Make the text that a member asks for. Return: 0 or -errno. */
static int answer_make(struct fabric *f, struct text_answer *a)
{
	static const u32 ops[] = {
		[JQ_STATUS] = PROTO_STATUS, [JQ_LOG] = PROTO_LOG, [JQ_FAULTS] = PROTO_FAULT_LIST
	};
	const struct join_query *q = &a->query;
	struct proto_msg m = { .op = ops[q->what], .flags = request_flags(q->flags) };
	struct stat st;

	if (q->what == JQ_LOG) {
		m.log.qpn = q->qpn;
		log_set_position(&m.log, &q->position);
		text_take(m.log.program, sizeof(m.log.program), q->program, sizeof(q->program));
		text_take(m.log.node, sizeof(m.log.node), q->node, sizeof(q->node));
	}
	a->fd = f->join->make_text ? f->join->make_text(f, &m) : -EOPNOTSUPP;
	if (a->fd < 0)
		return a->fd;
	if (fstat(a->fd, &st))
		return -errno;
	a->len = (u64)st.st_size;
	a->log = m.log;
	return a->len > JOIN_TEXT_MAX ? -EFBIG : 0;
}

/* Return: bytes of the piece at @t->from, or -errno. */
static int answer_read(struct text_answer *a, struct join_piece *t)
{
	static u8 data[JOIN_PIECE_MAX];
	ssize_t n;

	t->data = data;
	if (t->from > a->len)
		return -ESTALE;
	n = pread(a->fd, data, sizeof(data), (off_t)t->from);
	if (n < 0)
		return -errno;
	return n || t->from == a->len ? (int)n : -ESTALE;
}

static int answer_piece(struct fabric *f, struct member *m, struct join_piece *t)
{
	struct text_answer *a = &m->answer;
	int ret;

	if (!t->from && a->fd < 0) {
		if (!admission_allows(&m->queries, TEXTS_PER_S, TEXTS_BURST))
			return -EBUSY;
		ret = answer_make(f, a);
		if (ret)
			return ret;
	}
	if (a->fd < 0)
		return -ESTALE;
	ret = answer_read(a, t);
	if (ret < 0)
		return ret;
	t->len = (u32)ret;
	t->total = a->len;
	t->position = position_of_log(&a->log);
	t->lost = a->log.lost;
	return 0;
}

/* Answer the last QUERY of a member. The text stays until its last piece is on its way. */
static void answer_send(struct fabric *f, struct member *m, u64 now)
{
	static u8 body[JOIN_PIECE + JOIN_PIECE_MAX];
	struct text_answer *a = &m->answer;
	struct join_piece t = { .number = a->query.number, .from = a->query.from };
	int ret = answer_piece(f, m, &t);

	if (ret)
		t = (struct join_piece){ .number = a->query.number, .err = (u32)-ret };
	if (jconn_send(f, m->via, JT_PIECE, f->join->id, m->id, body, join_piece_put(body, &t)))
		return;
	a->due = false;
	a->until = now + JOIN_SILENT_NS;
	if (ret || t.from + t.len == t.total)
		text_answer_close(&m->answer);
}

static const char *query_input(struct member *m, const u8 *body, u32 len)
{
	struct join_query q;

	if (join_query_get(body, len, &q))
		return "malformed query";
	if (!q.from || q.number != m->answer.query.number)
		text_answer_close(&m->answer);
	m->answer.query = q;
	m->answer.due = true;
	return NULL;
}

/* --- both ------------------------------------------------------------------------------------- */

const char *texts_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len)
{
	return type == JT_QUERY ? query_input(m, body, len) : piece_input(f, m, body, len);
}

static u64 texts_tick_member(struct fabric *f, struct member *m, u64 now)
{
	struct text_answer *a = &m->answer;

	if (a->due && m->via)
		answer_send(f, m, now);
	if (a->fd >= 0 && (!m->via || now >= a->until))
		text_answer_close(&m->answer);
	if (a->due && m->via)
		return now + TEXT_AGAIN_NS;
	return a->fd >= 0 ? a->until : NEVER;
}

/* Return: when to come back. */
static u64 texts_tick_query(struct fabric *f, struct text_query *q, u64 now)
{
	const struct member *m = mesh_member(f, q->member);

	if (!m || !m->via)
		query_end(f, q, -EHOSTUNREACH);
	else if (q->asked && now >= q->until)
		query_end(f, q, -EHOSTDOWN);
	else if (now >= q->again_at)
		query_send(f, q, now);
	else
		return q->asked ? min_u64(q->until, q->again_at) : NEVER;
	/* Another question may have begun. */
	return now;
}

u64 join_texts_tick(struct fabric *f)
{
	struct join *j = f->join;
	u64 now = real_ns(), next = NEVER;
	u32 i;

	if (!j)
		return NEVER;
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i])
			next = min_u64(next, texts_tick_member(f, j->member[i], now));
	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		if (j->query[i].member)
			next = min_u64(next, texts_tick_query(f, &j->query[i], now));
	return next;
}
