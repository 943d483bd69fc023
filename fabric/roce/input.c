/* SPDX-License-Identifier: MIT */
/** DOC: datagrams that arrive at a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/av.h"
#include "emulator/packet_fault.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/untrusted.h"

#include <endian.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROUNDS	 16u /* batches of a wire in one holding of the token */
#define AGAIN_NS (200 * NSEC_PER_USEC)

/* The headers as they were on the wire, except for what the ICRC does not cover. */
static void datagram_set_headers(const u8 dgid[16], struct roce_in *in)
{
	u16 total = htobe16((u16)(ROCE_IP_UDP + in->len)), frag = htobe16(ROCE_IP_DF);
	u16 port = htobe16(ROCE_UDP_PORT), len = htobe16((u16)(8 + in->len)), csum;
	u8 *ip = in->head, *udp = in->head + 20;
	u32 sum = 0, i;

	memset(ip, 0, ROCE_IP_UDP);
	ip[0] = 0x45;
	memcpy(ip + 2, &total, 2);
	memcpy(ip + 6, &frag, 2);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, &in->from.sin_addr, 4);
	memcpy(ip + 16, dgid + 12, 4);
	for (i = 0; i < 20; i += 2)
		sum += (u32)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	csum = htobe16((u16) ~((sum & 0xffff) + (sum >> 16)));
	memcpy(ip + 10, &csum, 2);
	memcpy(udp, &in->from.sin_port, 2);
	memcpy(udp + 2, &port, 2);
	memcpy(udp + 4, &len, 2);
}

/* A group's datagram that this fabric has sent: the switch has delivered it. */
static bool datagram_is_echo(const struct roce *r, const struct roce_inbox *box,
			     const struct roce_in *in)
{
	u32 i;

	for (i = 0; gid_is_mcast(box->gid) && i < r->n; i++)
		if (!memcmp(r->wire[i].box.gid + 12, &in->from.sin_addr, 4))
			return true;
	return false;
}

static bool datagram_is_admitted(const struct wire_peers *peers, const struct roce_in *in)
{
	u8 gid[16];

	gid_map_v4(gid, &in->from.sin_addr);
	return wire_peers_has(peers, gid);
}

/*
 * Whether a datagram from an unknown address may give a peer that address: it goes to a QP that
 * takes datagrams from anybody. Programs keep half of the peers.
 */
static bool datagram_may_introduce(struct hca *hca, const struct roce_pkt *p)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, p->dqpn);

	if (p->opcode >> 5 != ROCE_UD || hca->wires.n_used >= hca->wires.n_peers / 2)
		return false;
	return p->dqpn == GSI_QPN || gid_is_mcast(p->dgid) || (qp && qp->type == QPT_UD);
}

/* Whether the answer to a READ request is made in portions. */
static bool datagram_is_long_read(struct hca *hca, const struct burst *b)
{
	return b->op == BOP_READ_REQ && b->len > ROCE_READ_MAX && b->len <= LIM_MSG &&
	       hca_qp_by_num(hca, b->dst_qpn);
}

/*
 * Hand a READ request to the responder. Other devices ask for up to 2 GiB at once: the responder
 * answers in portions, since each of its steps is bounded. Return: 0, or -EAGAIN: go on later.
 */
static int datagram_read(struct fabric *f, struct roce_in *in, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);
	u64 end = in->asked + ROCE_READ_TURN;
	struct burst part = *b;
	int ret;

	/* A portion that is refused ends the queue pair, and what the request asks for. */
	while (in->asked < b->len && qp->state != QPS_ERR) {
		if (in->asked >= end)
			return -EAGAIN;
		part.off = in->asked;
		part.len = min_u64(b->len - in->asked, ROCE_READ_MAX);
		part.psn = psn_add(b->psn, in->asked / qp->mtu);
		ret = link_input(f, &part);
		if (ret)
			return ret;
		in->asked += (u32)part.len;
	}
	return 0;
}

static int datagram_drop(struct fabric *f, struct roce_inbox *box, const struct roce_in *in,
			 enum roce_drop why)
{
	roce_drop(f, box->wire, why, in->from.sin_addr);
	return 0;
}

/* Hand a datagram to the engine. Return: 0, or -EAGAIN: offer it again later. */
static int datagram_deliver(struct fabric *f, struct roce_inbox *box, struct roce_in *in)
{
	struct packet_burst b;
	struct roce_pkt p;
	u32 fault;
	int ret;

	if (datagram_is_echo(f->roce, box, in))
		return 0;
	if (f->roce->filters && !datagram_is_admitted(&f->roce->peers, in))
		return datagram_drop(f, box, in, ROCE_DROP_FILTERED);
	datagram_set_headers(box->gid, in);
	ret = in->cut ? -EMSGSIZE
		      : roce_parse(ROCE_LINK_IPV4, in->head, ROCE_IP_UDP + in->len,
				   ROCE_IP_UDP + in->len, &p);
	if (ret || (p.wrong & ~(u32)(ROCE_BAD_ICRC | ROCE_BAD_OPCODE | ROCE_BAD_PAYLOAD)))
		return datagram_drop(f, box, in, ROCE_DROP_MALFORMED);
	if (p.wrong & ROCE_BAD_ICRC && !roce_find_ip_id(in->head, ROCE_IP_UDP + in->len, &p.ip_id))
		return datagram_drop(f, box, in, ROCE_DROP_BAD_ICRC);
	box->wire->n.numbered += p.ip_id != 0;
	p.wrong &= ~(u32)ROCE_BAD_ICRC;
	ret = packet_to_burst(f->hca, &p, &b, &fault);
	if (ret == -ENXIO && datagram_may_introduce(f->hca, &p) &&
	    hca_peer_add(f->hca, p.sgid) >= 0)
		ret = packet_to_burst(f->hca, &p, &b, &fault);
	if (ret || !hca_dev_is_peer(f->hca, b.b.src_dev))
		return datagram_drop(f, box, in, ROCE_DROP_STRANGER);
	if (b.b.dst_dev >= f->hca->n_devs && !burst_is_mcast(&b.b))
		return datagram_drop(f, box, in, ROCE_DROP_NO_PORT);
	if (fault == PKT_FAULTS && datagram_is_long_read(f->hca, &b.b))
		return datagram_read(f, in, &b.b);
	if (fault == PKT_FAULTS)
		return link_input(f, &b.b);
	untrusted_drop(&f->engine, &b.b, fault);
	return 0;
}

/* Read datagrams into the buffers, which are empty. */
static void inbox_read(struct roce_inbox *box)
{
	struct mmsghdr m[ROCE_BATCH] = { 0 };
	struct iovec iov[ROCE_BATCH];
	int n, i;

	for (i = 0; i < (int)box->room; i++) {
		iov[i] = (struct iovec){ box->in[i].data, sizeof(box->in[i].data) };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &box->in[i].from,
						.msg_namelen = sizeof(box->in[i].from),
						.msg_iov = &iov[i],
						.msg_iovlen = 1 };
	}
	n = recvmmsg(box->w.fd, m, box->room, MSG_DONTWAIT, NULL);
	box->at = 0;
	box->n = n > 0 ? (u32)n : 0;
	for (i = 0; i < n; i++) {
		box->in[i].len = m[i].msg_len;
		box->in[i].asked = 0;
		box->in[i].cut = m[i].msg_hdr.msg_flags & MSG_TRUNC;
	}
	box->wire->n.received += box->n;
}

/* What the loop waits for. A group's socket sends nothing. */
static u32 inbox_events(const struct roce_inbox *box)
{
	bool out = box == &box->wire->box && box->wire->stuck;

	return (box->paused ? 0u : (u32)EPOLLIN) | (out ? (u32)EPOLLOUT : 0u);
}

static void inbox_event(struct fabric *f, struct watch *watch, u32 events)
{
	struct roce_inbox *box = container_of(watch, struct roce_inbox, w);

	if (events & EPOLLOUT && box->wire->stuck)
		roce_writable(f, box->wire);
	if (!(events & (EPOLLIN | EPOLLERR)))
		return;
	if (box->at < box->n) {
		box->paused = true;
		loop_watch_events(f, watch, inbox_events(box));
		return;
	}
	inbox_read(box);
	f->roce->due |= box->n > 0;
}

int roce_inbox_open(struct fabric *f, struct roce_inbox *box, int fd, u32 room)
{
	int ret;

	box->n = box->at = 0;
	box->paused = false;
	box->room = room;
	box->in = calloc(room, sizeof(*box->in));
	ret = box->in ? loop_watch_add(f, &box->w, fd, inbox_event) : -ENOMEM;
	if (ret) {
		free(box->in);
		box->in = NULL;
		close(fd);
	}
	return ret;
}

void roce_inbox_close(struct roce_inbox *box)
{
	loop_watch_close(&box->w);
	free(box->in);
	box->in = NULL;
	box->n = box->at = 0;
}

/* Return: 0, or -EAGAIN: some datagrams remain. */
static int inbox_deliver(struct fabric *f, struct roce_inbox *box)
{
	u32 i;

	for (i = 0; i < ROUNDS && box->n; i++) {
		for (; box->at < box->n; box->at++)
			if (datagram_deliver(f, box, &box->in[box->at]) == -EAGAIN)
				return -EAGAIN;
		if (box->n < box->room)
			break;
		inbox_read(box);
	}
	if (box->at >= box->n && box->paused) {
		box->paused = false;
		loop_watch_events(f, &box->w, inbox_events(box));
	}
	return 0;
}

static void inbox_input(struct fabric *f, struct roce_inbox *box)
{
	if (inbox_deliver(f, box) == -EAGAIN)
		f->roce->retry_at = real_ns() + AGAIN_NS;
	else if (box->at < box->n)
		f->roce->due = true;
}

bool roce_due(const struct fabric *f, u64 now)
{
	const struct roce *r = f->roce;

	return r && (r->due || now >= r->retry_at || roce_groups_changed(f));
}

u64 roce_next(const struct fabric *f)
{
	return f->roce ? f->roce->retry_at : NEVER;
}

void roce_input(struct fabric *f)
{
	struct roce *r = f->roce;
	u32 i;

	r->due = false;
	r->retry_at = NEVER;
	if (roce_groups_changed(f))
		roce_groups_update(f);
	for (i = 0; i < r->n; i++)
		inbox_input(f, &r->wire[i].box);
	for (i = 0; i < ROCE_GROUPS; i++)
		if (r->group[i].box.wire)
			inbox_input(f, &r->group[i].box);
}
