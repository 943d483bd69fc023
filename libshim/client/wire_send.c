/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams that this program sends for its own queue pairs.
 *
 * Theory of operation
 * -------------------
 * Packets to hosts outside leave by a wire (fabric/roce/). The fabric process can send them all,
 * and sends again what is lost. But a program that posts holds the token, and what the fabric
 * process would do next, once it is awake, the program can do at once: make packets of the request
 * and hand them to a socket. That spares a wake-up in each direction of an exchange. So do the
 * answers to what it has received (wire_receive.c).
 *
 * A flow of RoCE v2 has a source port of its own. The program opens a socket with that port; the
 * fabric process has one with the same port for what it sends of the flow (SO_REUSEPORT: the user
 * must be the same). Both send with the token held, so the packets of a queue pair leave in order.
 *
 * All else is left to the fabric process (-EAGAIN): a window that is full, a socket without room,
 * groups, a rate that congestion limits, packets that captures or rules look at.
 *
 * The last packet that a post sends leaves after the token was given back (shim_wire_send_late()):
 * between two ends on one host, sendmmsg(2) carries it to the other's socket and wakes its reader,
 * so that the answer may be there before the call returns, and the fabric process needs the token
 * for it. Meanwhile the packet stands in the *outbox*, which has one place:
 *
 *	empty ── built, with the token ──► filled ── a thread takes it ──► sending ──► empty
 *
 * Any thread may send what is there. hca_qp.leaving keeps the fabric process from sending a later
 * packet of the queue pair before it. If the socket has no room then, the thread waits without the
 * token: the queue pair has gone on, and nothing repairs the messages of UC. From then on the flow
 * is the fabric process's, which need not wait, until half of the socket's queue has left. If the
 * program closes the socket meanwhile, the packet is lost: the number may be that of a file of its
 * own.
 */
#include "libshim/client/wire_send.h"

#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "fabric/egress/egress.h"
#include "libshim/client/client.h"
#include "libshim/client/wire_flow.h"
#include "libshim/client/wire_receive.h"

#define DATA_MAX (64u << 10) /* of a burst: bursts to hosts outside are no longer */
#define NAP_NS	 100000 /* between attempts while a socket has no room */
#define ROOM_NS	 1000000000ull /* after that, a packet is lost */

enum {
	OUTBOX_EMPTY,
	OUTBOX_FILLED,
	OUTBOX_SENDING,
};

/**
 * struct outbox - a packet, whose frame is egress.frames[0], that leaves without the token.
 * @state: OUTBOX_*
 * @flow: its socket; @rec: its burst and addresses
 * @answers: it is an answer, maybe of another program's queue pair: packets of that need not wait
 * @refused: errno with which the socket has refused an earlier one, @lost: that one; 0: none
 */
struct outbox {
	u32 state;
	struct wire_flow *flow;
	bool answers;
	struct egress_batch batch;
	struct cap_rec rec;
	u32 refused;
	struct burst lost;
};

static struct egress egress; /* .hca: NULL: not made yet */
static struct outbox outbox;
static struct wire_flow *answer_flow; /* of the answer to come: shim_wire_may_answer(). Or NULL */

/* Whether it is of a queue pair of this program, which runs and is not held back. */
static bool request_may_leave(struct hca *hca, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);

	if (!qp || qp->client != shim.id + 1 || !egress_counts_speed(hca, b) || burst_is_mcast(b) ||
	    egress_is_limited(hca, b->src_qpn, sys_now()))
		return false;
	if (!egress_is_held_back(hca, b))
		return true;
	/* The fabric process goes on with a stream of large messages. */
	shim.engine.held = b->len < WIRE_BULK;
	return false;
}

/* Whether the burst is one that this program may send, and can now. */
static bool burst_may_leave(struct hca *hca, const struct burst *b)
{
	return (shim.engine.receives || request_may_leave(hca, b)) &&
	       (!b->mem || b->mem->client == shim.id) &&
	       relay_is_direct(hca, b->src_dev, b->src_port, b->dst_dev, b->dst_port);
}

/* The packet in the outbox, which this thread has taken, has left, or is lost with errno @lost. */
static void outbox_done(struct outbox *o, u32 lost)
{
	struct hca_qp *qp = &shim.hca->qp[o->rec.b.src_qpn & (HCA_MAX_QP - 1)];

	if (unlikely(lost)) {
		o->lost = o->rec.b;
		o->refused = lost;
	}
	if (!o->answers && exchange(&qp->leaving, LEAVING_NOTHING) == LEAVING_MISSED)
		relay_ring(&shim.engine, qp_slot(qp));
	store_release(&o->state, OUTBOX_EMPTY);
}

/* The packet in the outbox, which this thread has taken, is lost. */
static void outbox_lose(struct outbox *o, u32 error)
{
	egress_count_lost(shim.hca, &o->rec, 1);
	outbox_done(o, error);
}

/* Send the packet in the outbox, if no other thread does. @last: without room, it is lost */
static void outbox_send(bool last)
{
	struct outbox *o = &outbox;
	u32 filled = OUTBOX_FILLED;

	if (!__atomic_compare_exchange_n(&o->state, &filled, OUTBOX_SENDING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	/* The number may be that of another file, which the program has opened meanwhile. */
	if (unlikely(o->flow->full && !own_fd_is_open(&o->flow->own))) {
		outbox_lose(o, EBADF);
		return;
	}
	egress.refused = 0;
	if (likely(egress_frames(&egress, &o->flow->entry.out, &o->rec, &o->batch))) {
		outbox_done(o, (u32)egress.refused);
		return;
	}
	o->flow->full = true;
	if (likely(!last)) {
		store_release(&o->state, OUTBOX_FILLED);
		return;
	}
	outbox_lose(o, ENOBUFS);
}

/* Empty the outbox, with the token. Return: false: it still has a packet, which a thread sends. */
static bool outbox_empty(void)
{
	if (unlikely(load_acquire(&outbox.state) != OUTBOX_EMPTY)) {
		outbox_send(false);
		if (load_acquire(&outbox.state) != OUTBOX_EMPTY)
			return false;
	}
	if (unlikely(outbox.refused))
		journal_drop(&shim.engine, &outbox.lost, CAUSE_SOCKET, outbox.refused);
	outbox.refused = 0;
	return true;
}

static bool egress_is_made(void)
{
	return likely(egress.hca) || !egress_make(&egress, shim.hca, shim.id, DATA_MAX);
}

/* Put a burst of one packet into the outbox. Return: 0 or -errno. */
static int outbox_fill(struct hca *hca, struct wire_flow *flow, const struct cap_view *v,
		       struct roce_pkt *p)
{
	struct outbox *o = &outbox;
	int ret = egress_build(&egress, v, p, &o->batch);

	if (ret)
		return ret;
	o->flow = flow;
	o->rec = *v->rec;
	o->answers = shim.engine.receives;
	if (!o->answers)
		store_relaxed(&hca->qp[o->rec.b.src_qpn & (HCA_MAX_QP - 1)].leaving, LEAVING);
	store_release(&o->state, OUTBOX_FILLED);
	return 0;
}

/*
 * Send a burst, its payload is at @v->payload. Return: as engine_ops.leave. If a part of it has
 * left, the fabric process sends the rest.
 */
static int burst_send(struct hca *hca, struct wire_flow *flow, const struct cap_view *v, u32 n,
		      struct roce_pkt *p)
{
	const struct burst *b = &v->rec->b;
	struct hca_qp *qp;
	u32 sent;

	if (n == 1 && shim.engine.late)
		return outbox_fill(hca, flow, v, p) ? -EAGAIN : 0;
	egress.refused = 0;
	sent = egress_send(&egress, &flow->entry.out, v, 0, n, p);
	if (unlikely(egress.refused))
		journal_drop(&shim.engine, b, CAUSE_SOCKET, (u32)egress.refused);
	if (likely(sent >= n))
		return 0;
	flow->full = true;
	if (shim.engine.receives)
		return -EAGAIN; /* packets of an answer may come twice */
	qp = hca_qp_by_num(hca, b->src_qpn);
	qp->part_psn = b->psn;
	qp->part_sent = sent;
	return -EAGAIN;
}

/* The flow of an answer. Its descriptor was compared when the request was taken: not again. */
static struct wire_flow *answer_flow_take(u32 wire, u16 port)
{
	struct wire_flow *flow = answer_flow;

	answer_flow = NULL;
	return likely(flow && flow->entry.wire == wire && flow->entry.port == port)
		       ? flow
		       : wire_flow_get(wire, port);
}

/* The flow of a burst. Return: NULL: this program cannot send it. @n: receives the packets */
static struct wire_flow *burst_flow(struct hca *hca, const struct cap_view *v, struct roce_pkt *p,
				    u32 *n)
{
	const u32 wire = egress_wire(hca, v->rec->sgid);

	if (wire >= hca->wires.n || v->rec->b.len > DATA_MAX)
		return NULL;
	*n = egress_begin(&egress, v, p);
	if (!*n || *n > EGRESS_BATCH || p->udp_src == ROCE_UDP_PORT)
		return NULL;
	return shim.engine.receives ? answer_flow_take(wire, p->udp_src)
				    : wire_flow_get(wire, p->udp_src);
}

int shim_wire_send(void *ctx, const struct burst *b)
{
	const u32 len = b->op == BOP_READ_REQ ? 0 : (u32)b->len;
	struct hca *hca = shim.hca;
	struct cap_rec rec = { 0 };
	struct cap_view v = { .rec = &rec };
	struct roce_pkt p;
	struct wire_flow *flow;
	u64 now;
	u32 n;
	u8 *data;

	(void)ctx;
	shim.engine.held = false;
	/* First: what it has may be of this queue pair, and holds it back. */
	if (!outbox_empty() || !burst_may_leave(hca, b) || egress_describe(hca, b, &rec))
		return -EAGAIN;
	if (!egress_is_made())
		return -EAGAIN;
	flow = burst_flow(hca, &v, &p, &n);
	if (!flow || egress_gather(&egress, &shim.engine, b, len, &rec, &data))
		return -EAGAIN;
	v.payload = data;
	if (burst_send(hca, flow, &v, n, &p))
		return -EAGAIN;
	now = sys_now();
	egress_note_speed(hca, b, len, now);
	if (len >= WIRE_BULK)
		shim_wire_note_bulk(now);
	return 0;
}

bool shim_wire_may_answer(const struct hca_qp *qp)
{
	struct hca *hca = shim.hca;
	struct cap_rec rec = { 0 };
	const struct cap_view v = { .rec = &rec };
	struct roce_pkt p;
	struct burst b;
	u32 wire;

	answer_flow = NULL;
	resp_start(qp, 0, BOP_ACK, AETH_ACK, &b);
	/* The answer to the datagram before may have found no room in its socket. */
	if (!outbox_empty() || egress_describe(hca, &b, &rec))
		return false;
	wire = egress_wire(hca, rec.sgid);
	if (wire < hca->wires.n && egress_begin(&egress, &v, &p) && p.udp_src != ROCE_UDP_PORT)
		answer_flow = wire_flow_get(wire, p.udp_src);
	return answer_flow;
}

bool shim_wire_may_receive(void)
{
	return outbox_empty() && egress_is_made();
}

void shim_wire_send_late(void *ctx)
{
	u64 end = 0;

	(void)ctx;
	while (load_acquire(&outbox.state) == OUTBOX_FILLED) {
		outbox_send(end && sys_now() > end);
		if (likely(load_acquire(&outbox.state) != OUTBOX_FILLED))
			break;
		end = end ? end : sys_now() + ROOM_NS;
		sys_sleep(NAP_NS);
	}
}

void shim_wire_forked(void)
{
	wire_flows_close();
	egress_drop(&egress);
	answer_flow = NULL;
	outbox = (struct outbox){ 0 };
}
