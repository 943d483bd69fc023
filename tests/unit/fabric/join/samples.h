/* SPDX-License-Identifier: MIT */
/* Bursts and noise for the tests of frames. */
#ifndef TESTS_UNIT_FABRIC_JOIN_SAMPLES_H
#define TESTS_UNIT_FABRIC_JOIN_SAMPLES_H

#include "fabric/join/proto.h"

#include <stdlib.h>

/* Memory that ends where it ends: the sanitizers see who reads on. */
static inline u8 *tight(const u8 *from, u32 len)
{
	u8 *p = malloc(len ? len : 1);

	if (!p)
		abort();
	memcpy(p, from, len);
	return p;
}

static inline struct burst write_burst(void)
{
	return (struct burst){ .op = BOP_WRITE,
			       .flags = BF_FIRST | BF_LAST | BF_ACK_REQ,
			       .psn = 0x123456,
			       .src_qpn = 0x11,
			       .dst_qpn = 0x10022,
			       .src_port = 1,
			       .dst_port = 2,
			       .pkey = 0xffff,
			       .dst_type = QPT_RC,
			       .npkts = 3,
			       .mtu = 1024,
			       .rkey = 0x501,
			       .va = 0x7f0012345678,
			       .dma_len = 2500,
			       .len = 2500 };
}

static inline struct burst datagram(const struct hca_av *av)
{
	return (struct burst){ .op = BOP_SEND,
			       .flags = BF_FIRST | BF_LAST | BF_IMM,
			       .src_qpn = 0x13,
			       .dst_qpn = 0xffffff,
			       .src_port = 1,
			       .pkey = 0x8001,
			       .dst_type = QPT_UD,
			       .npkts = 1,
			       .mtu = 4096,
			       .imm = 0xdeadbeef,
			       .qkey = 0x1234567,
			       .len = 100,
			       .av = av };
}

#endif
