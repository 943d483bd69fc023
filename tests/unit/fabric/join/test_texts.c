/* SPDX-License-Identifier: MIT */
/*
 * Texts that members ask each other for. See tests/lib/mesh/world.h.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAR	1u /* an address of another host */
#define TEXT	100000u /* bytes of the fabric's own text */
#define QUERIES 200u /* more than a member may ask at once */

/* --- the fabric's own text --- */

static u64 made_len = TEXT;
static u32 n_made;
static struct proto_msg asked;

static char text_byte(u64 at)
{
	return (char)('a' + at % 23);
}

static int make_text(struct fabric *f, struct proto_msg *m)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	char all[TEXT];
	u32 i;

	(void)f;
	n_made++;
	asked = *m;
	m->log.errors = 5;
	for (i = 0; i < TEXT; i++)
		all[i] = text_byte(i);
	CU_ASSERT_EQUAL_FATAL(write(fd, all, sizeof(all)), (ssize_t)sizeof(all));
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, (off_t)made_len), 0);
	return fd;
}

/* --- helpers --- */

static void settle(void)
{
	u32 i;

	for (i = 0; i < 4; i++)
		world_turn(NSEC_PER_MSEC);
}

static struct world_sock *begin(void)
{
	struct world_sock *s;

	world_make();
	join_answer_by(world.f, make_text);
	n_made = 0;
	made_len = TEXT;
	s = peer_join(FAR, 0, JOIN_F_AES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_TRUE(peer_begin(s) && peer_tables(s));
	settle();
	return s;
}

static void end(void)
{
	join_answer_by(world.f, NULL);
	world_reset();
}

/* The member asks for a piece. */
static void ask(struct world_sock *s, u32 number, u32 what, u64 from)
{
	struct join_query q = { .number = number, .what = what, .flags = JQ_F_JSON, .from = from };
	u8 body[JOIN_QUERY];

	snprintf(q.program, sizeof(q.program), "a program's name that is cut off");
	join_query_put(body, &q);
	CU_ASSERT_TRUE(peer_say(s, JT_QUERY, body, sizeof(body)));
	settle();
}

/* The member answers. */
static void tell(struct world_sock *s, u32 err, u64 total, u64 from, const char *data)
{
	struct join_piece t = { .number = s->peer->query.number,
				.err = err,
				.total = total,
				.from = from,
				.position.errors = 7,
				.data = (const u8 *)data,
				.len = (u32)strlen(data) };
	static u8 body[JOIN_PIECE + JOIN_PIECE_MAX];

	CU_ASSERT_TRUE(peer_say(s, JT_PIECE, body, join_piece_put(body, &t)));
	settle();
}

/** struct process - one that waits for a text. */
struct process {
	struct conn conn;
	int sock;
};

static void process_begin(struct process *p)
{
	int fds[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	*p = (struct process){ .sock = fds[1] };
	p->conn.w.fd = fds[0];
}

static void process_end(struct process *p)
{
	join_conn_closed(world.f, &p->conn);
	close(p->conn.w.fd);
	close(p->sock);
}

static int process_ask(struct process *p, u32 op, const char *member)
{
	struct proto_msg m = { .op = op, .flags = PROTO_F_JSON };
	int ret;

	snprintf(m.member, sizeof(m.member), "%s", member);
	m.log.errors = 3;
	world.on = true;
	ret = join_text_ask(world.f, &p->conn, &m);
	world.on = false;
	settle();
	return ret;
}

/* The answer that the process got. Return: errno; -1: nothing yet */
static int process_answer(struct process *p, struct proto_msg *m, char *text, size_t size)
{
	union conn_fds fds;
	struct iovec v = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = fds.buf,
			    .msg_controllen = sizeof(fds.buf) };
	ssize_t n = recvmsg(p->sock, &h, 0);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	int fd;

	if (n < 0)
		return -1;
	CU_ASSERT_EQUAL(m->magic, PROTO_MAGIC);
	CU_ASSERT_EQUAL(!!c, !m->ret);
	if (c) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		n = pread(fd, text, size - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	return -m->ret;
}

/* --- answering --- */

static void test_member_gets_a_text_in_pieces(void)
{
	struct world_sock *s = begin();
	struct peer *p = s->peer;
	u64 got = 0;
	u32 i;

	while (got < TEXT) {
		ask(s, 9, JQ_LOG, got);
		CU_ASSERT_EQUAL_FATAL(p->piece.err, 0);
		CU_ASSERT_EQUAL(p->piece.number, 9);
		CU_ASSERT_EQUAL(p->piece.total, TEXT);
		CU_ASSERT_EQUAL(p->piece.from, got);
		CU_ASSERT_EQUAL(p->piece.position.errors, 5);
		CU_ASSERT_FATAL(p->piece.len > 0);
		for (i = 0; i < p->piece.len; i++)
			CU_ASSERT_EQUAL_FATAL((char)p->piece_data[i], text_byte(got + i));
		got += p->piece.len;
	}
	CU_ASSERT_EQUAL(p->n_pieces, (TEXT + JOIN_PIECE_MAX - 1) / JOIN_PIECE_MAX);
	CU_ASSERT_EQUAL(n_made, 1);
	CU_ASSERT_EQUAL(asked.op, PROTO_LOG);
	CU_ASSERT_EQUAL(asked.flags, PROTO_F_JSON);
	CU_ASSERT_STRING_EQUAL(asked.log.program, "a program's name that is cut of");
	/* It is gone with its last piece. */
	ask(s, 9, JQ_LOG, 5);
	CU_ASSERT_EQUAL(p->piece.err, ESTALE);
	end();
}

static void test_empty_text(void)
{
	struct world_sock *s = begin();

	made_len = 0;
	ask(s, 1, JQ_STATUS, 0);
	CU_ASSERT_EQUAL(s->peer->piece.err + s->peer->piece.total + s->peer->piece.len, 0);
	CU_ASSERT_EQUAL(s->peer->n_pieces, 1);
	end();
}

static void test_text_that_is_too_long(void)
{
	struct world_sock *s = begin();

	made_len = JOIN_TEXT_MAX + 1;
	ask(s, 1, JQ_STATUS, 0);
	CU_ASSERT_EQUAL(s->peer->piece.err, EFBIG);
	end();
}

static void test_another_question_ends_the_first(void)
{
	struct world_sock *s = begin();

	ask(s, 1, JQ_STATUS, 0);
	ask(s, 2, JQ_FAULTS, 0);
	CU_ASSERT_EQUAL(asked.op, PROTO_FAULT_LIST);
	ask(s, 1, JQ_STATUS, s->peer->piece.len);
	CU_ASSERT_EQUAL(s->peer->piece.err, ESTALE);
	end();
}

static void test_text_that_nobody_fetches_is_closed(void)
{
	struct world_sock *s = begin();
	u32 i, next;

	ask(s, 1, JQ_STATUS, 0);
	next = s->peer->piece.len;
	CU_ASSERT(mesh_member(world.f, peer_id(0))->answer.fd >= 0);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_TRUE(peer_say(s, JT_PING, NULL, 0));
		world_turn(NSEC_PER_SEC);
	}
	CU_ASSERT(mesh_member(world.f, peer_id(0))->answer.fd < 0);
	ask(s, 1, JQ_STATUS, next);
	CU_ASSERT_EQUAL(s->peer->piece.err, ESTALE);
	end();
}

static void test_texts_are_not_made_without_end(void)
{
	struct world_sock *s = begin();
	u32 i, n_busy = 0;

	for (i = 1; i <= QUERIES; i++) {
		ask(s, i, JQ_STATUS, 0);
		n_busy += s->peer->piece.err == EBUSY;
	}
	CU_ASSERT_EQUAL(n_busy + n_made, QUERIES);
	CU_ASSERT(n_made > 50 && n_busy > 50);
	CU_ASSERT_PTR_NOT_NULL(world_conn(s));
	end();
}

static void test_malformed_query_ends_the_connection(void)
{
	static const struct {
		u32 at;
		u8 value;
	} bad[] = { { 0, 0 }, { 4, 0 }, { 4, 4 }, { 8, 0xff }, { 23, 1 }, { 103, 1 }, { 151, 1 } };
	struct join_query q = { .number = 1, .what = JQ_STATUS };
	u8 body[JOIN_QUERY];
	struct world_sock *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		s = begin();
		join_query_put(body, &q);
		body[bad[i].at] = bad[i].value;
		CU_ASSERT_TRUE(peer_say(s, JT_QUERY, body, sizeof(body)));
		settle();
		CU_ASSERT_PTR_NULL(world_conn(s));
		end();
	}
}

/* --- asking --- */

static void test_process_gets_a_text(void)
{
	struct world_sock *s = begin();
	struct proto_msg m;
	struct process p;
	char text[64];

	process_begin(&p);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_LOG, "peer0"), -EINPROGRESS);
	CU_ASSERT_EQUAL(s->peer->query.what, JQ_LOG);
	CU_ASSERT_EQUAL(s->peer->query.flags, JQ_F_JSON);
	CU_ASSERT_EQUAL(s->peer->query.position.errors, 3);
	CU_ASSERT_EQUAL(s->peer->query.from, 0);
	tell(s, 0, 11, 0, "first ");
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), -1);
	CU_ASSERT_EQUAL(s->peer->query.from, 6);
	/* A piece that came before does not count twice. */
	tell(s, 0, 11, 0, "again ");
	tell(s, 0, 11, 6, "last\n");
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), 0);
	CU_ASSERT_STRING_EQUAL(text, "first last\n");
	CU_ASSERT_EQUAL(m.log.errors, 7);
	process_end(&p);
	end();
}

/* A terminal, or a reader of JSON that prints it, gets nothing that moves its cursor. */
static void test_text_moves_no_cursor(void)
{
	static const char bad[] =
		"\x1b[2J \\u001b[2J \\u009B \\\\u001b \\b \\n \xc2\x9b \\\x1b \x7f\n\\";
	static const char good[] = "?[2J ??????[2J ?????? \\\\u001b ?? \\n ?? \\? ?\n\\";
	struct world_sock *s = begin();
	struct proto_msg m;
	struct process p;
	char text[128];

	process_begin(&p);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_STATUS, "peer0"), -EINPROGRESS);
	tell(s, 0, strlen(bad), 0, bad);
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), 0);
	CU_ASSERT_STRING_EQUAL(text, good);
	process_end(&p);
	end();
}

static void test_texts_of_a_member_come_one_by_one(void)
{
	struct world_sock *s = begin();
	struct process p[2];
	struct proto_msg m;
	char text[64];
	u32 i, first;

	for (i = 0; i < 2; i++) {
		process_begin(&p[i]);
		CU_ASSERT_EQUAL(process_ask(&p[i], i ? PROTO_STATUS : PROTO_FAULT_LIST, "peer0"),
				-EINPROGRESS);
	}
	CU_ASSERT_EQUAL(s->peer->n_queries, 1);
	CU_ASSERT_EQUAL(s->peer->query.what, JQ_FAULTS);
	first = s->peer->query.number;
	tell(s, ENODEV, 0, 0, "");
	CU_ASSERT_EQUAL(process_answer(&p[0], &m, text, sizeof(text)), ENODEV);
	CU_ASSERT_EQUAL(s->peer->n_queries, 2);
	CU_ASSERT_EQUAL(s->peer->query.what, JQ_STATUS);
	CU_ASSERT_NOT_EQUAL(s->peer->query.number, first);
	tell(s, 0, 2, 0, "ok");
	CU_ASSERT_EQUAL(process_answer(&p[1], &m, text, sizeof(text)), 0);
	for (i = 0; i < 2; i++)
		process_end(&p[i]);
	end();
}

static void test_silent_member(void)
{
	struct world_sock *s = begin();
	struct proto_msg m;
	struct process p;
	char text[64];
	u32 i;

	process_begin(&p);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_STATUS, "peer0"), -EINPROGRESS);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_TRUE(peer_say(s, JT_PING, NULL, 0));
		world_turn(NSEC_PER_SEC);
	}
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), EHOSTDOWN);
	/* Late, it is no answer to anything. */
	tell(s, 0, 2, 0, "ok");
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), -1);
	CU_ASSERT_PTR_NOT_NULL(world_conn(s));
	process_end(&p);
	end();
}

static void test_member_that_is_away(void)
{
	struct world_sock *s = begin();
	struct proto_msg m;
	struct process p;
	char text[64];

	process_begin(&p);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_STATUS, "nobody"), -ENXIO);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_STATUS, "peer0"), -EINPROGRESS);
	world_hang_up(s);
	settle();
	CU_ASSERT_EQUAL(process_answer(&p, &m, text, sizeof(text)), EHOSTUNREACH);
	CU_ASSERT_EQUAL(process_ask(&p, PROTO_STATUS, "peer0"), -EHOSTUNREACH);
	process_end(&p);
	end();
}

static void test_process_that_does_not_wait(void)
{
	struct world_sock *s = begin();
	struct process p[JOIN_MAX_QUERIES + 1];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		process_begin(&p[i]);
		CU_ASSERT_EQUAL(process_ask(&p[i], PROTO_STATUS, "peer0"),
				i < JOIN_MAX_QUERIES ? -EINPROGRESS : -EBUSY);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++)
		process_end(&p[i]);
	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		tell(s, 0, 2, 0, "ok");
	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		CU_ASSERT_EQUAL(world.f->join->query[i].member, 0);
	end();
}

static void test_malformed_piece_ends_the_connection(void)
{
	static const struct join_piece bad[] = {
		{ .number = 0, .total = 0 }, /* of no question */
		{ .number = 1, .total = 5 }, /* no bytes, and not the end */
		{ .number = 1, .total = 5, .from = 6 },
		{ .number = 1, .total = 1, .data = (const u8 *)"ab", .len = 2 },
		{ .number = 1, .total = JOIN_TEXT_MAX + 1, .data = (const u8 *)"ab", .len = 2 },
		{ .number = 1, .err = 4096 },
		{ .number = 1, .err = 1, .total = 1, .data = (const u8 *)"a", .len = 1 },
	};
	u8 body[JOIN_PIECE + 8];
	struct world_sock *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		s = begin();
		CU_ASSERT_TRUE(peer_say(s, JT_PIECE, body, join_piece_put(body, &bad[i])));
		settle();
		CU_ASSERT_PTR_NULL(world_conn(s));
		end();
	}
}

int main(void)
{
	return cu_run(
		"texts",
		(struct cu_test[]){
			{ "a member gets a text in pieces", test_member_gets_a_text_in_pieces },
			{ "an empty text", test_empty_text },
			{ "a text that is too long", test_text_that_is_too_long },
			{ "another question ends the first", test_another_question_ends_the_first },
			{ "a text that nobody fetches is closed",
			  test_text_that_nobody_fetches_is_closed },
			{ "texts are not made without end", test_texts_are_not_made_without_end },
			{ "a malformed query ends the connection",
			  test_malformed_query_ends_the_connection },
			{ "a process gets a text", test_process_gets_a_text },
			{ "a text moves no cursor", test_text_moves_no_cursor },
			{ "texts of a member come one by one",
			  test_texts_of_a_member_come_one_by_one },
			{ "a silent member", test_silent_member },
			{ "a member that is away", test_member_that_is_away },
			{ "a process that does not wait", test_process_that_does_not_wait },
			{ "a malformed piece ends the connection",
			  test_malformed_piece_ends_the_connection },
			{ NULL, NULL } });
}
