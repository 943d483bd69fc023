/* SPDX-License-Identifier: MIT */
/*
 * Payload that leaves from a program's pages, whatever of it the socket takes. See
 * tests/lib/mesh/world.h.
 */
#include "fabric/join/conn.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#define FAR	1u /* an address of another host: the connection is sealed */
#define PIECES	3u
#define PAYLOAD (70u << 10)
#define BEFORE	100u /* bytes of a frame that waits already */

/* The bytes that have come at the other end, opened. */
static u8 got[1u << 20];
static u32 n_got;

static u8 page[PAYLOAD], sent[PAYLOAD];

static struct jconn *conn_new(u32 from, struct world_sock **s)
{
	world_make();
	*s = peer_join(from, 0, JOIN_F_AES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*s);
	CU_ASSERT_TRUE(peer_begin(*s) && peer_tables(*s));
	world_turn(NSEC_PER_MSEC);
	world_turn(NSEC_PER_MSEC);
	(*s)->peer->deaf = true;
	n_got = 0;
	return world_conn(*s);
}

static void collect(struct world_sock *s)
{
	struct world_buf *b = s->from;
	int n;

	if (!s->peer->sealed) {
		memcpy(got + n_got, b->mem + b->head, b->tail - b->head);
		n_got += b->tail - b->head;
		b->head = b->tail = 0;
		return;
	}
	while ((n = seal_length(b->mem + b->head, b->tail - b->head)) > 0 &&
	       (u32)n <= b->tail - b->head) {
		n = seal_read(&s->peer->recv, b->mem + b->head, got + n_got);
		CU_ASSERT_FATAL(n > 0);
		b->head += SEAL_HEAD + (u32)n + SEAL_TAG;
		n_got += (u32)n;
	}
}

/* A frame with a payload in pages of a program, as bursts.c sends it. */
static void send_from_pages(struct jconn *c)
{
	struct join_hdr h = { .len = JOIN_HDR + PAYLOAD, .type = JT_BURST, .src = 1, .dst = 2 };
	struct jloan l = { .len = PAYLOAD, .n = PIECES };
	u8 *p = jconn_reserve(c, h.len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	emu_fill(page, sizeof(page), 7);
	memcpy(sent, page, sizeof(page));
	join_hdr_put(p, &h);
	memset(p + JOIN_HDR, 0xcc, PAYLOAD);
	jconn_commit(c, h.len);
	l.v[0] = (struct iovec){ page, 5 };
	l.v[1] = (struct iovec){ page + 5, 40000 };
	l.v[2] = (struct iovec){ page + 40005, PAYLOAD - 40005 };
	jconn_flush_loan(world.f, c, &l);
	/* From here on the pages are the program's again. */
	CU_ASSERT_EQUAL(jloan_left(c), 0);
	memset(page, 0xee, sizeof(page));
}

/* The frame is the last one that has come. */
static void check_frame(void)
{
	struct join_hdr h;

	CU_ASSERT_FATAL(n_got >= JOIN_HDR + PAYLOAD);
	CU_ASSERT_EQUAL(join_hdr_get(got + n_got - PAYLOAD - JOIN_HDR, JOIN_HDR + PAYLOAD, &h), 0);
	CU_ASSERT_EQUAL(h.len, JOIN_HDR + PAYLOAD);
	CU_ASSERT_EQUAL(memcmp(got + n_got - PAYLOAD, sent, PAYLOAD), 0);
}

/* @takes: bytes that the socket takes at a time; @end: in the buffer, where the output begins */
static void try_loan(u32 from, u32 takes, u32 end)
{
	struct world_sock *s;
	struct jconn *c = conn_new(from, &s);
	u8 other[BEFORE] = { 0 };
	u32 turn;

	CU_ASSERT_TRUE_FATAL(jconn_idle(c));
	if (end)
		c->tx.head = c->tx.tail = JOIN_TX_SIZE - end;
	s->takes = s->room = takes;
	CU_ASSERT_EQUAL(jconn_send(world.f, c, JT_PING, 1, 2, other, sizeof(other)), 0);
	send_from_pages(c);
	collect(s);
	s->takes = WORLD_BUF;
	for (turn = 0; turn < 4; turn++) {
		world_turn(NSEC_PER_MSEC);
		collect(s);
	}
	CU_ASSERT_TRUE(jconn_idle(c));
	check_frame();
	CU_ASSERT_TRUE(world_audit());
	world_reset();
}

static const u32 takes[] = { 0,
			     1,
			     BEFORE + JOIN_HDR,
			     BEFORE + 2 * JOIN_HDR - 1,
			     200,
			     5000,
			     BEFORE + 2 * JOIN_HDR + 5 + 40000,
			     60000,
			     71000,
			     WORLD_BUF };

static void test_socket_takes_any_part(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(takes); i++) {
		try_loan(0, takes[i], 0);
		try_loan(FAR, takes[i], 0);
	}
}

/* The frame before it is at the end of the ring, and it begins at its start. */
static void test_buffer_wraps(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(takes); i++) {
		try_loan(0, takes[i], 2000);
		try_loan(FAR, takes[i], 2000);
	}
}

static void test_full_until_the_socket_takes_more(void)
{
	struct world_sock *s;
	struct jconn *c = conn_new(0, &s);

	s->takes = s->room = 100;
	send_from_pages(c);
	CU_ASSERT_TRUE(c->stuck && c->full);
	jconn_flush(world.f, c);
	CU_ASSERT_TRUE(c->stuck && c->full);
	s->room = 100;
	jconn_flush(world.f, c);
	CU_ASSERT_TRUE(c->stuck && !c->full);
	s->room = WORLD_BUF;
	jconn_flush(world.f, c);
	CU_ASSERT_TRUE(!c->stuck && !c->full);
	world_reset();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the socket takes any part of a loan", test_socket_takes_any_part },
		{ "the buffer wraps before a loan", test_buffer_wraps },
		{ "a connection is full until its socket takes more",
		  test_full_until_the_socket_takes_more },
		{ NULL, NULL },
	};

	return cu_run("loan", tests);
}
