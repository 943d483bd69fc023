/* SPDX-License-Identifier: MIT */
/*
 * A joined fabric process, and peers that say what they should not. See
 * tests/lib/mesh/world.h.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#define FAR 1u /* an address of another host */

/* The fabric handles and answers all that was sent. */
static void settle(void)
{
	u32 i;

	for (i = 0; i < 4; i++)
		world_turn(NSEC_PER_MSEC);
}

static struct world_sock *member(u32 who)
{
	struct world_sock *s = peer_join(FAR + who, who, JOIN_F_AES);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_TRUE(peer_begin(s) && peer_tables(s));
	settle();
	CU_ASSERT_TRUE(mesh_member(world.f, peer_id(who))->ready);
	return s;
}

static void begin(void)
{
	world_make();
}

static void end(void)
{
	CU_ASSERT_TRUE(world_audit());
	world_reset();
}

static void test_member_joins_sealed(void)
{
	struct world_sock *s;

	begin();
	s = member(0);
	CU_ASSERT_PTR_NOT_NULL(world_conn(s)->seal);
	CU_ASSERT_EQUAL(s->peer->heard, 1);
	CU_ASSERT_EQUAL(world.f->hca->n_devs, 2);
	end();
}

static void test_nobody_joins_without_the_token(void)
{
	struct world_sock *s;
	u32 how;

	for (how = PROOF_RIGHT + 1; how < PROOFS; how++) {
		begin();
		s = world_knock(FAR);
		peer_greet(s, 0, JOIN_F_AES, 0);
		settle();
		CU_ASSERT_TRUE(s->peer->heard_hello);
		peer_prove(s, (enum peer_proof)how);
		settle();
		CU_ASSERT_PTR_NULL(world_conn(s));
		CU_ASSERT_PTR_NULL(mesh_member(world.f, peer_id(0)));
		end();
	}
}

/* This fabric has no --plaintext. */
static void test_who_asks_for_less_protection_is_refused(void)
{
	struct world_sock *s;

	begin();
	s = world_knock(FAR);
	peer_greet(s, 0, JOIN_F_AES | JOIN_F_PLAIN, 0);
	settle();
	CU_ASSERT_FALSE(s->peer->heard_proof);
	CU_ASSERT_PTR_NULL(world_conn(s));
	end();
}

static void test_record_that_is_not_authentic_ends_the_connection(void)
{
	struct world_sock *s;
	u32 how;

	for (how = 0; how < RECORDS; how++) {
		begin();
		s = member(0);
		CU_ASSERT_TRUE(peer_bad_record(s, (enum peer_record)how));
		settle();
		CU_ASSERT_PTR_NULL(world_conn(s));
		end();
	}
}

/* No device has the address of a multicast group, nor a LID that is nobody's. */
static void test_answer_about_a_pair_without_a_path(void)
{
	static const u8 group[16] = { [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 9 };
	struct join_probed r = { .number = 1, .waits = 0 };
	u8 body[JOIN_PROBED];
	struct world_sock *s;

	begin();
	s = member(0);
	CU_ASSERT_TRUE_FATAL(world_connect_to(group));
	CU_ASSERT_EQUAL(world.m->hca->qp[world.qp.slot].path.dst_dev, ~0u);
	r.qpn = world.qp.qpn;
	join_probed_put(body, &r);
	CU_ASSERT_TRUE(peer_say(s, JT_PROBED, body, sizeof(body)));
	settle();
	CU_ASSERT_PTR_NOT_NULL(world_conn(s));
	end();
}

/* Peer 0 goes away, peer 1 takes its node, and peer 0 comes back and speaks for it. */
static void test_burst_from_a_device_that_another_member_has(void)
{
	struct hca_dev d = peer_device(0, 0, 1, 0);
	struct world_sock *s, *other;
	u8 body[JOIN_MAX_DEV];
	struct burst b;

	begin();
	s = member(0);
	world_hang_up(s);
	settle();
	other = member(1);
	CU_ASSERT_TRUE(peer_say(other, JT_NODE, body, join_node_put(body, 0, 1, "peer0")));
	CU_ASSERT_TRUE(peer_say(other, JT_DEV, body, join_dev_put(body, &d)));
	settle();
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_conn(other));
	CU_ASSERT_EQUAL(world.f->hca->dev[1].member, mesh_member(world.f, peer_id(1))->number);
	CU_ASSERT_TRUE_FATAL(world_connect(0));
	s = peer_join(FAR, 0, JOIN_F_AES);
	CU_ASSERT_TRUE_FATAL(s && peer_begin(s) && peer_say(s, JT_READY, NULL, 0));
	b = peer_write(8);
	CU_ASSERT_TRUE(peer_burst(s, &b));
	settle();
	CU_ASSERT_PTR_NULL(world_conn(s));
	CU_ASSERT_EQUAL(world.m->hca->qp[world.qp.slot].resp.epsn, b.psn);
	end();
}

/* A member names nodes as long as it is listened to. Return: how many the fabric has of it. */
static u32 member_with_many_nodes(u32 who)
{
	u32 before = world.f->hca->n_nodes, i;
	struct world_sock *s = member(who);
	u8 body[JOIN_MAX_DEV];
	struct hca_dev d;
	char name[16];

	for (i = 1; i < HCA_MAX_NODES && world_conn(s); i++) {
		d = peer_device(who, i, 0, 0);
		d.node = i;
		d.guid = d.port[1].guid = (u64)(who + 1) << 32 | i;
		memset(d.port[1].gid, 0, sizeof(d.port[1].gid));
		snprintf(name, sizeof(name), "many%u-%u", who, i);
		if (!peer_say(s, JT_NODE, body, join_node_put(body, i, 1, name)) ||
		    !peer_say(s, JT_DEV, body, join_dev_put(body, &d)))
			break;
		settle();
	}
	return world.f->hca->n_nodes - before;
}

static void test_members_leave_nodes_to_others(void)
{
	u32 all = 0, last;

	begin();
	last = member_with_many_nodes(0);
	CU_ASSERT(last > HCA_MAX_NODES / 4 && last <= HCA_MAX_NODES / 2);
	all += last + member_with_many_nodes(1);
	CU_ASSERT(all > HCA_MAX_NODES / 2);
	CU_ASSERT(hca_node_begin(world.f->hca, "own", 1) > 0);
	CU_ASSERT(world.f->hca->n_nodes <= HCA_MAX_NODES - HCA_MAX_NODES / 8 + 1);
	end();
}

static void send_small_bursts(struct world_sock *s, u32 n)
{
	struct burst b = peer_write(0);

	while (n--)
		CU_ASSERT_TRUE(peer_burst(s, &b));
}

static void test_members_share_a_holding(void)
{
	const u32 n = 4000, most = 1024;
	struct world_sock *s[2];
	struct member *m[2];
	u32 turns, i;
	u64 had;

	begin();
	for (i = 0; i < 2; i++) {
		s[i] = member(i);
		m[i] = mesh_member(world.f, peer_id(i));
	}
	for (i = 0; i < 2; i++)
		send_small_bursts(s[i], n);
	for (turns = 0; turns < n && m[0]->rx_bursts + m[1]->rx_bursts < 2 * n; turns++) {
		had = m[0]->rx_bursts + m[1]->rx_bursts;
		world_turn(NSEC_PER_MSEC / 10);
		CU_ASSERT(m[0]->rx_bursts + m[1]->rx_bursts <= had + most);
	}
	CU_ASSERT_EQUAL(m[0]->rx_bursts, n);
	CU_ASSERT_EQUAL(m[1]->rx_bursts, n);
	end();
}

/* The fabric connects with a member that @s has told of. Return: the socket, not answered yet. */
static struct world_sock *dialled_after(struct world_sock *s, u32 who)
{
	struct join_peer told = { .id = peer_id(who), .port = WORLD_PORT };
	struct sockaddr_storage sa;
	u8 body[JOIN_PEER];
	u32 turn, i;

	world_address(FAR + who, &sa);
	gid_map_v4(told.ip, &((struct sockaddr_in *)(void *)&sa)->sin_addr);
	CU_ASSERT_TRUE(peer_say(s, JT_PEERS, body, join_peers_put(body, &told, 1)));
	for (turn = 0; turn < 100; turn++) {
		world_turn(NSEC_PER_SEC / 100);
		for (i = 0; i < WORLD_SOCKS; i++)
			if (world.sock[i].state == SOCK_DIALS)
				return &world.sock[i];
	}
	CU_FAIL_FATAL("it does not connect");
	return NULL;
}

/* A member names the address of another fabric, which could use the proof elsewhere. */
static void test_another_fabric_at_a_told_address_gets_no_proof(void)
{
	struct world_sock *s;
	u32 who;

	for (who = 5; who <= 6; who++) {
		begin();
		s = dialled_after(member(0), 5);
		world_answer(s, 0);
		peer_greet(s, who, JOIN_F_AES, 0);
		settle();
		CU_ASSERT_EQUAL(s->peer->heard_proof, who == 5);
		CU_ASSERT_EQUAL(world_conn(s) != NULL, who == 5);
		end();
	}
}

/* The connection with a target that accepts and says nothing. */
static struct world_sock *target_dialled(void)
{
	struct target *t = &world.f->join->target[0];
	u32 i;

	t->resolve.fd = -1;
	t->next_try = 0;
	t->n_addrs = 1;
	world_address(FAR, &t->addr[0]);
	world.f->join->n_targets = 1;
	world_turn(NSEC_PER_SEC / 100);
	for (i = 0; i < WORLD_SOCKS; i++)
		if (world.sock[i].state == SOCK_DIALS) {
			world_answer(&world.sock[i], 0);
			return &world.sock[i];
		}
	CU_FAIL_FATAL("it does not connect");
	return NULL;
}

/* A hub that is too busy to answer: nothing else may wake the loop of who wants to join. */
static void test_silent_target_is_tried_again(void)
{
	struct world_sock *s;
	u32 turn;

	begin();
	s = target_dialled();
	for (turn = 0; turn < 20 && world_conn(s); turn++)
		world_turn(NSEC_PER_SEC / 2);
	CU_ASSERT_PTR_NULL(world_conn(s));
	CU_ASSERT_TRUE(world.next <= world.clock + JOIN_RETRIES_NS);
	end();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a member joins, sealed", test_member_joins_sealed },
		{ "nobody joins without the token", test_nobody_joins_without_the_token },
		{ "who asks for less protection is refused",
		  test_who_asks_for_less_protection_is_refused },
		{ "a record that is not authentic ends the connection",
		  test_record_that_is_not_authentic_ends_the_connection },
		{ "an answer about a queue pair without a path",
		  test_answer_about_a_pair_without_a_path },
		{ "a burst from a device that another member has",
		  test_burst_from_a_device_that_another_member_has },
		{ "members leave nodes to others", test_members_leave_nodes_to_others },
		{ "members share a holding", test_members_share_a_holding },
		{ "another fabric at a told address gets no proof",
		  test_another_fabric_at_a_told_address_gets_no_proof },
		{ "a target that is silent is tried again", test_silent_target_is_tried_again },
		{ NULL, NULL },
	};

	return cu_run("mesh", tests);
}
