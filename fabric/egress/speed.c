/* SPDX-License-Identifier: MIT */
/**
 * DOC: how fast queue pairs send, which the first notification of congestion halves
 * (fabric/roce/congestion.c). Fabric process and programs send, so it is measured in HCA memory.
 */
#include "fabric/egress/egress.h"

#define SECOND	 1000000000ull
#define SPEED_NS (SECOND / 100) /* the speed of a queue pair is measured over that */

bool egress_counts_speed(const struct hca *hca, const struct burst *b)
{
	const u32 slot = b->src_qpn & (HCA_MAX_QP - 1);

	return hca->cur_qp == slot + 1 && hca->qp[slot].qpn == b->src_qpn && b->op != BOP_ACK &&
	       b->op != BOP_READ_RESP && b->op != BOP_ATOMIC_ACK;
}

bool egress_is_limited(const struct hca *hca, u32 qpn, u64 now)
{
	const struct hca_wire_speed *s = &hca->wires.speed[qpn % HCA_WIRE_SPEEDS];

	return s->qpn == qpn && now < s->limited_until;
}

void egress_note_speed(struct hca *hca, const struct burst *b, u32 len, u64 now)
{
	struct hca_wire_speed *s = &hca->wires.speed[b->src_qpn % HCA_WIRE_SPEEDS];
	u64 ns;

	if (!egress_counts_speed(hca, b))
		return;
	if (s->qpn != b->src_qpn) {
		/* A limit stays with the queue pair that it is about. */
		if (now < s->limited_until)
			return;
		*s = (struct hca_wire_speed){ .qpn = b->src_qpn, .since = now };
	}
	ns = now - s->since;
	if (ns >= SPEED_NS) {
		s->speed = s->bytes * SECOND / ns;
		s->bytes = 0;
		s->since = now;
	}
	s->bytes += len;
}
