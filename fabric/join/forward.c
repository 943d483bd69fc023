/* SPDX-License-Identifier: MIT */
/**
 * DOC: the hub: frames that pass through this fabric, from one member to another.
 *
 * The receiver of a forwarded frame cannot end the sender's connection, only that of the hub. So
 * the hub checks what the receiver would check, and ends the sender's connection:
 *
 * - Only frames that members send through a hub, with bodies that the codec accepts.
 * - Bursts within the credit that the receiver has granted. The hub sees BEGIN, bursts and CREDIT
 *   in the order in which the sender sends and receives them, so both count the same.
 * - Each flow, from one member to another, has room of its own in the buffer to the receiver, for
 *   one burst of the largest size, whatever others have sent. Beyond that, flows share a part of
 *   the buffer, of which each has at most as many bytes as are free. A flow's frames that cost no
 *   credit count on their own; more of them end the sender's connection. A member that has left
 *   keeps its place in the table until its frames are sent: flows are never more than places.
 *
 * A session begins with a whole window, whether or not the receiver has taken that of the session
 * before. So an honest sender, too, may have a burst for which the receiver's buffer has no room.
 * The hub drops it, and with it the flow's session: credit would be lost with the burst. Until
 * BEGIN comes it drops further bursts, as a receiver does, and when the buffer has room again it
 * sends ASK in the receiver's name. If others keep the buffer full, the flow's own room is enough
 * after a second.
 *
 * What only the receiver can know (its devices, the addresses of others) it checks itself:
 * session_refuse().
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

/* From here on queued bytes are written at once: the peer handles them while more come. */
#define FORWARD_FLUSH_AT (256u << 10)

/* The room of a flow for its bursts, and for its other frames. */
#define FORWARD_OWN_BURSTS JOIN_MAX_FRAME
#define FORWARD_OWN_OTHERS (128u << 10)
/* The hub's own frames: bursts that it has credit for, and what costs none. */
#define FORWARD_HUB (LANES * (JOIN_WINDOW + JOIN_MAX_FRAME) + (1u << 20))

/* A frame may not fit into the end of the ring. */
_Static_assert(JOIN_TX_SHARED + (JOIN_MAX_MEMBERS - 1) * (FORWARD_OWN_BURSTS + FORWARD_OWN_OTHERS) +
			       FORWARD_HUB + JOIN_MAX_FRAME <=
		       JOIN_TX_SIZE,
	       "all flows have their own room when the shared part is full");

/* Between two ASKs: members accept more of them. */
#define FORWARD_ASK_NS NSEC_PER_SEC
/* Between two searches for flows to ask for. */
#define FORWARD_CHECK_NS (100 * NSEC_PER_MSEC)

/* The account of what @src sends the member with id @to. */
static struct flow *flow_get(struct fabric *f, struct member *src, u64 to)
{
	struct member *dst = mesh_member(f, to);
	struct flow *flow = dst ? &src->flow[dst->number - 1] : NULL;

	if (flow && flow->to != to)
		*flow = (struct flow){ .to = to };
	return flow;
}

static void flow_begin(struct flow *flow, u64 session)
{
	u32 i;

	flow->session = session;
	flow->ask_at = 0;
	for (i = 0; i < LANES; i++) {
		flow->sent[i] = 0;
		flow->limit[i] = JOIN_WINDOW;
	}
}

/* Return: NULL, or what is wrong with the burst. */
static const char *forward_burst(struct flow *flow, const struct join_hdr *h, const u8 *body)
{
	struct hca_av av;
	struct burst b;
	const u8 *data;

	if (join_burst_get(body, h->len - JOIN_HDR, h->lane, &b, &av, &data))
		return "malformed burst";
	if (flow && flow->session && flow->sent[h->lane] >= flow->limit[h->lane] &&
	    join_burst_needs_credit(h->lane, h->len))
		return "more than it has credit for";
	if (flow)
		flow->sent[h->lane] += h->len;
	return NULL;
}

/* @flow: of what the receiver of the credit sends. Return: NULL, or what is wrong with it. */
static const char *forward_credit(struct flow *flow, const u8 *body, u32 len)
{
	u64 limit;
	u32 i;

	if (len != JOIN_CREDIT)
		return "malformed credit";
	if (!flow || join_u64_get(body) != flow->session)
		return NULL;
	for (i = 0; i < LANES; i++) {
		limit = join_u64_get(body + (1 + i) * sizeof(u64));
		if (limit > flow->sent[i] + JOIN_WINDOW)
			return "more credit than the window";
		if (limit > flow->limit[i])
			flow->limit[i] = limit;
	}
	return NULL;
}

static const char *forward_table(u8 type, const u8 *body, u32 len)
{
	static struct hca_dev dev;
	char name[JOIN_NAME];
	u32 index, n_devs;
	bool good;

	if (type == JT_NODE)
		good = !join_node_get(body, len, &index, &n_devs, name);
	else if (type == JT_DEV)
		good = !join_dev_get(body, len, &dev);
	else
		good = !len;
	return good ? NULL : "malformed table";
}

static const char *forward_probe(u8 type, const u8 *body, u32 len)
{
	struct join_probed r;
	struct join_probe q;
	int ret = type == JT_PROBE ? join_probe_get(body, len, &q) : join_probed_get(body, len, &r);

	return ret ? "malformed probe" : NULL;
}

static const char *forward_text(u8 type, const u8 *body, u32 len)
{
	struct join_query q;
	struct join_piece t;
	int ret = type == JT_QUERY ? join_query_get(body, len, &q) : join_piece_get(body, len, &t);

	return ret ? "malformed text" : NULL;
}

/* Return: NULL, or what is wrong with a frame from @src to another member. */
static const char *forward_check(struct fabric *f, struct member *src, const struct join_hdr *h,
				 const u8 *body)
{
	struct flow *flow = flow_get(f, src, h->dst);
	struct member *dst = mesh_member(f, h->dst);
	u32 len = h->len - JOIN_HDR;

	switch (h->type) {
	case JT_BURST:
		return forward_burst(flow, h, body);
	case JT_CREDIT:
		return forward_credit(dst ? flow_get(f, dst, src->id) : NULL, body, len);
	case JT_NODE:
	case JT_DEV:
	case JT_READY:
		return forward_table(h->type, body, len);
	case JT_BEGIN:
		if (len != JOIN_BEGIN || !join_u64_get(body))
			return "malformed session";
		if (flow)
			flow_begin(flow, join_u64_get(body));
		return NULL;
	case JT_PROBE:
	case JT_PROBED:
		return forward_probe(h->type, body, len);
	case JT_QUERY:
	case JT_PIECE:
		return forward_text(h->type, body, len);
	case JT_ASK:
		return len ? "malformed session" : NULL;
	case JT_PING:
	case JT_BYE:
		return len ? "malformed frame" : NULL;
	case JT_REFUSE:
		return len > JOIN_TEXT ? "malformed frame" : NULL;
	default:
		return "unexpected frame";
	}
}

/* Drop a burst, and those that follow until BEGIN comes. forward_tick() asks for that. */
static void forward_drop(struct fabric *f, struct flow *flow)
{
	u64 now = real_ns();

	/* A sender without a session may have sent BEGIN, or has been asked to. */
	if (!flow->ask_at)
		flow->ask_at = now + (flow->session ? 0 : FORWARD_ASK_NS);
	flow->session = 0;
	if (!f->join->asks_at)
		f->join->asks_at = now + FORWARD_CHECK_NS;
}

/* Bytes of a flow's frames, of one of the two kinds, that the connection has not written yet. */
static u64 forward_waiting(const struct jconn *c, struct flow_queue *q)
{
	return flow_queue_len(q, c->committed - jconn_pending(c));
}

/*
 * Room for a frame of a flow, as far as the flow may take it. @own: bytes that it always has.
 * Return: NULL: it may not.
 */
static u8 *forward_reserve(struct jconn *c, struct flow_queue *q, u32 len, u32 own)
{
	u32 used = jconn_pending(c), room = used < JOIN_TX_SHARED ? JOIN_TX_SHARED - used : 0;

	return forward_waiting(c, q) + len <= max_u32(own, room) ? jconn_reserve(c, len) : NULL;
}

const char *forward_input(struct fabric *f, struct member *src, const struct join_hdr *h,
			  const u8 *frame)
{
	const char *why = forward_check(f, src, h, frame + JOIN_HDR);
	struct member *dst = mesh_member(f, h->dst);
	struct flow *flow = flow_get(f, src, h->dst);
	bool burst = h->type == JT_BURST;
	struct flow_queue *q;
	struct jconn *c;
	u8 *p;

	if (why || !flow || !dst || !dst->conn)
		return why;
	c = dst->conn;
	q = burst ? &flow->bursts : &flow->others;
	if (burst)
		p = flow->session ? forward_reserve(c, q, h->len, FORWARD_OWN_BURSTS) : NULL;
	else
		p = forward_reserve(c, q, h->len, FORWARD_OWN_OTHERS);
	if (!p) {
		if (!burst)
			return "more frames than their receiver takes";
		forward_drop(f, flow);
		return NULL;
	}
	memcpy(p, frame, h->len);
	jconn_commit(c, h->len);
	flow_queue_add(q, c->committed, h->len);
	if (!c->want_write && jconn_pending(c) >= FORWARD_FLUSH_AT)
		jconn_flush(f, c);
	return NULL;
}

bool forward_has_left(struct fabric *f, struct member *m)
{
	struct member *dst;
	struct flow *flow;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		dst = f->join->member[i];
		flow = &m->flow[i];
		if (dst && dst->conn && flow->to == dst->id &&
		    (forward_waiting(dst->conn, &flow->bursts) ||
		     forward_waiting(dst->conn, &flow->others)))
			return true;
	}
	return false;
}

void forward_begin(struct fabric *f, const struct member *m)
{
	struct join *j = f->join;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i])
			j->member[i]->flow[m->number - 1] = (struct flow){ 0 };
}

/* Whether a flow whose burst was dropped may go on: there is much room, or its own is empty. */
static bool forward_may_ask(struct jconn *c, struct flow *flow, u64 now)
{
	if (jconn_pending(c) <= JOIN_TX_SHARED / 4)
		return now >= flow->ask_at;
	return now >= flow->ask_at + FORWARD_ASK_NS && !forward_waiting(c, &flow->bursts);
}

/* Ask @src for BEGIN, as its receiver, if that has room. Return: whether to come back for it. */
static bool forward_ask(struct fabric *f, struct member *src, struct flow *flow, u64 now)
{
	struct member *dst = flow->ask_at ? mesh_member(f, flow->to) : NULL;

	if (!dst || !dst->conn || !src->conn) {
		flow->ask_at = 0;
		return false;
	}
	if (!forward_may_ask(dst->conn, flow, now) ||
	    jconn_send(f, src->conn, JT_ASK, dst->id, src->id, NULL, 0))
		return true;
	/* If no BEGIN follows, the next burst is dropped, too, and leads to another ASK. */
	flow->ask_at = 0;
	return false;
}

u64 forward_tick(struct fabric *f, u64 now)
{
	struct join *j = f->join;
	bool more = false;
	u32 i, to;

	if (!j->asks_at)
		return NEVER;
	if (now < j->asks_at)
		return j->asks_at;
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		for (to = 0; j->member[i] && to < JOIN_MAX_MEMBERS; to++)
			more |= forward_ask(f, j->member[i], &j->member[i]->flow[to], now);
	j->asks_at = more ? now + FORWARD_CHECK_NS : 0;
	return more ? j->asks_at : NEVER;
}
