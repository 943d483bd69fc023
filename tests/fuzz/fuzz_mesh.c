/* SPDX-License-Identifier: MIT */
/*
 * A joined fabric process for libFuzzer: `make fuzz FUZZ=mesh`. An input is a program: each step
 * opens a connection, sends a piece of a handshake, a frame, a record, or lets time pass, and then
 * the fabric process's loop turns. The peers have the token where a step says so. Whatever they do,
 * the fabric's state stays sound, nobody becomes a member without the token, nothing that is not
 * authentic counts, and an honest member can join afterwards.
 */
#include "tests/lib/mesh/peer.h"

#include <errno.h>
#include <stdio.h>

#define PEERS	    8u
#define SHOWN	    64u /* numbers that members tell: ids, indices */
#define HONEST	    20u /* a peer that no step plays */
#define AUDIT_EACH  64u /* inputs */
#define HONEST_EACH 8u /* lengths */
#define TURN_NS	    (2 * JOIN_PING_NS) /* a process that stands still for longer forgives */
#define MAX_READS   64u /* of what a socket has */

/* An input that is read: zeros follow its end. */
static const u8 *at;
static u32 left;

static u32 take(u32 n)
{
	u32 v = 0;

	for (; n && left; n--, left--)
		v = v << 8 | *at++;
	return v;
}

static struct world_sock *take_sock(void)
{
	return &world.sock[take(1) % PEERS];
}

/* --- steps: connections --- */

static void step_knock(void)
{
	(void)world_knock(take(1) % WORLD_REMOTES);
}

static void step_greet(void)
{
	struct world_sock *s = take_sock();
	u32 who = take(1) % PEERS, flags = take(1), odd = take(1);

	if (s->state != SOCK_FREE && s->state != SOCK_DIALS)
		peer_greet(s, who, (u8)flags, odd);
}

static void step_prove(void)
{
	struct world_sock *s = take_sock();
	u32 how = take(1);

	if (s->state == SOCK_OPEN)
		peer_prove(s, how % 8 < PROOFS ? (enum peer_proof)(how % 8) : PROOF_RIGHT);
}

/* As an honest member, up to its tables. */
static void step_join(void)
{
	u32 from = take(1), who = take(1) % PEERS;
	struct world_sock *s = peer_join(from % WORLD_REMOTES, who, JOIN_F_AES);

	if (s && peer_begin(s) && from & 0x80)
		peer_tables(s);
}

static void step_answer(void)
{
	struct world_sock *s = take_sock();

	world_answer(s, take(1) % 4 ? 0 : ECONNREFUSED);
}

static void step_end(void)
{
	struct world_sock *s = take_sock();
	u32 how = take(1) % 4;

	if (s->state != SOCK_OPEN)
		return;
	if (how == 3)
		s->error = ECONNRESET;
	else
		world_hang_up(s);
}

static void step_pace(void)
{
	static const u32 sizes[] = { WORLD_BUF, 1, 7, 24, 300, 4096, 65536 };
	struct world_sock *s = take_sock();

	s->gives = sizes[take(1) % ARRAY_SIZE(sizes)];
	s->takes = sizes[take(1) % ARRAY_SIZE(sizes)];
	s->peer->deaf = take(1) & 1;
}

static void step_target(void)
{
	world.f->join->target[0].next_try = 0;
}

/* --- steps: frames --- */

/* A number that a member tells of another. */
static u64 take_id(void)
{
	u32 n = take(1) % SHOWN;

	return n == SHOWN - 1 ? 0 : n == SHOWN - 2 ? WORLD_FABRIC : peer_id(n % 32);
}

static bool can_say(const struct world_sock *s)
{
	return s->state == SOCK_OPEN && s->peer->greeted;
}

/* Any frame: its body is from the input. */
static void step_frame(void)
{
	struct world_sock *s = take_sock();
	struct join_hdr h = { .type = (u8)take(1), .dst = WORLD_FABRIC };
	u32 how = take(1), n = take(1);

	h.src = how & 1 ? take_id() : peer_id(s->peer->who);
	if (how & 2)
		h.dst = take_id();
	h.lane = how >> 2 & 1;
	n = min_u32(n * (how & 8 ? 16 : 1), left);
	if (can_say(s) && peer_send(s, &h, at, n))
		at += n, left -= n;
}

/* Any bytes, of the stream of frames or of the socket. */
static void step_bytes(void)
{
	struct world_sock *s = take_sock();
	u32 how = take(1), n = min_u32(take(1), left);

	if (s->state != SOCK_OPEN)
		return;
	s->peer->noise |= !(how & 1);
	if (how & 1 ? peer_put(s, at, n) : world_put(s, at, n))
		at += n, left -= n;
}

static void step_record(void)
{
	struct world_sock *s = take_sock();
	enum peer_record how = (enum peer_record)(take(1) % RECORDS);
	const struct jconn *c;
	u32 i;

	if (s->state != SOCK_OPEN || s->ended || s->peer->noise || !peer_bad_record(s, how))
		return;
	s->gives = WORLD_BUF;
	/* What came before it is read first. */
	for (i = 0; (c = world_conn(s)) && c->want_read && i < MAX_READS; i++)
		world_turn(0);
	WORLD_MUST(!c || !c->want_read);
}

static void step_begin(void)
{
	struct world_sock *s = take_sock();

	if (can_say(s))
		peer_begin(s);
}

static void step_tables(void)
{
	struct world_sock *s = take_sock();

	if (can_say(s))
		peer_tables(s);
}

/* A node with devices that may be another's, or each other's. */
static void step_node(void)
{
	struct world_sock *s = take_sock();
	u32 name = take(1), n = 1 + take(1) % 2, index = take(1) % SHOWN, i, odd;
	u8 body[JOIN_MAX_DEV];
	char text[JOIN_NAME];
	struct hca_dev d;

	if (!can_say(s))
		return;
	snprintf(text, sizeof(text), name % 16 == 15 ? "node0" : "peer%u", name % 16);
	peer_say(s, JT_NODE, body, join_node_put(body, index, n, text));
	for (i = 0; i < n; i++) {
		odd = take(1);
		d = peer_device(take(1) % PEERS, take(1) % SHOWN, (u8)(odd & 7), take(1) % 4);
		d.node = index;
		if (odd & 8)
			d.port[1].gid[0].valid = 0;
		if (odd & 16)
			d.port[1].gid[1 + take(1) % (HCA_GIDS - 1)] = d.port[1].gid[0];
		if (odd & 32)
			d.n_ports = 2, d.port[2] = d.port[1];
		if (odd & 64)
			d.link_layer = LINK_INFINIBAND;
		if (odd & 128)
			memcpy(d.port[1].gid[0].raw, world.f->hca->dev[0].port[1].gid[0].raw, 16);
		peer_say(s, JT_DEV, body, join_dev_put(body, &d));
	}
}

static void step_ready(void)
{
	struct world_sock *s = take_sock();

	if (can_say(s))
		peer_say(s, JT_READY, NULL, 0);
}

static void step_credit(void)
{
	struct world_sock *s = take_sock();
	u8 body[JOIN_CREDIT];
	u32 i;

	join_u64_put(body, s->peer->heard + take(1) % 2);
	for (i = 0; i < LANES; i++)
		join_u64_put(body + 8 + 8 * i, (u64)take(1) << 16);
	if (can_say(s))
		peer_say(s, JT_CREDIT, body, sizeof(body));
}

static void step_probe(void)
{
	struct world_sock *s = take_sock();
	struct join_probe q = {
		.number = take(1), .qpn = take(1), .dev = take(1) % 4, .peer = take(1)
	};
	struct join_probed r = { .number = take(1), .qpn = world.qp.qpn, .waits = take(1) & 1 };
	u8 body[JOIN_PROBE];

	if (!can_say(s))
		return;
	if (q.peer & 1) {
		join_probe_put(body, &q);
		peer_say(s, JT_PROBE, body, sizeof(body));
	} else {
		r.number = r.number ? r.number : world.m->hca->qp[world.qp.slot].probe.asked;
		join_probed_put(body, &r);
		peer_say(s, JT_PROBED, body, sizeof(body));
	}
}

static void step_text(void)
{
	struct world_sock *s = take_sock();
	struct join_query q = { .number = take(1) % 4, .what = take(1) % 5, .from = take(1) };
	struct join_piece t = { .number = q.number, .total = take(1), .from = q.from };
	u8 data[16] = { 0 }, body[JOIN_QUERY + sizeof(data)];

	t.data = data;
	t.len = take(1) % (u32)sizeof(data);
	t.err = t.len ? 0 : take(2);
	if (!can_say(s))
		return;
	if (t.total & 1) {
		join_query_put(body, &q);
		peer_say(s, JT_QUERY, body, JOIN_QUERY);
	} else {
		peer_say(s, JT_PIECE, body, join_piece_put(body, &t));
	}
}

static void step_peers(void)
{
	struct world_sock *s = take_sock();
	struct join_peer peer[JOIN_MAX_PEERS];
	u8 body[JOIN_MAX_PEERS * JOIN_PEER];
	u32 i, n = take(1) % (JOIN_MAX_PEERS + 1), first = take(1), odd = take(1);
	struct sockaddr_storage sa;

	for (i = 0; i < n; i++) {
		world_address((first + i) % WORLD_REMOTES, &sa);
		peer[i] = (struct join_peer){ .id = peer_id((first + i) % 70),
					      .port = odd & 1 ? WORLD_PORT : 0 };
		gid_map_v4(peer[i].ip, &((struct sockaddr_in *)&sa)->sin_addr);
		if (odd & 2)
			peer[i].ip[take(1) % 16] ^= (u8)take(1);
	}
	if (can_say(s))
		peer_say(s, JT_PEERS, body, join_peers_put(body, peer, n));
}

/* A burst as the world's QP expects it, but for some bytes. */
static void step_burst(void)
{
	struct world_sock *s = take_sock();
	u32 op = take(1), n = take(2) % 20000, edits = take(1) % 4, i, where;
	u8 body[JOIN_BURST + JOIN_AV + 20000];
	struct join_hdr h = { .type = JT_BURST, .src = peer_id(s->peer->who), .dst = WORLD_FABRIC };
	struct burst b = peer_write(n);

	b.op = (u8)(op % BOP_NONE);
	if (op & 0x80)
		b.psn = world.m->hca->qp[world.qp.slot].req.una_psn;
	if (b.op > BOP_WRITE && b.op != BOP_READ_RESP) {
		b.len = b.op == BOP_ATOMIC_WRITE ? 8 : b.op == BOP_READ_REQ ? n : 0;
		b.npkts = b.op == BOP_READ_REQ ? b.npkts : 1;
	}
	b.atomic_op = WR_ATOMIC_FETCH_AND_ADD;
	b.aeth = b.op > BOP_ATOMIC_REQ ? (u8)take(1) : 0;
	h.lane = (u8)join_lane_of(b.op);
	n = join_burst_size(&b) + join_data_len(&b);
	memset(body, 0, n);
	join_burst_put(body, &b, take(1) % 4, take(1) % 4);
	for (i = 0; i < edits; i++) {
		where = take(1) % (JOIN_BURST + JOIN_AV);
		body[where] = (u8)take(1);
	}
	if (op & 0x40)
		h.dst = take_id();
	for (i = 0; can_say(s) && i < (op & 0x20 ? 8 : 1); i++)
		peer_send(s, &h, body, n);
}

static void step_bare(void)
{
	static const u8 types[] = { JT_PING, JT_ASK, JT_BYE, JT_REFUSE };
	struct world_sock *s = take_sock();
	struct join_hdr h = { .type = types[take(1) % ARRAY_SIZE(types)], .dst = WORLD_FABRIC };

	h.src = take_id();
	if (h.src == peer_id(31) || !h.src)
		h.src = peer_id(s->peer->who);
	if (can_say(s))
		peer_send(s, &h, "no\x1b", h.type == JT_REFUSE ? 3 : 0);
}

/* --- steps: the fabric's own side --- */

static void step_connect(void)
{
	static const u8 group[16] = { [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 9 };
	u32 nth = take(1) % 5;

	(void)(nth < 4 ? world_connect(nth) : world_connect_to(group));
}

static void step_post(void)
{
	static const u32 ops[] = { WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_ATOMIC_FETCH_AND_ADD };
	struct emu *m = world.m;
	struct emu_qp *q = &world.qp;
	u32 op = ops[take(1) % ARRAY_SIZE(ops)], len = take(2) % 9000;
	struct cqe c;

	while (emu_poll(m, &q->scq, &c, NULL) || emu_poll(m, &q->rcq, &c, m->c[0].mem))
		;
	if (emu_state(m, q) != QPS_RTS)
		return;
	if (q->rq_prod - m->hca->qp[q->slot].resp.rq_cons < 8)
		emu_recv(m, q, 1, m->c[0].mem, 16384);
	if (q->sq_prod - m->hca->qp[q->slot].req.una > 4)
		return;
	emu_remote(m, emu_post(m, q, op, 2, m->c[0].mem, op == ops[3] ? 8 : len), 0, m->c[0].mem);
	emu_ring(m, q);
}

static void step_time(void)
{
	static const u64 ms[] = { 1, 20, 100, 300, 1000, 2500, 5001, 11000, 61000 };
	u64 ns = ms[take(1) % ARRAY_SIZE(ms)] * NSEC_PER_MSEC;
	struct world_sock *s;

	/* Peers that are well say so. */
	for (; ns > TURN_NS; ns -= TURN_NS) {
		for (s = world.sock; s < world.sock + PEERS; s++)
			if (can_say(s) && s->peer->proved)
				peer_say(s, JT_PING, NULL, 0);
		world_turn(TURN_NS);
	}
	world_turn(ns);
}

static void step_pause(void)
{
	world_turn((u64)take(1) * NSEC_PER_SEC / 4);
}

/* The order is that of tests/fuzz/corpus.py. */
static void (*const steps[])(void) = {
	step_knock,  step_greet,  step_prove, step_join,   step_answer, step_end,    step_pace,
	step_target, step_frame,  step_bytes, step_record, step_begin,	step_tables, step_node,
	step_ready,  step_credit, step_probe, step_peers,  step_burst,	step_bare,   step_connect,
	step_post,   step_time,	  step_pause, step_text,
};

/*
 * Everybody falls silent. Some seconds later nobody is left, and a member that did not come before
 * can join: its name and addresses are its own.
 */
static void end_honestly(void)
{
	struct join *j = world.f->join;
	struct world_sock *s;
	u32 i;

	for (s = world.sock; s < world.sock + WORLD_SOCKS; s++)
		s->in->head = s->in->tail = 0;
	for (i = 0; i < 10; i++)
		world_turn(TURN_NS);
	for (i = 0; i < j->n_conns; i++)
		WORLD_MUST(j->conn[i].state == JC_FREE || j->conn[i].out);
	s = peer_join(WORLD_REMOTES - 1, HONEST, JOIN_F_AES);
	WORLD_MUST(s && peer_begin(s) && peer_tables(s));
	for (i = 0; i < 4; i++)
		world_turn(NSEC_PER_MSEC);
	WORLD_MUST(mesh_member(world.f, peer_id(HONEST))->ready && s->peer->heard);
}

/*
 * Memory that was freed is used again soon: a fresh page costs more than most steps. The shadow of
 * a large chunk is written, not mapped anew, for the same reason.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:malloc_context_size=6:clear_shadow_mmap_threshold=16777216";
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static u32 turns;

	world_make();
	at = data;
	left = (u32)len;
	while (left) {
		steps[take(1) % ARRAY_SIZE(steps)]();
		world_turn(100 * NSEC_PER_USEC);
	}
	if (!(++turns % AUDIT_EACH))
		WORLD_MUST(world_audit());
	if (len % HONEST_EACH == 0)
		end_honestly();
	world_reset();
	return 0;
}
