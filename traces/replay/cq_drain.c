/* SPDX-License-Identifier: MIT */
/*
 * Takes completions off CQs into their pools: by ibv_poll_cq() or, for extended CQs, by
 * ibv_start_poll() to ibv_end_poll() with the fields that the CQ was created with.
 */
#include "traces/replay/objects.h"
#include "traces/replay/poll.h"
#include "traces/replay/replay.h"
#include "traces/replay/unreceived.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void rp_cq_keep(struct rp_prog *g, struct rp_cq *cq, const struct ibv_wc *wc)
{
	struct rp_cqe *e = g->free_cqe;

	if (e)
		g->free_cqe = e->next;
	else
		e = malloc(sizeof(*e));
	if (!e)
		return;
	e->wc = *wc;
	e->qp = rp_qp_find(g, wc->qp_num);
	e->reported = false;
	e->next = NULL;
	rp_unreceived_note(g, e->qp, wc);
	*cq->last = e;
	cq->last = &e->next;
}

static void rp_cqex_read_wc(const struct rp_cq *cq, struct ibv_cq_ex *ex, struct ibv_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = ex->wr_id;
	wc->status = ex->status;
	if (cq->ex_flags & IBV_WC_EX_WITH_QP_NUM)
		wc->qp_num = ibv_wc_read_qp_num(ex);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	wc->opcode = ibv_wc_read_opcode(ex);
	wc->wc_flags = ibv_wc_read_wc_flags(ex);
	if (cq->ex_flags & IBV_WC_EX_WITH_BYTE_LEN)
		wc->byte_len = ibv_wc_read_byte_len(ex);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(ex);
	else if (cq->ex_flags & IBV_WC_EX_WITH_IMM && wc->wc_flags & IBV_WC_WITH_IMM)
		wc->imm_data = ibv_wc_read_imm_data(ex);
	if (cq->ex_flags & IBV_WC_EX_WITH_SRC_QP)
		wc->src_qp = ibv_wc_read_src_qp(ex);
}

static int rp_cqex_drain(struct rp_prog *g, struct rp_cq *cq, int n)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc;
	int ret = ibv_start_poll(ex, &attr);

	if (ret == ENOENT)
		return 0;
	if (ret)
		return -ret;
	do {
		rp_cqex_read_wc(cq, ex, &wc);
		rp_cq_keep(g, cq, &wc);
	} while (--n > 0 && !(ret = ibv_next_poll(ex)));
	ibv_end_poll(ex);
	return ret == ENOENT ? 0 : -ret;
}

int rp_cq_drain(struct rp_prog *g, struct rp_cq *cq, int n)
{
	struct ibv_wc wc;
	int got;

	if (cq->ex && cq->by_start)
		return rp_cqex_drain(g, cq, n);
	while (n--) {
		memset(&wc, 0, sizeof(wc));
		got = ibv_poll_cq(cq->cq, 1, &wc);
		if (got <= 0)
			return got;
		rp_cq_keep(g, cq, &wc);
	}
	return 0;
}

int rp_cqex_refused(struct rp_cq *cq)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq->cq;
	struct ibv_poll_cq_attr attr = { .comp_mask = 1u << 31 };
	int ret = ibv_start_poll(ex, &attr);

	if (!ret)
		ibv_end_poll(ex);
	return -ret;
}
