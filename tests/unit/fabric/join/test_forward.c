/* SPDX-License-Identifier: MIT */
/*
 * A fabric process that is a hub: what members send each other through it. See
 * tests/lib/mesh/world.h.
 */
#include "fabric/join/conn.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#define FAR	    1u /* an address of another host */
#define PIECE	    (60u << 10) /* bytes of a burst's payload */
#define PER_TURN    16u /* that a socket has room for in one turn */
#define PER_WINDOW  (JOIN_WINDOW / (PIECE + JOIN_HDR + JOIN_BURST) + 1)
#define FULL	    (JOIN_TX_SHARED / JOIN_WINDOW + 2) /* senders whose windows fill that part */
#define PLOTTERS    14u /* of whom each takes half of what the others have left of it */
#define RECEIVER    0u
#define FIRST_OTHER 1u

static void settle(void)
{
	u32 i;

	for (i = 0; i < 8; i++)
		world_turn(NSEC_PER_MSEC / 10);
}

static struct world_sock *member(u32 who)
{
	struct world_sock *s = peer_join(FAR + who % WORLD_REMOTES, who, JOIN_F_AES);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_TRUE(peer_begin(s) && peer_tables(s));
	settle();
	return s;
}

/* The member that all others send to. */
static struct world_sock *receiver(void)
{
	world_make();
	return member(RECEIVER);
}

static void end(void)
{
	CU_ASSERT_TRUE(world_audit());
	world_reset();
}

static bool send_frame(struct world_sock *s, u8 type, const void *body, u32 len)
{
	const struct join_hdr h = { .type = type,
				    .src = peer_id(s->peer->who),
				    .dst = peer_id(RECEIVER) };

	return peer_send(s, &h, body, len);
}

static bool send_begin(struct world_sock *s, u64 session)
{
	u8 body[JOIN_BEGIN];

	join_u64_put(body, session);
	return send_frame(s, JT_BEGIN, body, sizeof(body));
}

/* Send @n bursts as long as the hub takes them. */
static void send_bursts(struct world_sock *s, u32 n)
{
	static u8 body[JOIN_BURST + PIECE];
	const struct burst b = peer_write(PIECE);
	u32 i;

	join_burst_put(body, &b, 0, 0);
	for (i = 0; i < n && world_conn(s); i++) {
		CU_ASSERT_TRUE(send_frame(s, JT_BURST, body, sizeof(body)));
		if (i % PER_TURN == PER_TURN - 1)
			settle();
	}
	settle();
}

static u32 waiting(const struct world_sock *s)
{
	return world_conn(s) ? jconn_pending(world_conn(s)) : 0;
}

/* The receiver reads again, until it has all. */
static void hear_all(struct world_sock *s)
{
	u32 i;

	s->peer->deaf = false;
	for (i = 0; i < 4000 && world_conn(s) && !jconn_idle(world_conn(s)); i++)
		world_turn(NSEC_PER_MSEC);
	settle();
	CU_ASSERT_TRUE(world_conn(s) && jconn_idle(world_conn(s)));
}

static void test_bursts_before_begin_stay_at_the_hub(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER);

	send_bursts(s, 2 * PER_WINDOW);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 0);
	CU_ASSERT_TRUE(send_begin(s, 1));
	send_bursts(s, 3);
	hear_all(to);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 3);
	end();
}

static void test_hub_requests_begin_of_a_sender_without_one(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER);

	send_bursts(s, 1);
	CU_ASSERT_EQUAL(s->peer->n_asks, 0);
	world_turn(NSEC_PER_SEC);
	settle();
	CU_ASSERT_EQUAL(s->peer->n_asks, 1);
	/* Only for another burst it sends another one. */
	world_turn(NSEC_PER_SEC);
	settle();
	CU_ASSERT_EQUAL(s->peer->n_asks, 1);
	send_bursts(s, 1);
	world_turn(NSEC_PER_SEC);
	settle();
	CU_ASSERT_EQUAL(s->peer->n_asks, 2);
	CU_ASSERT_TRUE(send_begin(s, 1));
	send_bursts(s, 1);
	world_turn(NSEC_PER_SEC);
	settle();
	CU_ASSERT_EQUAL(s->peer->n_asks, 2);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 1);
	end();
}

static void test_sessions_end_with_the_receivers_connection(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER);

	CU_ASSERT_TRUE(send_begin(s, 1));
	send_bursts(s, 2);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 2);
	to = member(RECEIVER);
	send_bursts(s, 2);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 0);
	CU_ASSERT_TRUE(send_begin(s, 2));
	send_bursts(s, 1);
	hear_all(to);
	CU_ASSERT_EQUAL(to->peer->n_bursts, 1);
	end();
}

/* A burst that the receiver has read no longer counts. */
static void test_receiver_that_reads_gets_all(void)
{
	const u32 sessions = JOIN_TX_SHARED / JOIN_WINDOW + 2;
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER);
	u32 i;

	for (i = 1; i <= sessions; i++) {
		CU_ASSERT_TRUE(send_begin(s, i));
		send_bursts(s, PER_WINDOW);
		hear_all(to);
	}
	CU_ASSERT_EQUAL(to->peer->n_bursts, sessions * PER_WINDOW);
	end();
}

/*
 * Begin sessions until the flow's part of the buffer is full: each has a window of its own, of
 * which the receiver has taken nothing.
 */
static void send_sessions(struct world_sock *s, const struct world_sock *to)
{
	static u64 session;
	u32 before;

	do {
		before = waiting(to);
		CU_ASSERT_TRUE(send_begin(s, ++session));
		send_bursts(s, PER_WINDOW);
	} while (waiting(to) > before + PIECE);
}

static void test_many_sessions_leave_room_to_others(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER),
			  *other = member(FIRST_OTHER + 1);
	u32 before;

	to->peer->deaf = true;
	send_sessions(s, to);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_conn(to));
	before = waiting(to);
	CU_ASSERT(before > JOIN_TX_SHARED / 4 && before < JOIN_TX_SHARED / 2 + PIECE);
	CU_ASSERT_TRUE(send_begin(other, 1));
	send_bursts(other, PER_WINDOW);
	CU_ASSERT(waiting(to) > before + JOIN_WINDOW);
	end();
}

static void test_senders_with_full_windows_do_not_end_a_slow_receiver(void)
{
	struct world_sock *to = receiver(), *s[FULL];
	u8 body[JOIN_PROBE];
	u32 i, asked = 0;

	to->peer->deaf = true;
	for (i = 0; i < FULL; i++) {
		s[i] = member(FIRST_OTHER + i);
		CU_ASSERT_TRUE(send_begin(s[i], 1));
		settle();
	}
	for (i = 0; i < FULL; i++)
		send_bursts(s[i], PER_WINDOW);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_conn(to));
	CU_ASSERT(waiting(to) > JOIN_TX_SHARED / 2);
	/* Frames that cost no credit have room, too. */
	join_probe_put(body, &(struct join_probe){ .number = 1, .qpn = 1, .peer = 1 });
	for (i = 0; i < FULL; i++) {
		CU_ASSERT_TRUE(send_frame(s[i], JT_PROBE, body, sizeof(body)));
		settle();
		CU_ASSERT_PTR_NOT_NULL(world_conn(s[i]));
	}
	hear_all(to);
	CU_ASSERT(to->peer->n_bursts > FULL / 2 * PER_WINDOW);
	CU_ASSERT_EQUAL(to->peer->n_probes, FULL);
	/* Those whose bursts had no room begin again. */
	world_turn(NSEC_PER_SEC);
	settle();
	for (i = 0; i < FULL; i++)
		asked += s[i]->peer->n_asks > 0;
	CU_ASSERT(asked > 0 && asked < FULL);
	to->peer->n_bursts = 0;
	for (i = 0; i < FULL; i++)
		if (s[i]->peer->n_asks) {
			CU_ASSERT_TRUE(send_begin(s[i], 2));
			send_bursts(s[i], 1);
		}
	hear_all(to);
	CU_ASSERT_EQUAL(to->peer->n_bursts, asked);
	end();
}

/* Keep their part of the buffer full, while the receiver reads a little. */
static void plotters_fill(struct world_sock **s, struct world_sock *to)
{
	u32 i;

	for (i = 0; i < PLOTTERS; i++)
		send_sessions(s[i], to);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_conn(to));
	CU_ASSERT(waiting(to) > JOIN_TX_SHARED / 2);
}

static void test_members_that_act_together_leave_room_for_a_burst(void)
{
	struct world_sock *to = receiver(), *s[PLOTTERS], *honest = member(FIRST_OTHER + PLOTTERS);
	u8 body[JOIN_PROBE];
	u32 i, before;

	to->peer->deaf = true;
	for (i = 0; i < PLOTTERS; i++)
		s[i] = member(FIRST_OTHER + i);
	plotters_fill(s, to);
	before = waiting(to);
	CU_ASSERT(before + PIECE > JOIN_TX_SHARED);
	CU_ASSERT_TRUE(send_begin(honest, 1));
	send_bursts(honest, PER_WINDOW);
	CU_ASSERT(waiting(to) > before + JOIN_MAX_FRAME - 2 * PIECE);
	CU_ASSERT(waiting(to) <= before + JOIN_MAX_FRAME + JOIN_HDR + JOIN_BEGIN);
	join_probe_put(body, &(struct join_probe){ .number = 1, .qpn = 1, .peer = 1 });
	CU_ASSERT_TRUE(send_frame(honest, JT_PROBE, body, sizeof(body)));
	settle();
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_conn(honest));
	/* One of its bursts was dropped. It may go on when the others have been sent. */
	for (i = 0; i < 100 && !honest->peer->n_asks; i++) {
		to->peer->deaf = false;
		settle();
		to->peer->deaf = true;
		plotters_fill(s, to);
		CU_ASSERT_TRUE(peer_say(to, JT_PING, NULL, 0) &&
			       peer_say(honest, JT_PING, NULL, 0));
	}
	CU_ASSERT_EQUAL(honest->peer->n_asks, 1);
	CU_ASSERT_EQUAL(to->peer->n_probes, 1);
	CU_ASSERT_PTR_NOT_NULL(world_conn(honest));
	end();
}

static void test_flood_of_frames_without_credit_ends_its_sender(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER);
	static u8 many[4096 * JOIN_HDR];
	const struct join_hdr h = { .len = JOIN_HDR,
				    .type = JT_PING,
				    .src = peer_id(FIRST_OTHER),
				    .dst = peer_id(RECEIVER) };
	u32 i;

	for (i = 0; i < sizeof(many); i += JOIN_HDR)
		join_hdr_put(many + i, &h);
	to->peer->deaf = true;
	for (i = 0; i < 2 * JOIN_TX_SHARED / sizeof(many) && world_conn(s); i++) {
		CU_ASSERT_TRUE(peer_put(s, many, sizeof(many)));
		settle();
	}
	CU_ASSERT_PTR_NULL(world_conn(s));
	CU_ASSERT_PTR_NOT_NULL(world_conn(to));
	CU_ASSERT(waiting(to) < JOIN_TX_SHARED / 2 + PIECE);
	end();
}

/* A second passes, in which the receiver reads a little. */
static void trickle(struct world_sock *to)
{
	CU_ASSERT_TRUE(peer_say(to, JT_PING, NULL, 0));
	to->peer->deaf = false;
	world_turn(NSEC_PER_MSEC / 10);
	to->peer->deaf = true;
	world_turn(NSEC_PER_SEC);
}

static void test_a_member_that_has_left_keeps_its_place_until_its_frames_are_sent(void)
{
	struct world_sock *to = receiver(), *s = member(FIRST_OTHER), *filler;
	const struct member *left = world_conn(s)->member, *next;
	u32 i, number = left->number;

	to->peer->deaf = true;
	/* What comes first is read first. */
	filler = member(FIRST_OTHER + 1);
	send_sessions(filler, to);
	CU_ASSERT_TRUE(send_begin(s, 1));
	send_bursts(s, PER_WINDOW);
	world_hang_up(s);
	for (i = 0; i < 12; i++)
		trickle(to);
	CU_ASSERT(waiting(to) > JOIN_WINDOW);
	CU_ASSERT_PTR_NOT_NULL_FATAL(left = mesh_member(world.f, peer_id(FIRST_OTHER)));
	CU_ASSERT_TRUE(left->dead && !left->via);
	next = world_conn(member(FIRST_OTHER + 2))->member;
	CU_ASSERT_NOT_EQUAL(next->number, number);
	CU_ASSERT_PTR_EQUAL(mesh_member(world.f, peer_id(FIRST_OTHER)), left);
	hear_all(to);
	next = world_conn(member(FIRST_OTHER + 3))->member;
	CU_ASSERT_EQUAL(next->number, number);
	CU_ASSERT_PTR_NULL(mesh_member(world.f, peer_id(FIRST_OTHER)));
	end();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "bursts before BEGIN stay at the hub", test_bursts_before_begin_stay_at_the_hub },
		{ "the hub requests BEGIN of a sender without one",
		  test_hub_requests_begin_of_a_sender_without_one },
		{ "sessions end with the receiver's connection",
		  test_sessions_end_with_the_receivers_connection },
		{ "a receiver that reads gets all", test_receiver_that_reads_gets_all },
		{ "many sessions of a member leave room to others",
		  test_many_sessions_leave_room_to_others },
		{ "senders with full windows do not end a slow receiver",
		  test_senders_with_full_windows_do_not_end_a_slow_receiver },
		{ "members that act together leave room for a burst",
		  test_members_that_act_together_leave_room_for_a_burst },
		{ "a flood of frames without credit ends its sender",
		  test_flood_of_frames_without_credit_ends_its_sender },
		{ "a member that has left keeps its place until its frames are sent",
		  test_a_member_that_has_left_keeps_its_place_until_its_frames_are_sent },
		{ NULL, NULL },
	};

	return cu_run("forward", tests);
}
