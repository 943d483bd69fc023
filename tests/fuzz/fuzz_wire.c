/* SPDX-License-Identifier: MIT */
/*
 * Datagrams at a wire of RoCE v2, for libFuzzer: `make fuzz FUZZ=wire`. See tests/lib/wire/.
 *
 * An input is a number, which decides how program 1 behaves from then on, and a row of datagrams:
 * what is made right (enum right); the host that sends it, a bit for sockets that are full at
 * first, one for a datagram that arrives together with some that may follow it, and the mark of
 * congestion in the upper two; a length in two bytes, and the bytes from the BTH on.
 * Program 1 has a connected queue pair, one of datagrams in a group, one in RESET, and listens; it
 * accepts, rejects or forgets who connects.
 *
 * Each input finds the same fabric, which has lived for a while: hosts are known, nearly as many as
 * may be, and some have connected. A finding is repeated by its input alone.
 */
#include "tests/lib/wire/wire_world.h"

#include "emulator/mad.h"

#include <stdlib.h>

#define HEAD	  (ROCE_IP4_UDP + 4) /* with room for the ICRC */
#define MAX_TURNS 4096u
#define TOGETHER  4u /* datagrams */
#define KNOWN	  110u /* hosts, of the 128 that datagrams may make known */
#define CONNECTED 12u /* hosts that have asked for a connection */
#define AUDIT_ONE 256u /* of so many inputs the HCA memory is audited */

/* No mutation finds these. The two lowest bits are enum wire_to. */
enum right {
	RIGHT_QPN = 1 << 2,
	RIGHT_PSN = 1 << 3, /* or Q_Key */
	RIGHT_KEY = 1 << 4,
	RIGHT_MAD = 1 << 5,
	RAW = 1 << 6, /* nothing: the bytes are all of the datagram */
	POST = 1 << 7, /* the queue pair sends something first */
};

static u32 turns;

static void must(bool is)
{
	if (!is)
		abort();
}

static enum wire_to wire_of(u32 right)
{
	return (enum wire_to)((right & 3) % 3);
}

static const struct hca_qp *live(void)
{
	return &wire.m->hca->qp[wire.live.slot];
}

/* A message of connection management: its kind and ids, and the listener's service. */
static void mad_make_right(struct roce_pkt *p, enum wire_to to, u32 from, u8 mad[MAD_SIZE])
{
	const struct hca_cmid *listener = &wire.m->hca->cmid[wire.cm->listener.h], *id;
	u64 service = (u64)listener->ps << 16 | listener->src.port;
	u32 n = min_u32(p->payload_cap, MAD_SIZE), len;
	u32 attr = MAD_REQ + (n > 17 ? p->payload[17] : 0) % (MAD_ATTR_END - MAD_REQ);

	memset(mad, 0, MAD_SIZE);
	memcpy(mad, p->payload, n);
	mad_set(mad, F_BASE_VERSION, MAD_BASE);
	mad_set(mad, F_CLASS, MAD_CLASS_CM);
	mad_set(mad, F_CLASS_VERSION, MAD_CM_VERSION);
	mad_set(mad, F_METHOD, MAD_METHOD_SEND);
	mad_set(mad, F_ATTR, attr);
	if (attr == MAD_REQ || attr == MAD_SIDR_REQ) {
		mad_set(mad, attr == MAD_REQ ? F_REQ_SERVICE_ID : F_SIDR_REQ_SERVICE_ID, service);
		cma_put(mad + mad_private_data((enum cm_attr)attr, &len), &listener->src,
			&listener->src);
	} else {
		/* About a recent identifier. */
		id = &wire.m->hca->cmid[mad[MAD_HDR + 7] % 16];
		mad_set(mad, F_REMOTE_ID, id->local_id);
		mad_set(mad, F_LOCAL_ID, id->remote_id);
		if (attr == MAD_DREQ)
			mad_set(mad, F_DREQ_QPN, id->qpn);
	}
	if (attr == MAD_REQ && from & 1) {
		wire_host_gid(to, from, mad + REQ_LOCAL_GID);
		memcpy(mad + REQ_LOCAL_GID + 16, wire.f->roce->wire[to == WIRE_TO_6].box.gid, 16);
	}
	p->payload = mad;
	p->payload_len = p->payload_cap = MAD_SIZE;
	p->qkey = GSI_QKEY;
	p->dqpn = GSI_QPN;
}

static void make_right(struct roce_pkt *p, u32 right, u32 from, u8 mad[MAD_SIZE])
{
	enum wire_to to = wire_of(right);
	bool datagram = p->opcode >> 5 == ROCE_UD;

	if (right & RIGHT_QPN) {
		p->pkey = IB_DEFAULT_PKEY;
		p->dqpn = !datagram		? wire.live.qpn
			  : to == WIRE_TO_GROUP ? IB_MCAST_QPN
						: wire.ud.qpn;
	}
	if (right & RIGHT_PSN) {
		p->psn = roce_is_response(p->opcode) ? live()->req.una_psn : live()->resp.epsn;
		p->qkey = WIRE_QKEY;
	}
	if (right & RIGHT_KEY) {
		p->rkey = wire.m->c[1].key;
		p->va = (uintptr_t)wire.m->c[1].mem + (p->va & 4095);
		/* A READ of megabytes would take as long as a thousand other inputs. */
		if (p->dma_len < EMU_AREA)
			p->dma_len %= p->dma_len % 8 ? 4096 : 65536;
	}
	if (right & RIGHT_MAD && datagram)
		mad_make_right(p, to, from, mad);
}

/* Read a packet of the bytes from its BTH on. Return: whether it is one. */
static bool packet_read(struct roce_pkt *p, u8 *frame, const u8 *data, u32 len)
{
	u32 total = HEAD + len;

	memset(frame, 0, ROCE_IP4_UDP);
	frame[0] = 0x45;
	frame[2] = (u8)(total >> 8);
	frame[3] = (u8)total;
	frame[9] = IPPROTO_UDP;
	frame[22] = ROCE_UDP_PORT >> 8;
	frame[23] = ROCE_UDP_PORT & 0xff;
	frame[24] = (u8)((total - 20) >> 8);
	frame[25] = (u8)(total - 20);
	memcpy(frame + ROCE_IP4_UDP, data, len);
	memset(frame + ROCE_IP4_UDP + len, 0, 4);
	return !roce_parse(ROCE_LINK_IPV4, frame, total, total, p);
}

/* The packet, and some that continue its message if it is one of its first. */
static void run_put(enum wire_to to, u32 from, const struct roce_pkt *p)
{
	struct roce_pkt run[TOGETHER];
	u32 i;

	for (i = 0; i < TOGETHER; i++) {
		run[i] = *p;
		run[i].psn = psn_add(p->psn, i);
		/* From the first packet of a message to its middle, and from there to the last. */
		if (i == TOGETHER - 1 && (turns & 1))
			run[i].opcode = (u8)(p->opcode + 1);
	}
	wire_put_run(to, from, run, TOGETHER, turns % (4 * TOGETHER));
}

static void datagram_put(u32 right, u32 from, u8 mark, bool together, const u8 *data, u32 len)
{
	enum wire_to to = wire_of(right);
	u8 *frame = calloc(1, HEAD + len), mad[MAD_SIZE];
	struct roce_pkt p;

	must(frame);
	if (right & RAW) {
		memcpy(frame, data, len);
		wire_put_bytes(to, from, frame, len);
	} else if (packet_read(&p, frame, data, len)) {
		p.tclass = mark;
		make_right(&p, right, from, mad);
		if (together)
			run_put(to, from, &p);
		else
			wire_put(to, from, &p);
	}
	free(frame);
}

static void work_post(void)
{
	u32 op = turns % 3 == 0 ? WR_SEND : turns % 3 == 1 ? WR_RDMA_READ : WR_RDMA_WRITE;
	struct sq_wqe *w;

	if (emu_state(wire.m, &wire.live) == QPS_ERR)
		wire_connect();
	if (wire.live.sq_prod - live()->req.una > 4)
		return;
	w = emu_post(wire.m, &wire.live, op, 2, wire.m->c[1].mem, 3000);
	emu_remote(wire.m, w, 1, wire.m->c[1].mem);
	emu_ring(wire.m, &wire.live);
}

static void receive_post(struct emu_qp *q)
{
	u8 *mem = wire.m->c[1].mem;
	struct cqe c;

	while (emu_poll(wire.m, &q->scq, &c, mem) || emu_poll(wire.m, &q->rcq, &c, mem))
		;
	if (q->rq_prod - wire.m->hca->qp[q->slot].resp.rq_cons < 8)
		emu_recv(wire.m, q, 1, mem, 8192);
}

/* The listener's program: what becomes of who connects depends on the turn. */
static void listener_work(void)
{
	struct cm_param p = emu_cm_param(wire.fresh.qpn, 0);
	struct cm_event ev;

	while (emu_cm_next(wire.cm, 1, &ev)) {
		struct emu_id id = { .client = 1, .ch = wire.cm->ch[1], .h = ev.id };

		if (ev.type == CM_EV_CONNECT_REQUEST && turns & 1)
			emu_cm_accept(wire.m, &id, &p);
		else if (ev.type != CM_EV_ESTABLISHED)
			emu_cm_destroy(wire.m, &id);
	}
}

/* Turns until the datagrams that arrived are dealt with, and what programs do then. */
static void turns_run(void)
{
	u32 i;

	for (i = 0; wire_turn(); i++)
		must(i < MAX_TURNS);
	receive_post(&wire.live);
	receive_post(&wire.ud);
	listener_work();
}

static void live_for_a_while(void)
{
	/* A datagram for QP 1: its BTH and DETH, and a message that mad_make_right() makes. */
	u8 data[12 + 8 + 32] = { 0x64, 0, 0xff, 0xff, 0, 0, 0, 1 };
	u32 i;

	for (i = 0; i < KNOWN; i++)
		wire_introduce(16 + i);
	for (turns = 0; turns < CONNECTED; turns++) {
		datagram_put(RIGHT_MAD | WIRE_TO_4, 16 + turns, 0, false, data, sizeof(data));
		turns_run();
	}
}

/* Whether this is one of the inputs after which HCA memory is audited. */
static bool is_audited(const u8 *data, size_t size)
{
	u32 sum = 0;

	while (size--)
		sum = sum * 31 + data[size];
	return sum % AUDIT_ONE == 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const bool audited = is_audited(data, size);
	const struct hca_wires *w;
	u32 len;

	wire_make_frozen(live_for_a_while);
	turns = size ? data[0] : 0;
	for (data += size > 0; size >= 5; data += len, size -= len) {
		u32 right = data[0], from = data[1] % 16;
		bool full = data[1] & 0x10, together = data[1] & 0x20;
		u8 mark = data[1] >> 6;

		len = min_u32(data[2] | (u32)data[3] << 8, (u32)size - 5);
		data += 4;
		size -= 4;
		turns++;
		if (right & POST)
			work_post();
		datagram_put(right, from, mark, together, data, len);
		wire.full = full;
		wire_turn();
		wire.full = false;
		turns_run();
	}
	w = &wire.m->hca->wires;
	must(w->n_used <= w->n_peers / 2);
	must(!audited || wire_audit());
	wire_restore();
	return 0;
}
