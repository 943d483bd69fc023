/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets of all kinds, for tests that build and parse frames.
 */
#ifndef TESTS_UNIT_TRACES_FORMATS_ROCE_ANY_H
#define TESTS_UNIT_TRACES_FORMATS_ROCE_ANY_H

#include "emulator/types.h"
#include "traces/formats/roce.h"

#include <string.h>

#define ROCE_NETS 5u /* networks: ROCE_IP4 and so on */

/** roce_any_number() - the next of a sequence that is the same in each run. */
static inline u64 roce_any_number(void)
{
	static u64 seed = 1;

	return mix64(seed++);
}

/** roce_any_bytes() - @len bytes of such numbers. */
static inline void roce_any_bytes(void *at, size_t len)
{
	u8 *b = at;

	while (len--)
		*b++ = (u8)roce_any_number();
}

/**
 * roce_any() - a packet with something in every field that its frame has. The next call overwrites
 * its payload of @len bytes, at most 65536.
 */
static inline struct roce_pkt roce_any(u32 net, u8 opcode, u32 len)
{
	static u8 payload[65536];
	u32 hdrs = roce_headers(opcode);
	struct roce_pkt p = { .net = (u8)net, .opcode = opcode };

	roce_any_bytes(payload, len);
	p.payload = payload;
	p.payload_len = p.payload_cap = len;
	if (net == ROCE_IB || net == ROCE_IB_GRH) {
		p.vl = roce_any_number() & 15;
		p.sl = roce_any_number() & 15;
		p.slid = (u16)roce_any_number();
		p.dlid = (u16)roce_any_number();
	} else {
		roce_any_bytes(p.eth_dst, 6);
		roce_any_bytes(p.eth_src, 6);
	}
	if (net != ROCE_IB) {
		p.tclass = (u8)roce_any_number();
		p.hop_limit = (u8)roce_any_number();
		roce_any_bytes(p.sgid, 16);
		roce_any_bytes(p.dgid, 16);
	}
	if (net == ROCE_IP4) {
		memset(p.sgid, 0, 10);
		memset(p.sgid + 10, 0xff, 2);
		memcpy(p.dgid, p.sgid, 12);
		p.ip_id = (u16)roce_any_number();
		p.ip_frag = ROCE_IP_DF;
	} else if (net != ROCE_IB) {
		p.flow_label = roce_any_number() & 0xfffff;
	}
	if (net == ROCE_IP4 || net == ROCE_IP6)
		p.udp_src = (u16)roce_any_number();
	p.solicited = roce_any_number() & 1;
	p.mig = roce_any_number() & 1;
	p.pkey = (u16)roce_any_number();
	p.ecn = (u8)roce_any_number();
	p.dqpn = roce_any_number() & 0xffffff;
	p.ack_req = roce_any_number() & 1;
	p.resv7 = roce_any_number() & 0x7f;
	p.psn = roce_any_number() & 0xffffff;
#define IF(hdr, field, mask)                                                                       \
	if (hdrs & (hdr))                                                                          \
	p.field = (__typeof__(p.field))(roce_any_number() & (mask))
	IF(ROCE_RDETH, eec, 0xffffff);
	IF(ROCE_DETH, qkey, ~0u);
	IF(ROCE_DETH, sqpn, 0xffffff);
	IF(ROCE_XRCETH, srqn, 0xffffff);
	IF(ROCE_FETH, flush, ~0u);
	IF(ROCE_RETH | ROCE_ATOMICETH, va, ~0ULL);
	IF(ROCE_RETH | ROCE_ATOMICETH, rkey, ~0u);
	IF(ROCE_RETH, dma_len, ~0u);
	IF(ROCE_ATOMICETH, swap, ~0ULL);
	IF(ROCE_ATOMICETH, compare, ~0ULL);
	IF(ROCE_AETH, syndrome, 0xff);
	IF(ROCE_AETH, msn, 0xffffff);
	IF(ROCE_ATOMICACKETH, orig, ~0ULL);
	IF(ROCE_IMMDT, imm, ~0u);
	IF(ROCE_IETH, inv_rkey, ~0u);
#undef IF
	return p;
}

#endif
