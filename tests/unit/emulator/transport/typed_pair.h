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

/* An address handle for a port of the device. */
static inline u32 typed_address(struct emu *m, u32 client, u32 port, u32 peer_port)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_AH };

	cmd.ah.pd = m->c[client].pd;
	cmd.ah.av.is_global = 1;
	cmd.ah.av.port_num = (u8)port;
	memcpy(cmd.ah.av.dgid, m->hca->dev[0].port[peer_port].gid[0].raw, 16);
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, client, &cmd), 0);
	return cmd.handle;
}

static inline void typed_start_ud(struct emu *m, const struct emu_qp *q, u32 port)
{
	struct hca_qp_attr attr = { .state = QPS_INIT, .port_num = port, .qkey = TYPED_QKEY };

	CU_ASSERT_EQUAL_FATAL(
		emu_modify(m, q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY), 0);
	attr.state = QPS_RTR;
	CU_ASSERT_EQUAL_FATAL(emu_modify(m, q, &attr, QPA_STATE), 0);
	attr.state = QPS_RTS;
	CU_ASSERT_EQUAL_FATAL(emu_modify(m, q, &attr, QPA_STATE | QPA_SQ_PSN), 0);
}

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
	u32 port_b = o->port_b ? o->port_b : 1;
	struct emu_conn c = *o;

	if (o->type == QPT_XRC_SEND) {
		c.srq = false;
		typed_xrc(m, a, b, &c, &q[0], &q[1]);
	} else if (o->type == QPT_UD) {
		q[0] = emu_qp_new(m, a, o, 4);
		q[1] = emu_qp_new(m, b, o, 4);
		typed_start_ud(m, &q[0], 1);
		typed_start_ud(m, &q[1], port_b);
		ah[0] = typed_address(m, a, 1, port_b);
		ah[1] = typed_address(m, b, port_b, 1);
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
