/* SPDX-License-Identifier: MIT */
/**
 * DOC: injecting packets: finding the queue pair, and taking frames for it. See inject.h.
 *
 * Queries are answered at once, without the token, as a status is. A frame waits for the token in a
 * short list, and is answered when the switch has taken it; if the switch has no room it is
 * retried. Each connection has one frame at a time.
 */
#include "fabric/inject/inject.h"
#include "emulator/transport/untrusted.h"
#include "emulator/engine.h"
#include "emulator/journal/text.h"
#include "emulator/packet_fault.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "fabric/capture/capture.h"
#include "fabric/link/buddy.h"
#include "fabric/link/link.h"
#include "fabric/nodes/ports.h"
#include "fabric/packet/packet.h"

#include <stdio.h>
#include <stdlib.h>

#define JOBS	 8u
#define AGAIN_NS (200 * NSEC_PER_USEC)

/** struct inject_job - a frame. @conn: NULL: none; @at: real time of the next try */
struct inject_job {
	struct conn *conn;
	u64 at;
	struct proto_msg msg;
};

struct inject {
	struct inject_job job[JOBS];
	u32 n;
};

/* --- queue pairs --- */

static bool inject_is_program(const struct hca_client *c, const char *name)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", c->pid);
	return !*name || !strcmp(name, pid) || !strncmp(name, c->name, sizeof(c->name));
}

static bool inject_qp_is_connected(const struct hca_qp *qp)
{
	return qp->type != QPT_UD && qp->type != QPT_RAW_PACKET;
}

/* Whether the query is about this QP. @from: node of its peer, or -1: any */
static bool inject_qp_matches(const struct hca *hca, const struct hca_qp *qp,
			      const struct proto_inject *q, int from)
{
	if (!qp->client || qp->client > HCA_MAX_CLIENTS || qp->dev >= hca->n_devs ||
	    qp->type == QPT_RAW_PACKET)
		return false;
	if (q->qpn && q->qpn != qp->qpn)
		return false;
	if (qp->state < QPS_RTR || (qp->state == QPS_ERR && !q->qpn))
		return false;
	if (!fabric_port_matches(hca, qp->dev, qp->attr.port_num, q->node, q->dev, q->port) ||
	    !inject_is_program(&hca->client[qp->client - 1], q->program))
		return false;
	if (from < 0 || !inject_qp_is_connected(qp))
		return true;
	return qp->attr.av.dst_dev < hca->n_devs && hca->dev[qp->attr.av.dst_dev].node == (u32)from;
}

/* Datagram QPs count only if no other QP matches. Return: 0, -ENOENT or -ENOTUNIQ. */
static int inject_qp_find(const struct hca *hca, struct proto_inject *q, int from,
			  const struct hca_qp **found)
{
	u32 i, n[2] = { 0 };
	const struct hca_qp *qp, *last[2] = { NULL };
	bool c;

	for (i = FIRST_QP; i < hca->tab[TAB_QP].high; i++) {
		qp = &hca->qp[i];
		if (!inject_qp_matches(hca, qp, q, from))
			continue;
		c = inject_qp_is_connected(qp);
		n[c]++;
		last[c] = qp;
	}
	c = n[true];
	q->n = n[c];
	*found = last[c];
	return !q->n ? -ENOENT : q->n > 1 ? -ENOTUNIQ : 0;
}

/* --- fields of its packets --- */

/* The @nth memory region of a protection domain, of any program. */
static void inject_describe_region(const struct hca *hca, u32 pd, u32 nth, struct proto_inject *q)
{
	const struct hca_mr *mr;
	u32 i;

	q->n_mrs = 0;
	for (i = 0; i < hca->tab[TAB_MR].high; i++) {
		mr = &hca->mr[i];
		if (!mr->client || mr->kind > MR_NULL || mr->pd != pd || ++q->n_mrs != nth)
			continue;
		q->rkey = mr->key;
		q->va = mr->iova;
		q->len = mr->len;
	}
}

/* A request to an XRC target QP names an SRQ, whose protection domain counts. Return: that */
static u32 inject_describe_srq(const struct hca *hca, const struct hca_qp *qp,
			       struct proto_inject *q)
{
	const struct hca_srq *srq;
	u32 i;

	for (i = 0; i < hca->tab[TAB_SRQ].high; i++) {
		srq = &hca->srq[i];
		if (!srq->client || srq->xrcd != qp->xrcd)
			continue;
		q->srqn = srq->srqn;
		return srq->pd;
	}
	return 0;
}

static void inject_describe_group(const struct hca *hca, const struct hca_qp *qp,
				  struct proto_inject *q)
{
	const struct hca_mcast *m;
	u32 i;

	for (i = 0; i < hca->tab[TAB_MCAST].high; i++) {
		m = &hca->mcast[i];
		if (!m->client || m->qpn != qp->qpn)
			continue;
		memcpy(q->mgid, m->gid, 16);
		q->mlid = (u16)m->lid;
		q->in_group = 1;
		return;
	}
}

/* An address of the port, of the same family as @like. */
static const u8 *inject_gid_like(const struct hca_port *p, const u8 *like)
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++)
		if (p->gid[i].valid && gid_is_v4(p->gid[i].raw) == gid_is_v4(like))
			return p->gid[i].raw;
	return p->gid[0].raw;
}

/* The address of a datagram QP: of its group's family, otherwise IPv4 if its port has one. */
static const u8 *inject_own_gid(const struct hca_port *p, const struct proto_inject *q)
{
	static const u8 v4[16] = { [10] = 0xff, [11] = 0xff };

	return inject_gid_like(p, q->in_group ? q->mgid : v4);
}

static void inject_describe_addresses(const struct hca *hca, const struct hca_qp *qp, int from,
				      struct proto_inject *q)
{
	const struct hca_dev *d = &hca->dev[qp->dev], *peer;
	const struct hca_port *p = &d->port[qp->attr.port_num];
	const struct hca_av *av = &qp->attr.av;
	u32 dst = av->dst_dev, port = av->dst_port;

	if (!inject_qp_is_connected(qp)) {
		dst = from < 0 ? ~0u : hca->node[from].first_dev;
		port = 1;
	}
	peer = dst < hca->n_devs ? &hca->dev[dst] : NULL;
	q->lid = (u16)p->lid;
	inject_describe_group(hca, qp, q);
	memcpy(q->gid, inject_own_gid(p, q), 16);
	if (inject_qp_is_connected(qp)) {
		q->global = d->link_layer != LINK_INFINIBAND || av->is_global;
		memcpy(q->gid, p->gid[av->sgid_index % HCA_GIDS].raw, 16);
		memcpy(q->peer_gid, av->dgid, 16);
	} else if (peer) {
		memcpy(q->peer_gid, inject_gid_like(&peer->port[port], q->gid), 16);
	}
	if (peer) {
		q->peer_lid = (u16)peer->port[port].lid;
		snprintf(q->from, sizeof(q->from), "%s", hca->node[peer->node].name);
	}
	q->link_layer = d->link_layer;
	q->sl = av->sl;
	q->tclass = av->traffic_class;
	q->hop_limit = av->hop_limit ? av->hop_limit : 64;
	q->flow_label = av->flow_label;
	snprintf(q->node, sizeof(q->node), "%s", hca->node[d->node].name);
	snprintf(q->dev, sizeof(q->dev), "%s", d->name);
	q->port = qp->attr.port_num;
	q->mtu = qp->mtu ? qp->mtu : ib_mtu_bytes(p->active_mtu);
}

static void inject_describe_qp(const struct hca *hca, const struct hca_qp *qp, int from,
			       struct proto_inject *q)
{
	const struct hca_client *c = &hca->client[qp->client - 1];
	u32 mr = q->mr ? q->mr : 1, pd = qp->pd;

	snprintf(q->program, sizeof(q->program), "%.*s", (int)sizeof(c->name) - 1, c->name);
	q->qpn = qp->qpn;
	q->type = qp->type;
	q->state = qp->state;
	q->peer_qpn = qp->attr.dest_qpn;
	q->pkey = qp->path.pkey;
	q->qkey = qp->attr.qkey;
	q->first_request = qp->attr.rq_psn;
	q->first_answer = qp->attr.sq_psn;
	q->epsn = qp->resp.epsn;
	q->una = qp->req.una_psn;
	q->next = qp->req.next_psn;
	inject_describe_addresses(hca, qp, from, q);
	if (qp->type == QPT_XRC_RECV)
		pd = inject_describe_srq(hca, qp, q);
	if (pd)
		inject_describe_region(hca, pd, mr, q);
}

int inject_ask(struct fabric *f, struct proto_msg *m)
{
	struct proto_inject *q = &m->inject;
	const struct hca_qp *qp;
	int from = -1, ret;

	q->node[sizeof(q->node) - 1] = q->dev[sizeof(q->dev) - 1] = '\0';
	q->from[sizeof(q->from) - 1] = q->program[sizeof(q->program) - 1] = '\0';
	if (q->from[0]) {
		from = fabric_node_find_or_make(f, q->from);
		if (from < 0)
			return from;
	}
	/* Keep only the fields of the query; the others are the answer's. */
	memset(&q->n, 0, sizeof(*q) - offsetof(struct proto_inject, n));
	ret = inject_qp_find(f->hca, q, from, &qp);
	if (!ret)
		inject_describe_qp(f->hca, qp, from, q);
	return ret;
}

int inject_settled(struct fabric *f, const struct conn *c, struct proto_msg *m)
{
	struct proto_settled *q = &m->settled;
	const struct hca_qp *qp = hca_qp_by_num(f->hca, q->qpn);

	/* A request that has not arrived is not answered yet. */
	if (qp && link_holds_qp(f, qp->dev, qp->qpn))
		return -EAGAIN;
	return fabric_capture_written(f, c, &q->upto, &q->packets);
}

/* --- frames --- */

int inject_frame(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	struct inject *in = f->inject;
	u32 i;

	if (!m->frame.len || m->frame.len > sizeof(m->frame.bytes) ||
	    !roce_link_known(m->frame.link))
		return -EINVAL;
	if (!in)
		in = f->inject = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	for (i = 0; i < JOBS; i++)
		if (in->job[i].conn == c)
			return -EBUSY;
	for (i = 0; i < JOBS; i++) {
		if (in->job[i].conn)
			continue;
		in->job[i].conn = c;
		in->job[i].at = 0;
		in->job[i].msg = *m;
		in->n++;
		return -EINPROGRESS;
	}
	return -EBUSY;
}

void inject_conn_closed(struct fabric *f, const struct conn *c)
{
	u32 i;

	for (i = 0; f->inject && i < JOBS; i++)
		if (f->inject->job[i].conn == c) {
			f->inject->job[i].conn = NULL;
			f->inject->n--;
		}
}

u64 inject_next(const struct fabric *f)
{
	u64 at = NEVER;
	u32 i;

	for (i = 0; f->inject && f->inject->n && i < JOBS; i++)
		if (f->inject->job[i].conn)
			at = min_u64(at, f->inject->job[i].at);
	return at;
}

bool inject_due(const struct fabric *f)
{
	u64 at = inject_next(f);

	return at != NEVER && (!at || real_ns() >= at);
}

/* The frame is in the switch: the port in its source address has sent it. */
static void inject_count_sent(struct hca *hca, const struct burst *b)
{
	if (!hca->dev[b->src_dev].member)
		port_count_packets(hca, b->src_dev, b->src_port, MOVE_SENT, 1,
				   b->op == BOP_READ_REQ ? 0 : b->len);
}

/* The journal's reason why the packet, not its response, was dropped at once. */
static void inject_drop_reason(const struct fabric *f, u64 seq, const struct burst *b,
			       struct proto_frame *q)
{
	const struct journal_entry *j;

	for (; seq < f->hca->notice_seq; seq++) {
		j = &f->hca->notice[seq % JOURNAL_NOTICES];
		if (j->kind == JRN_DROP && j->psn == b->psn && j->peer.qpn == b->dst_qpn)
			journal_why_text(f->hca, j, f->started, NULL, q->why, sizeof(q->why));
	}
}

/* Return: the answer, or -EAGAIN. */
static int inject_put_frame(struct fabric *f, struct proto_frame *q)
{
	u64 seq = f->hca->notice_seq;
	struct packet_burst p;
	struct roce_pkt r;
	u32 fault;
	int ret = roce_parse(q->link, q->bytes, q->len, q->len, &r);

	q->why[0] = '\0';
	if (ret == -ENOMSG)
		return ret;
	ret = packet_to_burst(f->hca, &r, &p, &fault);
	if (ret)
		return ret;
	if (fault == PKT_FAULTS && p.b.op == BOP_READ_REQ && p.b.len > BUDDY_MAX)
		fault = PKT_READ;
	if (fault != PKT_FAULTS)
		untrusted_drop(&f->engine, &p.b, fault);
	else
		ret = link_input(f, &p.b);
	if (ret)
		return ret;
	inject_count_sent(f->hca, &p.b);
	inject_drop_reason(f, seq, &p.b, q);
	return 0;
}

void inject_work(struct fabric *f)
{
	struct inject_job *j;
	struct conn *c;

	for (j = f->inject->job; j < f->inject->job + JOBS; j++) {
		if (!j->conn || (j->at && real_ns() < j->at))
			continue;
		j->msg.ret = inject_put_frame(f, &j->msg.frame);
		if (j->msg.ret == -EAGAIN) {
			j->at = real_ns() + AGAIN_NS;
			continue;
		}
		c = j->conn;
		j->conn = NULL;
		f->inject->n--;
		conn_reply(c, &j->msg);
	}
}
