/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams that this program receives, while it polls.
 *
 * Theory of operation
 * -------------------
 * The fabric process receives what arrives at a wire. It sleeps, and each datagram has to wake it;
 * if all CPUs are busy with pollers, it has to wait for one, too. But a poller that finds nothing
 * has nothing better to do than to look itself. It has the wire's socket and its inbox, which it
 * shares with the fabric process (fabric/ingress/). If something is there, it takes the token,
 * reads, and hands bursts to the engine: the responder's answers leave from here
 * (engine.receives), and queue pairs that an answer has rung run on (engine_run_answered()).
 * Completions are in its CQs when it returns. The answer to the last datagram leaves after the
 * token was given back, as the last packet of a post does (wire_send.c).
 *
 * hca_wires.looked tells the fabric process that somebody looks, often: it then does not wait for
 * datagrams (fabric/roce/defer.c).
 *
 * Streams of large messages are better left to the fabric process: each copy of a long burst holds
 * the token, and a poller takes the CPU from those that copy. So when much has come at once, this
 * program has sent much, or the fabric process sends for it, that takes over for a while.
 *
 * All that needs more stays in the inbox, in its turn, and the fabric process is kicked: packets
 * that are damaged, unknown, or not for a queue pair, MADs, marks of congestion, READ requests that
 * are answered in portions, memory that this process cannot reach, and what captures, rules or
 * links are about. While an inbox has datagrams that were left, nobody but the fabric process goes
 * on with it. A program that is killed in the midst of this leaves the token, as always, and an
 * inbox whose content is lost, as on a network (ingress_box.owner): half of a burst may be in it.
 */
#include "libshim/client/wire_receive.h"

#include "emulator/doorbell.h"
#include "emulator/packet_fault.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"
#include "fabric/ingress/ingress.h"
#include "libshim/client/client.h"
#include "libshim/client/own_paths.h"
#include "libshim/client/rpc.h"
#include "libshim/client/wire_send.h"
#include "libshim/interpose/own_fd.h"

#include <limits.h>
#include <sys/mman.h>

#define ROOM	    4u /* entries of an inbox that a look fills: more takes the token for long */
#define BUSY_NS	    1000000ull /* something has arrived a moment ago */
#define SELDOM_NS   20000ull /* between looks of a poller that mostly waits for peers nearby */
#define TIGHT_NS    100000ull /* between two looks of a poller on which others can rely */
#define REST_NS	    10000000ull /* without looks, after the fabric process was needed */
#define REST_MAX_NS 1000000000ull
#define BULK_NS	    50000000ull /* without looks, after that */

/** struct wire_in - a wire, as this program reads it. @box: NULL: not mapped */
struct wire_in {
	struct own_fd own;
	struct ingress_box *box;
};

/**
 * struct looks - the looks of this program. Times are real time, in ns.
 * @opening: a thread maps the wires, or has; @open: they are mapped; @refused: they cannot be
 * @found_at: when something was found last; @looked_at: when it looked last
 * @rest_until: no look before; @rest: for how long, the last time
 */
static struct looks {
	u32 opening;
	bool open, refused;
	u64 found_at, looked_at;
	u64 rest_until, rest;
} looks;

static struct wire_in wires[HCA_WIRES];
static u8 *delivered; /* of the datagrams that are being delivered */

void *shim_wire_datagrams(void)
{
	return delivered;
}

/* A descriptor of wire @i, for which @op asks. Return: it, or -errno. */
static int wire_ask(u32 i, u32 op)
{
	struct proto_msg m = { .op = op, .ask.number = i };
	int fd, ret = shim_rpc_call(&m, -1, &fd, 1);

	return ret == 1 ? fd : ret < 0 ? ret : -EPROTO;
}

static int wire_open(u32 i)
{
	struct wire_in *w = &wires[i];
	const u64 size = ingress_box_size(EGRESS_BATCH);
	int fd = wire_ask(i, PROTO_WIRE_INBOX);

	if (fd < 0)
		return fd;
	w->box = shim_map_shared(fd, size);
	sys_close(fd);
	if (!w->box)
		return -ENOMEM;
	fd = wire_ask(i, PROTO_WIRE);
	if (fd >= 0 && own_fd_set(&w->own, fd))
		sys_close(fd);
	return fd < 0 ? fd : 0;
}

static void wire_close(struct wire_in *w)
{
	own_fd_close(&w->own);
	if (w->box)
		munmap(w->box, ingress_box_size(EGRESS_BATCH));
	w->box = NULL;
}

void shim_wire_unreceive(void)
{
	u32 i;

	for (i = 0; i < HCA_WIRES; i++)
		wire_close(&wires[i]);
	looks = (struct looks){ .refused = true, .opening = 1 };
}

void shim_wire_receive_forked(void)
{
	shim_wire_unreceive();
	looks = (struct looks){ 0 };
}

/* Without the token: a fabric process that is stopped does not answer. */
static void wires_open(void)
{
	const u32 n = min_u32(shim.hca->wires.n, HCA_WIRES);
	bool fails = false;
	u32 i;

	if (exchange(&looks.opening, 1))
		return;
	for (i = 0; i < HCA_WIRES; i++)
		wires[i].own.fd = -1;
	for (i = 0; i < n; i++)
		fails |= wire_open(i) != 0;
	store_release(&looks.open, true);
	if (fails)
		shim_wire_unreceive();
}

/* Whether the fabric process alone knows what to do with what arrives. */
static bool wires_need_fabric(const struct hca *hca)
{
	return load_relaxed(&hca->watched) || hca->chaos || hca->wires.filters ||
	       load_relaxed(&hca->wires.parked);
}

/* Whether it is the engine's, and can be answered here. */
static bool burst_is_plain(const struct hca *hca, const struct hca_qp *qp, const struct burst *b)
{
	if (!qp || b->dst_dev >= hca->n_devs || burst_is_mcast(b) || roce_read_is_long(b) ||
	    hca->dev[b->dst_dev].port[b->dst_port].link.mtu ||
	    !relay_is_direct(hca, b->dst_dev, b->dst_port, b->src_dev, b->src_port))
		return false;
	if (b->op == BOP_ACK || b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK ||
	    !qp_reliable(qp) || !qp_addressed(qp, b))
		return true;
	return shim_wire_may_answer(qp);
}

/* Wake the threads of a client that sleep until something is delivered. */
static void client_wake(u32 client)
{
	struct seg_hdr *seg = shim.engine.ops->seg(shim.engine.ctx, client);

	if (seg && poller_brought(seg))
		sys_futex_wake(&seg->brought, INT_MAX, 0);
}

/* Deliver the datagram whose turn it is. Return: false: it is left to the fabric process. */
static bool datagram_deliver_plain(u32 wire, struct roce_in *in)
{
	struct hca *hca = shim.hca;
	u64 *numbered = &hca->wires.n_numbered[wire];
	const u8 *dgid = hca->wires.gid[wire];
	struct burst *b = &in->burst.b;
	const struct hca_qp *qp;
	struct roce_pkt p;
	u8 sgid[16];
	u32 fault;

	if (in->held || in->asked || roce_is_marked(in))
		return false;
	delivered = in->bytes;
	roce_datagram_source(in, sgid);
	if (roce_datagram_parse(sgid, dgid, in, &p) != ROCE_DROPS || p.opcode == ROCE_OPCODE_CNP ||
	    roce_datagram_burst(hca, &p, in, &fault) || fault != PKT_FAULTS)
		return false;
	qp = hca_qp_by_num(hca, b->dst_qpn);
	if (!burst_is_plain(hca, qp, b))
		return false;
	hca_peer_use(hca, b->src_dev);
	roce_merge(hca, in, sgid, dgid, numbered);
	roce_datagram_count(in, &p, numbered);
	if (hca_input(&shim.engine, b) == -EAGAIN)
		return false;
	if (qp->client)
		client_wake(qp->client - 1);
	return true;
}

/* Deliver what an inbox has. Return: false: the fabric process is to go on with it. */
static bool inbox_deliver_plain(u32 wire, struct ingress_box *box)
{
	struct roce_in *in;

	for (; box->at < box->n; box->at++) {
		in = &box->in[box->at];
		do {
			if (!datagram_deliver_plain(wire, in))
				return false;
		} while (roce_datagram_next(in, in->held ? in->held : in->at + in->len));
	}
	return true;
}

/* Bytes that an inbox has. */
static u32 inbox_bytes(const struct ingress_box *box)
{
	u32 i, sum = 0;

	for (i = 0; i < box->n; i++)
		sum += box->in[i].end - box->in[i].at;
	return sum;
}

/* Return: datagrams; 0 or less: there are none. */
static int wire_read(struct wire_in *w)
{
	int n = own_fd_is_open(&w->own) ? ingress_read(w->own.fd, w->box, ROOM) : -EBADF;

	if (n < 0)
		looks.refused = true;
	return n;
}

/* Token held. Return: bytes that were there. @left: receives whether some were left */
static u32 wires_receive(bool *left)
{
	struct hca *hca = shim.hca;
	struct wire_in *w;
	u32 i, bytes = 0;
	int n;

	*left = false;
	for (i = 0; i < hca->wires.n && i < HCA_WIRES; i++) {
		w = &wires[i];
		if (!w->box)
			continue;
		ingress_recover(w->box);
		/* The program that has left them may have ended before it could kick. */
		if (w->box->at < w->box->n) {
			*left = true;
			continue;
		}
		store_release(&w->box->owner, shim.engine.token);
		n = wire_read(w);
		if (n > 0) {
			bytes += inbox_bytes(w->box);
			hca->wires.n_received[i] += (u64)n;
			*left |= !inbox_deliver_plain(i, w->box);
		}
		store_release(&w->box->owner, 0);
	}
	return bytes;
}

static void looks_rest(u64 until)
{
	store_relaxed(&looks.rest_until, until);
	store_relaxed(&shim.hca->wires.looked, 0);
}

/* The fabric process was needed: for what follows it may be, too. */
static void looks_back_off(u64 now)
{
	bool again = now - looks.rest_until < looks.rest;

	looks.rest = again ? min_u64(2 * looks.rest, REST_MAX_NS) : REST_NS;
	looks_rest(now + looks.rest);
}

/* With the token. Return: as shim_wire_look(). @over: the fabric process is to take over */
static enum wire_look wires_deliver(u64 now, bool *over)
{
	struct engine *e = &shim.engine;
	u32 bytes;

	*over = false;
	if (wires_need_fabric(shim.hca))
		return WIRE_OFF;
	if (!shim_wire_may_receive())
		return WIRE_NOTHING;
	e->receives = e->late = true;
	e->relays = false;
	bytes = wires_receive(over);
	e->receives = e->late = false;
	if (*over)
		looks_back_off(now);
	if (!bytes)
		return WIRE_NOTHING;
	if ((bytes >= WIRE_BULK || e->relays) && !*over) {
		looks_rest(now + BULK_NS);
		*over = true;
	}
	looks.found_at = now;
	engine_run_answered(e);
	return WIRE_FOUND;
}

/* Whether a wire has datagrams. Without the token, which others may need. */
static bool wires_have_input(void)
{
	struct pollfd fds[HCA_WIRES];
	u32 n = min_u32(shim.hca->wires.n, HCA_WIRES), i;

	for (i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = wires[i].own.fd, .events = POLLIN };
	return sys_poll_now(fds, n) > 0;
}

/* Whether this program reads the wires, at least now; it maps them with its first look. */
static bool looks_begin(u32 paths, u64 now)
{
	if (!shim.engine.leaves || load_relaxed(&looks.refused) ||
	    now < load_relaxed(&looks.rest_until) || !(paths & OWN_PATH_WIRE) ||
	    wires_need_fabric(shim.hca))
		return false;
	if (likely(load_acquire(&looks.open)))
		return true;
	wires_open();
	return false;
}

enum wire_look shim_wire_look(u32 paths, u64 now)
{
	struct engine *e = &shim.engine;
	enum wire_look look;
	bool over;

	if (!looks_begin(paths, now))
		return WIRE_OFF;
	if ((paths & OWN_PATH_DIRECT) && now - load_relaxed(&looks.found_at) > BUSY_NS &&
	    now - load_relaxed(&looks.looked_at) < SELDOM_NS)
		return WIRE_NOTHING;
	/* Others must not wait for a poller that comes seldom. */
	if (now - load_relaxed(&looks.looked_at) < TIGHT_NS)
		store_relaxed(&shim.hca->wires.looked, now);
	store_relaxed(&looks.looked_at, now);
	if (!wires_have_input() || !engine_try(e))
		return WIRE_NOTHING;
	look = wires_deliver(now, &over);
	engine_leave(e);
	if (over)
		e->ops->kick(e->ctx);
	e->ops->leave_late(e->ctx);
	return look;
}

void shim_wire_note_bulk(u64 now)
{
	if (!looks.open || now < load_relaxed(&looks.rest_until))
		return;
	looks_rest(now + BULK_NS);
	shim.engine.kick = true;
}

void shim_wire_look_end(void)
{
	if (!looks.open || load_relaxed(&looks.refused) || !load_relaxed(&shim.hca->wires.looked))
		return;
	store_relaxed(&shim.hca->wires.looked, 0);
	shim.engine.ops->kick(shim.engine.ctx);
}
