/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams that this program sends for its own queue pairs.
 *
 * Theory of operation
 * -------------------
 * Packets to hosts outside leave by a wire (fabric/roce/). The fabric process receives them all,
 * answers, and sends again what is lost. But a program that posts holds the token, and what the
 * fabric process would do next, once it is awake, the program can do at once: make packets of the
 * request and hand them to a socket. That spares a wake-up in each direction of an exchange.
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
 * is the fabric process's, which need not wait, until half of the socket's queue has left.
 */
#include "libshim/client/wire_send.h"

#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "fabric/egress/egress.h"
#include "libshim/client/client.h"
#include "libshim/interpose/own_fd.h"

#define FLOWS	 8u
#define DATA_MAX (64u << 10) /* of a burst: bursts to hosts outside are no longer */
#define NAP_NS	 100000 /* between attempts while a socket has no room */
#define ROOM_NS	 1000000000ull /* after that, a packet is lost */

/**
 * struct flow - a socket that sends from a source port.
 * @own: own.fd: -1: it could not be opened
 * @port: 0: the entry is free
 * @full: there was no room for a packet
 * @used: when it was last used, as a number that grows
 */
struct flow {
	struct own_fd own;
	struct egress_socket out;
	u32 wire;
	u16 port;
	bool full;
	u64 used;
};

enum {
	OUTBOX_EMPTY,
	OUTBOX_FILLED,
	OUTBOX_SENDING,
};

/**
 * struct outbox - a packet, whose frame is egress.frames[0], that leaves without the token.
 * @state: OUTBOX_*
 * @flow: its socket; @rec: its burst and addresses
 * @refused: errno with which the socket has refused an earlier one, @lost: that one; 0: none
 */
struct outbox {
	u32 state;
	struct flow *flow;
	struct egress_batch batch;
	struct cap_rec rec;
	u32 refused;
	struct burst lost;
};

static struct egress egress; /* .hca: NULL: not made yet */
static struct outbox outbox;
static struct flow flows[FLOWS];
static u64 uses;

/* Of this thread: setns(2) moves one alone. */
static bool is_in_namespace(u64 netns)
{
	struct stat st;

	return netns && !sys_stat("/proc/thread-self/ns/net", &st) && st.st_ino == netns;
}

bool shim_wire_may_send(const struct hca *hca)
{
	return hca && hca->wires.n && (u32)syscall(SYS_geteuid) == hca->wires.uid &&
	       is_in_namespace(hca->wires.netns);
}

static void flow_close(struct flow *flow)
{
	if (flow->port)
		own_fd_close(&flow->own);
	flow->port = 0;
}

/* A free entry, or that of the flow that was used longest ago. */
static struct flow *own_flow_replace(void)
{
	struct flow *flow, *oldest = flows;

	for (flow = flows; flow < flows + FLOWS && oldest->port; flow++)
		if (!flow->port || flow->used < oldest->used)
			oldest = flow;
	flow_close(oldest);
	return oldest;
}

/* Open the socket of a flow. Its entry also tells that it cannot be opened. */
static void own_flow_open(struct flow *flow, u32 wire, u16 port)
{
	int fd = is_in_namespace(shim.hca->wires.netns)
			 ? egress_socket_open(shim.hca->wires.gid[wire], port)
			 : -EPERM;

	*flow = (struct flow){ .own.fd = -1, .wire = wire, .port = port };
	if (fd >= 0)
		fd = own_fd_move_high(fd);
	if (fd >= 0 && own_fd_set(&flow->own, fd))
		sys_close(fd);
	flow->out.fd = flow->own.fd;
}

/* Whether the socket has room again, after it had none: half of its queue has left. */
static bool flow_has_room(struct flow *flow)
{
	struct pollfd p = { .fd = flow->own.fd, .events = POLLOUT };

	if (unlikely(flow->full))
		flow->full = sys_poll_for(&p, 0) != 1;
	return !flow->full;
}

/* The socket of a flow. Return: NULL: there is none, it is full, or the program has closed it. */
static struct flow *own_flow_get(u32 wire, u16 port)
{
	struct flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		if (flow->port == port && flow->wire == wire)
			break;
	if (flow == flows + FLOWS) {
		flow = own_flow_replace();
		own_flow_open(flow, wire, port);
	}
	flow->used = ++uses;
	return own_fd_is_open(&flow->own) && flow_has_room(flow) ? flow : NULL;
}

/* Whether the burst is one that this program may send, and can now. */
static bool burst_may_leave(struct hca *hca, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);

	return qp && qp->client == shim.id + 1 && egress_counts_speed(hca, b) &&
	       !burst_is_mcast(b) && (!b->mem || b->mem->client == shim.id) &&
	       relay_is_direct(hca, b->src_dev, b->src_port, b->dst_dev, b->dst_port) &&
	       !egress_is_limited(hca, b->src_qpn, sys_now()) && !egress_is_held_back(hca, b);
}

/* The packet in the outbox, which this thread has taken, has left, or is lost with errno @lost. */
static void outbox_done(struct outbox *o, u32 lost)
{
	struct hca_qp *qp = &shim.hca->qp[o->rec.b.src_qpn & (HCA_MAX_QP - 1)];

	if (unlikely(lost)) {
		o->lost = o->rec.b;
		o->refused = lost;
	}
	if (exchange(&qp->leaving, LEAVING_NOTHING) == LEAVING_MISSED)
		relay_ring(&shim.engine, qp_slot(qp));
	store_release(&o->state, OUTBOX_EMPTY);
}

/* Send the packet in the outbox, if no other thread does. @last: without room, it is lost */
static void outbox_send(bool last)
{
	struct outbox *o = &outbox;
	u32 filled = OUTBOX_FILLED;

	if (!__atomic_compare_exchange_n(&o->state, &filled, OUTBOX_SENDING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	egress.refused = 0;
	if (likely(egress_frames(&egress, &o->flow->out, &o->rec, &o->batch))) {
		outbox_done(o, (u32)egress.refused);
		return;
	}
	o->flow->full = true;
	if (likely(!last)) {
		store_release(&o->state, OUTBOX_FILLED);
		return;
	}
	egress_count_lost(shim.hca, &o->rec, 1);
	outbox_done(o, ENOBUFS);
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

/* Put a burst of one packet into the outbox. Return: 0 or -errno. */
static int outbox_fill(struct hca *hca, struct flow *flow, const struct cap_view *v,
		       struct roce_pkt *p)
{
	struct outbox *o = &outbox;
	int ret = egress_build(&egress, v, p, &o->batch);

	if (ret)
		return ret;
	o->flow = flow;
	o->rec = *v->rec;
	store_relaxed(&hca->qp[o->rec.b.src_qpn & (HCA_MAX_QP - 1)].leaving, LEAVING);
	store_release(&o->state, OUTBOX_FILLED);
	return 0;
}

/*
 * Send a burst, its payload is at @v->payload. Return: as engine_ops.leave. If a part of it has
 * left, the fabric process sends the rest.
 */
static int burst_send(struct hca *hca, struct flow *flow, const struct cap_view *v, u32 n,
		      struct roce_pkt *p)
{
	const struct burst *b = &v->rec->b;
	struct hca_qp *qp = hca_qp_by_num(hca, b->src_qpn);
	u32 sent;

	if (n == 1 && shim.engine.late)
		return outbox_fill(hca, flow, v, p) ? -EAGAIN : 0;
	egress.refused = 0;
	sent = egress_send(&egress, &flow->out, v, 0, n, p);
	if (unlikely(egress.refused))
		journal_drop(&shim.engine, b, CAUSE_SOCKET, (u32)egress.refused);
	if (likely(sent >= n))
		return 0;
	flow->full = true;
	qp->part_psn = b->psn;
	qp->part_sent = sent;
	return -EAGAIN;
}

/* The flow of a burst. Return: NULL: this program cannot send it. @n: receives the packets */
static struct flow *burst_flow(struct hca *hca, const struct cap_view *v, struct roce_pkt *p,
			       u32 *n)
{
	const u32 wire = egress_wire(hca, v->rec->sgid);

	if (wire >= hca->wires.n || v->rec->b.len > DATA_MAX)
		return NULL;
	*n = egress_begin(&egress, v, p);
	if (!*n || *n > EGRESS_BATCH || p->udp_src == ROCE_UDP_PORT)
		return NULL;
	return own_flow_get(wire, p->udp_src);
}

int shim_wire_send(void *ctx, const struct burst *b)
{
	const u32 len = b->op == BOP_READ_REQ ? 0 : (u32)b->len;
	struct hca *hca = shim.hca;
	struct cap_rec rec = { 0 };
	struct cap_view v = { .rec = &rec };
	struct roce_pkt p;
	struct flow *flow;
	u32 n;
	u8 *data;

	(void)ctx;
	/* First: what it has may be of this queue pair, and holds it back. */
	if (!outbox_empty() || !burst_may_leave(hca, b) || egress_describe(hca, b, &rec))
		return -EAGAIN;
	if (unlikely(!egress.hca) && egress_make(&egress, hca, shim.id, DATA_MAX))
		return -EAGAIN;
	flow = burst_flow(hca, &v, &p, &n);
	if (!flow || egress_gather(&egress, &shim.engine, b, len, &rec, &data))
		return -EAGAIN;
	v.payload = data;
	if (burst_send(hca, flow, &v, n, &p))
		return -EAGAIN;
	egress_note_speed(hca, b, len, sys_now());
	return 0;
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
	struct flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		flow_close(flow);
	egress_drop(&egress);
	outbox = (struct outbox){ 0 };
}
