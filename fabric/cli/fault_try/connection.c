/* SPDX-License-Identifier: MIT */
/* See connection.h. */
#include "fabric/cli/fault_try/connection.h"
#include "emulator/mad.h"
#include "fabric/fault/packet.h"

#include <stdlib.h>

#define CHAIN 4096u
#define TRIES 4u /* answers to search a flow's peer by */
#define REQS  256u /* waiting for their REP at a time */

/**
 * struct flow - the packets from an address to a QP of another.
 * @from: its first frame
 * @next: the next one in its chain, + 1; of one key, younger flows come first
 * @peer: the flow of the other direction, + 1
 * @first: PSN of its first request; @last: of its last
 * @ans: PSN of its first answer
 * @at: frame of its last request
 * @rounds: of its requests, and of its answers
 */
struct flow {
	u64 from;
	u64 at;
	u32 src, dst, qpn, transport;
	u32 next;
	u32 peer;
	u32 conn;
	u32 first, last, ans;
	u32 tries;
	bool has_first, has_ans;
	struct pkt_rounds rounds[2];
};

/** struct req - a REQ in the trace. */
struct req {
	u32 src, local_id;
	u32 qpn, psn;
};

struct trace_conns {
	struct trace_addr addr[TRACE_NODES];
	u32 n_addrs;
	u32 n_flows, max_flows;
	u32 n_conns;
	u32 n_reqs; /* in the trace so far; the last REQS are kept */
	struct req req[REQS];
	u32 chain[CHAIN];
	struct flow flow[];
};

struct trace_conns *trace_conns_make(u32 flows)
{
	/* Pages are touched only as far as flows fill them. */
	struct trace_conns *t = calloc(1, sizeof(*t) + flows * sizeof(t->flow[0]));

	if (t)
		t->max_flows = flows;
	return t;
}

void trace_conns_free(struct trace_conns *t)
{
	free(t);
}

/* Return: the number of an address, or TRACE_NODES if it is unknown. */
static u32 trace_find_node(const struct trace_conns *t, const struct trace_addr *a)
{
	u32 i;

	for (i = 0; i < t->n_addrs; i++)
		if (!memcmp(&t->addr[i], a, sizeof(*a)))
			return i;
	return TRACE_NODES;
}

/* Return: the number of an address, or TRACE_NODES if there are too many. */
static u32 trace_add_node(struct trace_conns *t, const struct trace_addr *a)
{
	u32 i = trace_find_node(t, a);

	if (i < TRACE_NODES || t->n_addrs == TRACE_NODES)
		return i;
	t->addr[t->n_addrs] = *a;
	return t->n_addrs++;
}

static u32 *flow_chain(struct trace_conns *t, u32 src, u32 dst, u32 qpn)
{
	u64 h = ((u64)src << 34 ^ (u64)dst << 24 ^ qpn) * 0x9e3779b97f4a7c15ULL;

	return &t->chain[h >> 32 & (CHAIN - 1)];
}

/* The flow of a frame, or NULL. */
static struct flow *flow_find(struct trace_conns *t, u64 frame, u32 src, u32 dst, u32 qpn)
{
	u32 at = *flow_chain(t, src, dst, qpn);
	struct flow *f;

	for (; at; at = f->next) {
		f = &t->flow[at - 1];
		if (f->src == src && f->dst == dst && f->qpn == qpn && f->from <= frame)
			return f;
	}
	return NULL;
}

static struct flow *flow_create(struct trace_conns *t, u64 frame, u32 src, u32 dst, u32 qpn)
{
	u32 *chain = flow_chain(t, src, dst, qpn);
	struct flow *f = t->n_flows < t->max_flows ? &t->flow[t->n_flows] : NULL;

	if (!f)
		return NULL;
	*f = (struct flow){
		.from = frame, .src = src, .dst = dst, .qpn = qpn, .next = *chain, .transport = ~0u
	};
	*chain = ++t->n_flows;
	return f;
}

static void flow_pair(struct trace_conns *t, struct flow *a, struct flow *b)
{
	a->peer = (u32)(b - t->flow) + 1;
	b->peer = (u32)(a - t->flow) + 1;
}

static bool trace_is_answer(const struct trace_pkt *p)
{
	return p->opcode >= OP_READ_RESP_FIRST && p->opcode <= OP_ATOMIC_ACK;
}

/* --- learning ------------------------------------------------------------------------------- */

/* A REP begins two flows, unless it is a retransmission. @src: its sender */
static int trace_learn_rep(struct trace_conns *t, u64 frame, u32 src, u32 dst,
			   const struct trace_cm *rep)
{
	const struct req *q = NULL;
	struct flow *fwd, *back;
	u32 i;

	for (i = 0; i < min_u32(t->n_reqs, REQS); i++)
		if (t->req[i].src == dst && t->req[i].local_id == rep->remote_id)
			q = &t->req[i];
	if (!q)
		return 0;
	fwd = flow_find(t, frame, dst, src, rep->qpn);
	back = flow_find(t, frame, src, dst, q->qpn);
	if (fwd && back && fwd->peer == (u32)(back - t->flow) + 1 && fwd->has_first &&
	    fwd->first == rep->psn && back->first == q->psn)
		return 0;
	fwd = flow_create(t, frame, dst, src, rep->qpn);
	back = fwd ? flow_create(t, frame, src, dst, q->qpn) : NULL;
	if (!back)
		return -ENOSPC;
	flow_pair(t, fwd, back);
	/*
	 * Each side names the PSN that the other one begins with: IBTA volume 1, 12.7, Starting
	 * PSN.
	 */
	fwd->first = fwd->last = rep->psn;
	back->first = back->last = q->psn;
	fwd->has_first = back->has_first = true;
	return 0;
}

static int trace_learn_cm(struct trace_conns *t, u64 frame, u32 src, u32 dst,
			  const struct trace_cm *cm)
{
	struct req *q;

	if (cm->attr == MAD_REP)
		return trace_learn_rep(t, frame, src, dst, cm);
	if (cm->attr != MAD_REQ)
		return 0;
	q = &t->req[t->n_reqs++ % REQS];
	*q = (struct req){ .src = src, .local_id = cm->local_id, .qpn = cm->qpn, .psn = cm->psn };
	return 0;
}

/* Find the flow with the request of that answer: the one without a peer that sent last. */
static void flow_find_requester(struct trace_conns *t, struct flow *f, u32 psn)
{
	struct flow *r, *best = NULL;
	u32 i;

	for (i = 0; i < t->n_flows; i++) {
		r = &t->flow[i];
		if (r->peer || r == f || r->src != f->dst || r->dst != f->src ||
		    r->transport != f->transport || !r->has_first)
			continue;
		if (psn_diff(psn, r->first) >= 0 && psn_diff(psn, r->last) <= 0 &&
		    (!best || r->at > best->at))
			best = r;
	}
	if (best)
		flow_pair(t, f, best);
}

static void flow_learn_request(struct flow *f, u64 frame, const struct trace_pkt *p)
{
	if (!f->has_first)
		f->first = f->last = p->psn;
	f->has_first = true;
	if (psn_diff(p->psn, f->last) > 0)
		f->last = p->psn;
	f->at = frame;
}

int trace_conns_learn(struct trace_conns *t, u64 frame, const struct trace_pkt *p)
{
	u32 src = trace_add_node(t, &p->src), dst = trace_add_node(t, &p->dst);
	struct flow *f;

	if (src == TRACE_NODES || dst == TRACE_NODES)
		return -ENOSPC;
	if (p->transport == ROCE_UD)
		return trace_learn_cm(t, frame, src, dst, &p->cm);
	f = flow_find(t, frame, src, dst, p->dst_qpn);
	if (!f)
		f = flow_create(t, frame, src, dst, p->dst_qpn);
	if (!f)
		return -ENOSPC;
	f->transport = p->transport;
	if (!trace_is_answer(p)) {
		flow_learn_request(f, frame, p);
		return 0;
	}
	if (!f->has_ans)
		f->ans = p->psn;
	f->has_ans = true;
	if (!f->peer && f->tries++ < TRIES)
		flow_find_requester(t, f, p->psn);
	return 0;
}

/* The only flow without a peer that may be the peer of @f, if @f is the only one for it, too. */
static struct flow *flow_only_match(struct trace_conns *t, const struct flow *f)
{
	struct flow *r, *found = NULL;
	u32 i;

	for (i = 0; i < t->n_flows; i++) {
		r = &t->flow[i];
		if (r->peer || r->transport != f->transport || r == f)
			continue;
		if (r->src == f->src && r->dst == f->dst)
			return NULL;
		if (r->src != f->dst || r->dst != f->src)
			continue;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

void trace_conns_settle(struct trace_conns *t)
{
	struct flow *f, *r;
	u32 i;

	for (i = 0; i < t->n_flows; i++) {
		f = &t->flow[i];
		r = f->peer ? NULL : flow_only_match(t, f);
		if (r)
			flow_pair(t, f, r);
	}
	for (i = 0; i < t->n_flows; i++) {
		f = &t->flow[i];
		if (f->conn)
			continue;
		f->conn = ++t->n_conns;
		if (f->peer)
			t->flow[f->peer - 1].conn = f->conn;
	}
}

/* --- looking -------------------------------------------------------------------------------- */

static u32 trace_pkt_op(const struct trace_pkt *p)
{
	if (p->transport == ROCE_UD && p->src_qpn == 1 && p->dst_qpn == 1)
		return OP_MAD;
	return p->opcode == OP_ACK ? fault_pkt_ack_op((u8)p->aeth) : p->opcode;
}

static u32 trace_qp_types(u32 transport)
{
	switch (transport) {
	case ROCE_RC:
		return 1u << QPT_RC;
	case ROCE_UC:
		return 1u << QPT_UC;
	case ROCE_UD:
		return 1u << QPT_UD;
	default:
		return 1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV;
	}
}

static struct fault_end flow_end(u32 node, u32 qpn)
{
	return (struct fault_end){ .node = node, .dev = node, .port = 1, .qpn = qpn };
}

bool trace_conns_look(struct trace_conns *t, u64 frame, const struct trace_pkt *p,
		      struct fault_pkt *out)
{
	u32 src = trace_find_node(t, &p->src), dst = trace_find_node(t, &p->dst), first;
	bool answer = trace_is_answer(p);
	struct flow *f, *peer;

	if (src == TRACE_NODES || dst == TRACE_NODES)
		return false;
	*out = (struct fault_pkt){ .op = trace_pkt_op(p),
				   .mad = p->cm.attr,
				   .types = trace_qp_types(p->transport),
				   .psn = p->psn,
				   .rel = p->psn,
				   .round = 1,
				   .size = p->size };
	out->src = flow_end(src, p->transport == ROCE_UD ? p->src_qpn : TRACE_QP_UNKNOWN);
	out->dst = flow_end(dst, p->dst_qpn);
	f = p->transport == ROCE_UD ? NULL : flow_find(t, frame, src, dst, p->dst_qpn);
	if (!f)
		return p->transport == ROCE_UD;
	peer = f->peer ? &t->flow[f->peer - 1] : NULL;
	if (peer)
		out->src.qpn = peer->qpn;
	/* The PSN of an answer is that of the request, in the other direction. */
	first = !answer ? f->first : peer && peer->has_first ? peer->first : f->ans;
	out->conn = f->conn;
	out->rel = (p->psn - first) & IB_PSN_MASK;
	out->round = fault_rounds_next(&f->rounds[answer], p->psn);
	return true;
}

u32 trace_conns_n_nodes(const struct trace_conns *t)
{
	return t->n_addrs;
}

const struct trace_addr *trace_conns_node(const struct trace_conns *t, u32 node)
{
	return &t->addr[node];
}

u32 trace_conns_count(const struct trace_conns *t)
{
	return t->n_conns;
}
