/* SPDX-License-Identifier: MIT */
/** DOC: datagrams that arrive at a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/packet_fault.h"
#include "emulator/qp.h"
#include "emulator/transport/untrusted.h"

#include <endian.h>
#include <sys/epoll.h>

#define ROUNDS	 16u /* batches of a wire in one holding of the token */
#define AGAIN_NS (200 * NSEC_PER_USEC)

/* The headers as they were on the wire, except for what the ICRC does not cover. */
static void datagram_set_headers(const struct roce_wire *w, struct roce_in *in)
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
	memcpy(ip + 16, w->gid + 12, 4);
	for (i = 0; i < 20; i += 2)
		sum += (u32)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	csum = htobe16((u16) ~((sum & 0xffff) + (sum >> 16)));
	memcpy(ip + 10, &csum, 2);
	memcpy(udp, &in->from.sin_port, 2);
	memcpy(udp + 2, &port, 2);
	memcpy(udp + 4, &len, 2);
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
	return p->dqpn == GSI_QPN || (qp && qp->type == QPT_UD);
}

/* Hand a datagram to the engine. Return: 0, or -EAGAIN: offer it again later. */
static int datagram_deliver(struct fabric *f, struct roce_wire *w, struct roce_in *in)
{
	struct packet_burst b;
	struct roce_pkt p;
	u32 fault;
	int ret;

	datagram_set_headers(w, in);
	ret = in->cut ? -EMSGSIZE
		      : roce_parse(ROCE_LINK_IPV4, in->head, ROCE_IP_UDP + in->len,
				   ROCE_IP_UDP + in->len, &p);
	if (ret || (p.wrong & ~(u32)(ROCE_BAD_ICRC | ROCE_BAD_OPCODE | ROCE_BAD_PAYLOAD))) {
		w->n.malformed++;
		return 0;
	}
	if (p.wrong & ROCE_BAD_ICRC &&
	    !roce_find_ip_id(in->head, ROCE_IP_UDP + in->len, &p.ip_id)) {
		w->n.bad_icrc++;
		return 0;
	}
	w->n.numbered += p.ip_id != 0;
	p.wrong &= ~(u32)ROCE_BAD_ICRC;
	ret = packet_to_burst(f->hca, &p, &b, &fault);
	if (ret == -ENXIO && datagram_may_introduce(f->hca, &p) &&
	    hca_peer_add(f->hca, p.sgid) >= 0)
		ret = packet_to_burst(f->hca, &p, &b, &fault);
	if (ret || !hca_dev_is_peer(f->hca, b.b.src_dev)) {
		w->n.stranger++;
		return 0;
	}
	if (b.b.dst_dev >= f->hca->n_devs) {
		w->n.no_port++;
		return 0;
	}
	if (fault == PKT_FAULTS)
		return link_input(f, &b.b);
	untrusted_drop(&f->engine, &b.b, fault);
	return 0;
}

/* Read datagrams into the buffers, which are empty. */
static void wire_read(struct roce_wire *w)
{
	struct mmsghdr m[ROCE_BATCH] = { 0 };
	struct iovec iov[ROCE_BATCH];
	int n, i;

	for (i = 0; i < (int)ROCE_BATCH; i++) {
		iov[i] = (struct iovec){ w->in[i].data, sizeof(w->in[i].data) };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &w->in[i].from,
						.msg_namelen = sizeof(w->in[i].from),
						.msg_iov = &iov[i],
						.msg_iovlen = 1 };
	}
	n = recvmmsg(w->w.fd, m, ROCE_BATCH, MSG_DONTWAIT, NULL);
	w->at_in = 0;
	w->n_in = n > 0 ? (u32)n : 0;
	for (i = 0; i < n; i++) {
		w->in[i].len = m[i].msg_len;
		w->in[i].cut = m[i].msg_hdr.msg_flags & MSG_TRUNC;
	}
	w->n.received += w->n_in;
}

void roce_event(struct fabric *f, struct watch *watch, u32 events)
{
	struct roce_wire *w = container_of(watch, struct roce_wire, w);

	if (events & EPOLLOUT && w->stuck)
		roce_writable(f, w);
	if (!(events & (EPOLLIN | EPOLLERR)))
		return;
	if (w->at_in < w->n_in) {
		w->paused = true;
		loop_watch_events(f, watch, w->stuck ? EPOLLOUT : 0);
		return;
	}
	wire_read(w);
	f->roce->due |= w->n_in > 0;
}

/* Return: 0, or -EAGAIN: some datagrams remain. */
static int wire_input(struct fabric *f, struct roce_wire *w)
{
	u32 i;

	for (i = 0; i < ROUNDS && w->n_in; i++) {
		for (; w->at_in < w->n_in; w->at_in++)
			if (datagram_deliver(f, w, &w->in[w->at_in]) == -EAGAIN)
				return -EAGAIN;
		if (w->n_in < ROCE_BATCH)
			break;
		wire_read(w);
	}
	if (w->at_in >= w->n_in && w->paused) {
		w->paused = false;
		loop_watch_events(f, &w->w, EPOLLIN | (w->stuck ? EPOLLOUT : 0));
	}
	return 0;
}

bool roce_due(const struct fabric *f, u64 now)
{
	const struct roce *r = f->roce;

	return r && (r->due || now >= r->retry_at);
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
	for (i = 0; i < r->n; i++) {
		if (wire_input(f, &r->wire[i]) == -EAGAIN)
			r->retry_at = real_ns() + AGAIN_NS;
		else if (r->wire[i].at_in < r->wire[i].n_in)
			r->due = true;
	}
}
