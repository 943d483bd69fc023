/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the tests of SRD share: an engine with an EFA device, queue pairs, address handles and
 * posting.
 */
#ifndef TESTS_UNIT_EMULATOR_TRANSPORT_SRD_PEER_H
#define TESTS_UNIT_EMULATOR_TRANSPORT_SRD_PEER_H

#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SRD_QKEY 0x1234

static inline struct emu_qp srd_qp(struct emu *m, u32 client, u32 depth)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp q;

	o.type = QPT_SRD;
	o.depth = depth;
	q = emu_qp_new(m, client, &o, 2);
	emu_start_datagrams(m, &q, 1, SRD_QKEY);
	return q;
}

static inline struct emu *srd_world(u64 seed)
{
	struct emu *m = emu_new(seed);

	m->hca->dev[0].lim.qp_types |= 1u << QPT_SRD;
	return m;
}

/* An address handle of the client to the only port, or to nobody. */
static inline u32 srd_address(struct emu *m, u32 client, bool nobody)
{
	static const u8 unknown[16] = { 0x22, 0x22 };

	return emu_address(m, client, 1, nobody ? unknown : m->hca->dev[0].port[1].gid[0].raw);
}

/* A world with queue pairs of its first two clients, and an address handle of the first one. */
static inline struct emu *srd_pair(u32 depth, struct emu_qp *a, struct emu_qp *b, u32 *ah)
{
	struct emu *m = srd_world(1);

	*a = srd_qp(m, 0, depth);
	*b = srd_qp(m, 1, depth);
	*ah = srd_address(m, 0, false);
	return m;
}

static inline struct sq_wqe *srd_post(struct emu *m, struct emu_qp *q, u32 op, u64 id, u32 off,
				      u32 len, u32 ah, const struct emu_qp *to)
{
	struct sq_wqe *w = emu_post(m, q, op, id, m->c[q->client].mem + off, len);

	w->ah = ah;
	w->remote_qpn = to->qpn;
	w->remote_qkey = SRD_QKEY;
	return w;
}

static inline struct cqe srd_poll(struct emu *m, struct emu_cq *cq, void *data)
{
	struct cqe c = { .status = 255 };

	emu_poll(m, cq, &c, data);
	return c;
}

#endif
