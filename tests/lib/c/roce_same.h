/* SPDX-License-Identifier: MIT */
/**
 * DOC: whether a packet that was read is the one that was built.
 */
#ifndef TESTS_LIB_C_ROCE_SAME_H
#define TESTS_LIB_C_ROCE_SAME_H

#include "traces/formats/roce.h"

/* clang-format off */
#define ROCE_NUMBERS(X) \
	X(net) X(vlan[0]) X(vlan[1]) X(tclass) X(flow_label) X(ip_id) X(ip_frag) \
	X(hop_limit) X(udp_src) X(udp_csum) X(vl) X(sl) X(slid) X(dlid) X(opcode) \
	X(solicited) X(mig) X(tver) X(pkey) X(ecn) X(dqpn) X(ack_req) X(resv7) X(psn) \
	X(eec) X(qkey) X(sqpn) X(srqn) X(flush) X(va) X(rkey) X(dma_len) X(swap) \
	X(compare) X(syndrome) X(msn) X(orig) X(imm) X(inv_rkey) X(payload_len)
/* clang-format on */
#define ROCE_BYTES(X) X(eth_dst) X(eth_src) X(sgid) X(dgid)

/** roce_same() - all but what only reading sets; of the payload as much as @read has. */
static inline bool roce_same(const struct roce_pkt *built, const struct roce_pkt *read)
{
#define NUMBER(m)                                                                                  \
	if (built->m != read->m)                                                                   \
		return false;
#define BYTES(m)                                                                                   \
	if (memcmp(built->m, read->m, sizeof(built->m)) != 0)                                      \
		return false;
	ROCE_NUMBERS(NUMBER)
	ROCE_BYTES(BYTES)
#undef NUMBER
#undef BYTES
	return read->payload_cap <= built->payload_cap &&
	       (!read->payload_cap || !memcmp(built->payload, read->payload, read->payload_cap));
}

#endif
