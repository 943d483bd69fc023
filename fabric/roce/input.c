/* SPDX-License-Identifier: MIT */
/** DOC: datagrams that arrive at a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/av.h"
#include "emulator/packet_fault.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/untrusted.h"
#include "emulator/transport/wire.h"

#include <endian.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TURN	 (16u * EGRESS_BATCH) /* datagrams of a wire in one holding of the token */
#define AGAIN_NS (200 * NSEC_PER_USEC)
#define ECN_MASK 3u /* of a traffic class */
#define ECN_CE	 3u /* a switch on the way was congested */

/* Control messages with the traffic class, and the length of datagrams. */
union inbox_control {
	struct cmsghdr align;
	u8 buf[2 * CMSG_SPACE(sizeof(int))];
};

static void datagram_source(const struct roce_in *in, u8 gid[16])
{
	if (in->from.sa.sa_family == AF_INET)
		gid_map_v4(gid, &in->from.v4.sin_addr);
	else
		memcpy(gid, &in->from.v6.sin6_addr, 16);
}

static u8 *datagram_set_ip4(const u8 sgid[16], const u8 dgid[16], struct roce_in *in)
{
	u16 total = htobe16((u16)(ROCE_IP4_UDP + in->len)), frag = htobe16(ROCE_IP_DF), csum;
	u16 id = htobe16(roce_datagram_index(in));
	u8 *ip = in->bytes + in->at - ROCE_IP4_UDP;
	u32 sum = 0, i;

	memset(ip, 0, ROCE_IP4_UDP);
	ip[0] = 0x45;
	ip[1] = in->tclass;
	memcpy(ip + 2, &total, 2);
	memcpy(ip + 4, &id, 2);
	memcpy(ip + 6, &frag, 2);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, sgid + 12, 4);
	memcpy(ip + 16, dgid + 12, 4);
	for (i = 0; i < 20; i += 2)
		sum += (u32)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	csum = htobe16((u16) ~((sum & 0xffff) + (sum >> 16)));
	memcpy(ip + 10, &csum, 2);
	return ip;
}

static u8 *datagram_set_ip6(const u8 sgid[16], const u8 dgid[16], struct roce_in *in)
{
	u16 len = htobe16((u16)(8 + in->len));
	u8 *ip = in->bytes + in->at - ROCE_IP6_UDP;

	memset(ip, 0, ROCE_IP6_UDP);
	ip[0] = 0x60 | in->tclass >> 4;
	ip[1] = (u8)(in->tclass << 4);
	memcpy(ip + 4, &len, 2);
	ip[6] = IPPROTO_UDP;
	ip[7] = 64;
	memcpy(ip + 8, sgid, 16);
	memcpy(ip + 24, dgid, 16);
	return ip;
}

/*
 * The headers as they were on the wire, except for what the ICRC does not cover. Return: where they
 * begin.
 */
static u8 *datagram_set_headers(const u8 sgid[16], const u8 dgid[16], struct roce_in *in)
{
	u16 port = htobe16(ROCE_UDP_PORT), len = htobe16((u16)(8 + in->len));
	bool v4 = gid_is_v4(dgid);
	u8 *ip = v4 ? datagram_set_ip4(sgid, dgid, in) : datagram_set_ip6(sgid, dgid, in);
	u8 *udp = in->bytes + in->at - 8;

	memcpy(udp, v4 ? &in->from.v4.sin_port : &in->from.v6.sin6_port, 2);
	memcpy(udp + 2, &port, 2);
	memcpy(udp + 4, &len, 2);
	return ip;
}

/* A group's datagram that this fabric has sent: the switch has delivered it. */
static bool datagram_is_echo(const struct roce *r, const struct roce_inbox *box, const u8 sgid[16])
{
	u32 i;

	for (i = 0; gid_is_mcast(box->gid) && i < r->n; i++)
		if (!memcmp(r->wire[i].box.gid, sgid, 16))
			return true;
	return false;
}

/*
 * Whether a datagram from an unknown address may give a peer that address: it goes to a QP that
 * takes datagrams from anybody.
 */
static bool datagram_may_introduce(struct hca *hca, const struct roce_pkt *p)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, p->dqpn);

	if (p->opcode >> 5 != ROCE_UD)
		return false;
	return p->dqpn == GSI_QPN || gid_is_mcast(p->dgid) || (qp && qp->type == QPT_UD);
}

/* Whether the answer to a READ request is made in portions. */
static bool datagram_is_long_read(const struct burst *b)
{
	return b->op == BOP_READ_REQ && b->len > ROCE_READ_MAX;
}

/* Whether the request is for that queue pair, whose responder takes requests. */
static bool datagram_reaches(const struct hca_qp *qp, const struct burst *b)
{
	return qp && qp_addressed(qp, b) &&
	       (qp->state == QPS_RTR || qp->state == QPS_RTS || qp->state == QPS_SQD);
}

/*
 * Whether the responder answers a portion. @direct: it has done so by now, and its PSN has come to
 * the portion's end, now or, for a duplicate, before.
 */
static bool datagram_is_answered(struct hca *hca, const struct hca_qp *qp, const struct burst *part,
				 bool direct)
{
	u32 next = psn_add(part->psn, packets_of(part->len, qp->mtu));

	return resp_allows_read(hca, qp, part) && (!direct || psn_diff(qp->resp.epsn, next) >= 0);
}

/* Bytes of a portion: what leaves in one piece, where the queue pair says how much that is. */
static u64 datagram_read_portion(const struct hca_qp *qp, const struct burst *b)
{
	return datagram_reaches(qp, b) ? min_u64(qp_chunk(qp), ROCE_READ_MAX) : ROCE_READ_MAX;
}

/*
 * Hand a READ request to the responder. Other devices ask for up to 2 GiB at once: the responder
 * answers in portions, since each of its steps is bounded. Where it refuses one, no other follows:
 * the request may be anybody's. Return: 0, or -EAGAIN: go on later.
 */
static int datagram_read(struct fabric *f, struct roce_in *in, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);
	u64 end = in->asked + ROCE_READ_TURN;
	struct burst part = *b;
	bool direct;
	int ret;

	while (in->asked < b->len && (!in->asked || datagram_reaches(qp, b))) {
		if (in->asked >= end)
			return -EAGAIN;
		part.off = in->asked;
		part.len = min_u64(b->len - in->asked, datagram_read_portion(qp, b));
		/* One that has never left RESET has no path MTU. */
		part.psn = in->asked ? psn_add(b->psn, in->asked / qp->mtu) : b->psn;
		direct = link_is_direct(f, &part);
		ret = link_input(f, &part);
		if (ret)
			return ret;
		in->asked += (u32)part.len;
		if (datagram_reaches(qp, b) && !datagram_is_answered(f->hca, qp, &part, direct))
			break;
	}
	return 0;
}

enum roce_drop roce_datagram_parse(const u8 sgid[16], const u8 dgid[16], struct roce_in *in,
				   struct roce_pkt *p)
{
	const u32 harmless = ROCE_BAD_ICRC | ROCE_BAD_OPCODE | ROCE_BAD_PAYLOAD;
	const bool v4 = gid_is_v4(dgid);
	const u32 len = roce_ip_udp(dgid) + in->len;
	const u8 *ip;

	if (in->cut || in->len > ROCE_DATAGRAM)
		return ROCE_DROP_MALFORMED;
	ip = datagram_set_headers(sgid, dgid, in);
	if (roce_parse(v4 ? ROCE_LINK_IPV4 : ROCE_LINK_IPV6, ip, len, len, p) ||
	    p->wrong & ~harmless)
		return ROCE_DROP_MALFORMED;
	if (p->wrong & ROCE_BAD_ICRC && !(v4 && roce_find_ip_id(ip, len, &p->ip_id)))
		return ROCE_DROP_BAD_ICRC;
	p->wrong &= ~(u32)ROCE_BAD_ICRC;
	return ROCE_DROPS;
}

/* Name the payload as a ring's is: a small one then goes into the completion, without a copy. */
static void datagram_set_memory(const struct roce_in *in, struct hca_mem *mem)
{
	mem->client = HCA_ROCE;
	mem->kind = MEM_SEG;
	mem->iov[0].addr -= (u64)(uintptr_t)in->bytes;
}

/* Make a burst of a packet. Return: as roce_datagram_parse(). */
static enum roce_drop datagram_to_burst(struct fabric *f, const struct roce_pkt *p,
					struct roce_in *in, u32 *fault)
{
	struct packet_burst *b = &in->burst;
	struct hca *hca = f->hca;
	int ret = packet_to_burst(hca, p, b, fault);

	if (ret == -ENXIO && datagram_may_introduce(hca, p) && roce_peers_introduce(f, p->sgid))
		ret = packet_to_burst(hca, p, b, fault);
	if (ret || !hca_dev_is_peer(hca, b->b.src_dev))
		return ROCE_DROP_STRANGER;
	datagram_set_memory(in, &b->mem);
	hca_peer_use(hca, b->b.src_dev);
	if (b->b.dst_dev >= hca->n_devs && !burst_is_mcast(&b->b))
		return ROCE_DROP_NO_PORT;
	return ROCE_DROPS;
}

/* Hand a datagram to the engine. Return: 0, or -EAGAIN: offer it again later. */
static int datagram_deliver(struct fabric *f, struct roce_inbox *box, struct roce_in *in)
{
	enum roce_drop why = ROCE_DROP_FILTERED;
	struct burst *b = &in->burst.b;
	struct roce_pkt p;
	u8 sgid[16];
	u32 fault;

	f->roce->bytes = in->bytes;
	if (in->held)
		return link_input(f, b);
	datagram_source(in, sgid);
	if (datagram_is_echo(f->roce, box, sgid))
		return 0;
	if (!f->roce->filters || wire_peers_has(&f->roce->peers, sgid))
		why = roce_datagram_parse(sgid, box->gid, in, &p);
	if (why == ROCE_DROPS)
		box->wire->n.numbered += p.ip_id != roce_datagram_index(in);
	if (why == ROCE_DROPS && p.opcode == ROCE_OPCODE_CNP)
		why = roce_cnp_input(f, box->wire, &p) ? ROCE_DROPS : ROCE_DROP_STRANGER;
	else if (why == ROCE_DROPS)
		why = datagram_to_burst(f, &p, in, &fault);
	if (why != ROCE_DROPS) {
		roce_drop(f, box->wire, why, sgid);
		return 0;
	}
	if (p.opcode == ROCE_OPCODE_CNP)
		return 0;
	if ((in->tclass & ECN_MASK) == ECN_CE && !in->told) {
		in->told = true;
		roce_cnp_send(f, box->wire, &p, b);
	}
	if (fault == PKT_FAULTS && datagram_is_long_read(b))
		return datagram_read(f, in, b);
	if (fault != PKT_FAULTS) {
		untrusted_drop(&f->engine, b, fault);
		return 0;
	}
	roce_merge(f, box, in, sgid);
	return link_input(f, b);
}

bool roce_datagram_next(struct roce_in *in, u32 at)
{
	in->at = at;
	in->len = min_u32(in->end - at, in->step);
	in->asked = in->held = 0;
	in->told = false;
	return in->len != 0;
}

/* IP_TOS is a byte, IPV6_TCLASS and UDP_GRO are ints. */
static void inbox_control_read(struct msghdr *m, struct roce_in *in)
{
	struct cmsghdr *c;
	int value;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			in->tclass = *(const u8 *)CMSG_DATA(c);
			continue;
		}
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			in->tclass = (u8)value;
		else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && value > 0)
			in->step = (u32)value;
	}
}

/* Take what the kernel has handed out at once. Return: how many datagrams. */
static u32 inbox_take(struct mmsghdr *m, struct roce_in *in)
{
	in->step = m->msg_len;
	in->end = ROCE_IP6_UDP + m->msg_len;
	in->tclass = 0;
	in->cut = m->msg_hdr.msg_flags & MSG_TRUNC;
	inbox_control_read(&m->msg_hdr, in);
	roce_datagram_next(in, ROCE_IP6_UDP);
	return in->len ? (m->msg_len + in->step - 1) / in->step : 1;
}

/* Read datagrams into the buffers, which are empty. */
static void inbox_read(struct roce_inbox *box)
{
	struct mmsghdr m[EGRESS_BATCH] = { 0 };
	union inbox_control ctl[EGRESS_BATCH];
	struct iovec iov[EGRESS_BATCH];
	int n, i;

	for (i = 0; i < (int)box->room; i++) {
		iov[i] = (struct iovec){ box->in[i].bytes + ROCE_IP6_UDP, ROCE_IN_MAX };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &box->in[i].from,
						.msg_namelen = sizeof(box->in[i].from),
						.msg_iov = &iov[i],
						.msg_iovlen = 1,
						.msg_control = &ctl[i],
						.msg_controllen = sizeof(ctl[i].buf) };
	}
	n = recvmmsg(box->w.fd, m, box->room, MSG_DONTWAIT, NULL);
	box->at = 0;
	box->n = n > 0 ? (u32)n : 0;
	for (i = 0; i < n; i++)
		box->wire->n.received += inbox_take(&m[i], &box->in[i]);
}

u32 roce_inbox_events(const struct roce_inbox *box)
{
	bool out = box->wire->full == &box->w;

	return (box->paused ? 0u : (u32)EPOLLIN) | (out ? (u32)EPOLLOUT : 0u);
}

static void inbox_event(struct fabric *f, struct watch *watch, u32 events)
{
	struct roce_inbox *box = container_of(watch, struct roce_inbox, w);

	if (events & EPOLLOUT && box->wire->full == watch)
		roce_writable(f, box->wire);
	if (!(events & (EPOLLIN | EPOLLERR)))
		return;
	if (box->at < box->n) {
		box->paused = true;
		loop_watch_events(f, watch, roce_inbox_events(box));
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

/* Hand over what the kernel has handed out at once. Return: 0 or -EAGAIN; @n: counts datagrams */
static int inbox_deliver_entry(struct fabric *f, struct roce_inbox *box, u32 *n)
{
	struct roce_in *in = &box->in[box->at];

	do {
		++*n;
		if (datagram_deliver(f, box, in) == -EAGAIN)
			return -EAGAIN;
	} while (roce_datagram_next(in, in->held ? in->held : in->at + in->len));
	box->at++;
	return 0;
}

/* Return: 0, or -EAGAIN: some datagrams remain. */
static int inbox_deliver(struct fabric *f, struct roce_inbox *box)
{
	u32 n = 0;

	while (n < TURN) {
		/* The loop may not have asked the socket for long. */
		if (box->at >= box->n)
			inbox_read(box);
		while (box->at < box->n && n < TURN)
			if (inbox_deliver_entry(f, box, &n) == -EAGAIN)
				return -EAGAIN;
		if (box->n < box->room)
			break;
	}
	if (box->at >= box->n && box->paused) {
		box->paused = false;
		loop_watch_events(f, &box->w, roce_inbox_events(box));
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

	return r &&
	       (r->due || now >= r->retry_at || roce_groups_changed(f) || roce_peers_are_rare(f));
}

void *roce_datagrams(const struct fabric *f)
{
	return f->roce->bytes;
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
	roce_note_bursts(f);
	if (roce_groups_changed(f))
		roce_groups_update(f);
	roce_peers_keep_free(f);
	for (i = 0; i < r->n; i++)
		inbox_input(f, &r->wire[i].box);
	for (i = 0; i < ROCE_GROUPS; i++)
		if (r->group[i].box.wire)
			inbox_input(f, &r->group[i].box);
}
