/* SPDX-License-Identifier: MIT */
/**
 * DOC: splitting a burst into smaller ones, down to single packets.
 */
#include "emulator/burst.h"

void burst_split(const struct burst *b, u32 first, u32 n, struct burst *out)
{
	u64 start = (u64)first * b->mtu;
	u64 end = min_u64((u64)(first + n) * b->mtu, b->len);
	u8 head = BF_FIRST;
	u8 tail = BF_LAST | BF_IMM | BF_INV | BF_SOLICITED | BF_ACK_REQ;

	*out = *b;
	if (b->op == BOP_READ_REQ) {
		/* One packet; what is split is the range it asks for (IBTA 9.4.4: a new RETH). */
		out->va += start;
		out->dma_len = end - start;
	} else {
		out->off += start;
		/* Each burst of SRD can be placed without the others. */
		if (unlikely(b->dst_type == QPT_SRD)) {
			out->va += start;
			out->dma_len = end > start ? end - start : 0;
		}
	}
	out->psn = psn_add(b->psn, first);
	out->ip_id = (u16)(b->ip_id + first);
	out->npkts = n;
	out->len = end > start ? end - start : 0;
	if (first)
		out->flags &= (u8)~head;
	if (first + n < b->npkts)
		out->flags &= (u8)~tail;
	if (!out->len)
		out->mem = NULL;
}
