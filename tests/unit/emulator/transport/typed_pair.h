/* SPDX-License-Identifier: MIT */
/**
 * DOC: pairs of QPs in RTS of any type, of which the first one can send to the second one.
 */
#ifndef TESTS_UNIT_EMULATOR_TRANSPORT_TYPED_PAIR_H
#define TESTS_UNIT_EMULATOR_TRANSPORT_TYPED_PAIR_H

#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define TYPED_QKEY 0x1234u
#define TYPED_INO  7 /* of the XRC domain's file */

/* @to receives from an SRQ of its own client, which it has as if it were a QP's own. */
static inline void typed_xrc(struct emu *m, u32 a, u32 b, struct emu_conn *o, struct emu_qp *from,
			     struct emu_qp *to)
{
	struct emu_qp srq;

	*from = emu_qp_new(m, a, o, 4);
	o->type = QPT_XRC_RECV;
	o->xrcd = emu_xrcd_open(m, b, TYPED_INO) + 1;
	*to = emu_qp_new(m, b, o, 4);
	emu_pair(m, from, to, o);
	srq = emu_xrc_srq(m, b, o);
	to->srq = true;
	to->srq_index = srq.srq_index;
	to->srqn = srq.srqn;
	to->rq = srq.rq;
	to->rq_stride = srq.rq_stride;
	to->rcq = srq.rcq;
}

/*
 * As emu_connect(). @o->type: RC, UC, UD or XRC_SEND; @ah: of each UD QP for the other one's port
 */
static inline void typed_connect(struct emu *m, u32 a, u32 b, const struct emu_conn *o,
				 struct emu_qp q[2], u32 ah[2])
{
	u32 port_b = emu_port_b(o);
	struct emu_conn c = *o;

	if (o->type == QPT_XRC_SEND) {
		c.srq = false;
		typed_xrc(m, a, b, &c, &q[0], &q[1]);
	} else if (o->type == QPT_UD) {
		q[0] = emu_qp_new(m, a, o, 4);
		q[1] = emu_qp_new(m, b, o, 4);
		emu_start_datagrams(m, &q[0], 1, TYPED_QKEY);
		emu_start_datagrams(m, &q[1], port_b, TYPED_QKEY);
		ah[0] = emu_address(m, a, 1, m->hca->dev[0].port[port_b].gid[0].raw);
		ah[1] = emu_address(m, b, port_b, m->hca->dev[0].port[1].gid[0].raw);
	} else {
		emu_connect(m, a, b, o, &q[0], &q[1]);
	}
}

/* The rest of a request to @to: what datagrams and XRC name. */
static inline void typed_name(struct sq_wqe *w, u32 type, const struct emu_qp *to, u32 ah)
{
	if (type == QPT_XRC_SEND)
		w->remote_qpn = to->srqn;
	if (type != QPT_UD)
		return;
	w->remote_qpn = to->qpn;
	w->remote_qkey = TYPED_QKEY;
	w->ah = ah;
}

#endif
