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
 * - Frames that cost no credit take at most half of the buffer to the receiver: the rest is for
 *   bursts, of other members, too.
 *
 * What only the receiver can know (its devices, the addresses of others) it checks itself:
 * session_refuse().
 */
#include "fabric/join/mesh.h"

/* From here on queued bytes are written at once: the peer handles them while more come. */
#define FORWARD_FLUSH_AT (256u << 10)

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

const char *forward_input(struct fabric *f, struct member *src, const struct join_hdr *h,
			  const u8 *frame)
{
	const char *why = forward_check(f, src, h, frame + JOIN_HDR);
	struct member *m = mesh_member(f, h->dst);
	u32 pending;
	u8 *p;

	if (why || !m || !m->conn)
		return why;
	pending = jconn_pending(m->conn);
	if (h->type != JT_BURST && pending + h->len > JOIN_TX_SIZE / 2)
		return "more frames than their receiver takes";
	p = jconn_reserve(m->conn, h->len);
	if (!p) {
		/* A lost frame would be lost credit; a new connection begins a new session. */
		jconn_close(f, m->conn, "it is too slow: too much data waits for it");
		return NULL;
	}
	memcpy(p, frame, h->len);
	jconn_commit(m->conn, h->len);
	if (!m->conn->want_write && pending + h->len >= FORWARD_FLUSH_AT)
		jconn_flush(f, m->conn);
	return NULL;
}
