/* SPDX-License-Identifier: MIT */
/* Datagrams and frames: which QPs get them. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#define QKEY_CONTROLLED 0x80000000u

static bool receives(const struct vobj *o, enum ibv_qp_type type)
{
	return o->live && o->qp.type == type && o->qp.state >= IBV_QPS_RTR &&
	       o->qp.state <= IBV_QPS_SQE;
}

/* The receive is good for it, or wrong, which is its owner's error. False: it gets nothing. */
static bool accepts(const struct vrx *rx, uint32_t len)
{
	struct vwc wc = { .status = IBV_WC_LOC_PROT_ERR };
	int status;

	if (rx->q->done == rx->q->posted)
		return false;
	status = vmodel_fits(rx, len);
	if (status == IBV_WC_LOC_PROT_ERR) {
		vmodel_received(rx, &wc, true);
		vmodel_error(rx->qp);
	}
	return !status;
}

void vmodel_ud(struct vobj *a, const struct vwr *w)
{
	/* A key with the top bit set asks for the QP's own (IBTA 10.2.5). */
	uint32_t qkey = w->qkey & QKEY_CONTROLLED ? a->qp.qkey : w->qkey;
	struct vwc wc = {
		.opcode = IBV_WC_RECV,
		.len = VGRH + w->len,
		.flags = IBV_WC_GRH,
		.src_qp = a->qp.qpn,
	};

	vmodel_sent(a, IBV_WC_SUCCESS);
	if (w->op == IBV_WR_SEND_WITH_IMM) {
		wc.flags |= IBV_WC_WITH_IMM;
		wc.imm = w->imm;
	}
	for (int c = wd->first; c < wd->first + wd->actors; c++)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *b = &wd->obj[c][V_QP][i];
			struct vrx rx;

			if (!receives(b, IBV_QPT_UD) || b->qp.qpn != w->to || b->qp.qkey != qkey)
				continue;
			rx = vmodel_rx(b, NULL);
			if (!accepts(&rx, VGRH + w->len))
				return;
			vmodel_moves(a, w, &rx, VGRH);
			vmodel_received(&rx, &wc, w->flags & IBV_SEND_SOLICITED);
			return;
		}
}

static bool steers_to(const struct vobj *qp, uint32_t mac)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *f = &wd->obj[qp->actor][V_FLOW][i];

		if (f->live && f->uses[U_PD] == qp && f->flow.mac == mac)
			return true;
	}
	return false;
}

/* All who have a rule for the address get a copy, whoever sends. */
void vmodel_raw(struct vobj *a, const struct vwr *w)
{
	struct vwc wc = { .opcode = IBV_WC_RECV, .len = w->len };

	vmodel_sent(a, IBV_WC_SUCCESS);
	for (int c = wd->first; c < wd->first + wd->actors; c++)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *b = &wd->obj[c][V_QP][i];
			struct vrx rx;

			if (!receives(b, IBV_QPT_RAW_PACKET) || !steers_to(b, w->mac))
				continue;
			rx = vmodel_rx(b, NULL);
			if (!accepts(&rx, w->len))
				continue;
			vmodel_moves(a, w, &rx, 0);
			vmodel_received(&rx, &wc, false);
		}
}
