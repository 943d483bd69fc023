/* SPDX-License-Identifier: MIT */
/** DOC: from datagrams to bursts: see ingress.h. */
#include "fabric/ingress/ingress.h"

#include <endian.h>

void roce_datagram_source(const struct roce_in *in, u8 gid[16])
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
	ip[8] = in->hops;
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
	ip[1] = (u8)(in->tclass << 4 | (in->flow >> 16 & 0xf));
	ip[2] = (u8)(in->flow >> 8);
	ip[3] = (u8)in->flow;
	memcpy(ip + 4, &len, 2);
	ip[6] = IPPROTO_UDP;
	ip[7] = in->hops;
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

int roce_datagram_burst(const struct hca *hca, const struct roce_pkt *p, struct roce_in *in,
			u32 *fault)
{
	int ret = packet_to_burst(hca, p, &in->burst, fault);

	if (!ret)
		datagram_set_memory(in, &in->burst.mem);
	return ret;
}

/* Only packets of connected queue pairs are merged, and held: they have no address vector. */
void roce_datagram_resume(struct roce_in *in)
{
	struct packet_burst *p = &in->burst;

	p->b.mem = p->b.len ? &p->mem : NULL;
	p->b.av = NULL;
}

bool roce_read_is_long(const struct burst *b)
{
	return b->op == BOP_READ_REQ && b->len > ROCE_READ_MAX;
}
