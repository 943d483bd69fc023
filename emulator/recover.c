/* SPDX-License-Identifier: MIT */
/**
 * DOC: death: taking the token back from the dead, and clearing away what was theirs.
 *
 * After a holder's death its last commit is applied again, and everything that a holder keeps in
 * mind only (doorbells taken but not served, a burst on its way, a timer not yet armed) is found
 * again by looking at every QP: one with work is rung, one with unacknowledged packets sends them
 * again.
 */
#include "emulator/model.h"

static void rescan_qp(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;
	u32 slot = qp_slot(e->hca, qp);

	resp_atomic_recover(e, qp);
	if (qp->state != QPS_RTS && qp->state != QPS_SQD && qp->state != QPS_ERR)
		return;
	if (qp->state != QPS_ERR && s.next_psn != s.una_psn) {
		req_rewind(&s, qp->mtu);
		commit_req(e, qp, &s, qp->state, NULL, NULL);
	}
	if (qp->deadline || (s.flags & REQ_RNR_WAIT))
		timer_arm(e, qp, qp->deadline ? qp->deadline : e->host->now(e->ctx));
	engine_ring(e, qp->client - 1, slot);
}

/* The counts are the one thing a killed command can leave wrong. */
static void recount(struct hca *hca)
{
	u32 i;

	hca->n_qp = hca->n_cq = hca->n_pd = hca->n_mr = 0;
	for (i = 0; i < hca->qp_high; i++)
		hca->n_qp += !!hca->qp[i].client;
	for (i = 0; i < hca->cq_high; i++)
		hca->n_cq += !!hca->cq[i].client;
	for (i = 0; i < hca->pd_high; i++)
		hca->n_pd += !!hca->pd[i].client;
	for (i = 0; i < hca->mr_high; i++)
		hca->n_mr += !!hca->mr[i].client;
}

bool engine_steal(struct engine *e, u64 dead)
{
	struct hca *hca = e->hca;
	u32 i;

	if (!__atomic_compare_exchange_n(&hca->token, &dead, e->token, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	e->budget_bytes = BUDGET_BYTES;
	e->budget_wrs = BUDGET_WRS;
	e->kick = true;
	hca->cur_qp = 0;
	hca->steals++;
	commit_redo(e);
	recount(hca);
	for (i = 0; i < hca->qp_high; i++)
		if (hca->qp[i].client)
			rescan_qp(e, &hca->qp[i]);
	return true;
}

void engine_reap(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	struct hca_client *c = &hca->client[client];
	u32 owner = client + 1;
	u32 i;

	c->state = CLIENT_DYING;
	for (i = 0; i < hca->qp_high; i++)
		if (hca->qp[i].client == owner)
			qp_retire(hca, &hca->qp[i]);
	for (i = 0; i < hca->mr_high; i++) {
		if (hca->mr[i].client != owner)
			continue;
		hca->mr[i].key = 0;
		store_release(&hca->mr[i].client, 0);
	}
	for (i = 0; i < hca->cq_high; i++)
		if (hca->cq[i].client == owner)
			store_release(&hca->cq[i].client, 0);
	for (i = 0; i < hca->pd_high; i++)
		if (hca->pd[i].client == owner)
			store_release(&hca->pd[i].client, 0);
	recount(hca);
	/* Its neighbours in the word ring without the token. */
	fetch_and(&hca->pending_clients[client / 64], ~BIT64(client % 64));
	c->n_qp = c->n_cq = c->n_mr = c->n_pd = 0;
	store_release(&c->state, CLIENT_FREE);
	hca->n_clients--;
}

void engine_fatal(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	u32 i;

	for (i = 0; i < hca->qp_high; i++) {
		struct hca_qp *qp = &hca->qp[i];
		struct seg_hdr *seg;

		if (qp->client != client + 1 || qp->state < QPS_INIT)
			continue;
		seg = seg_of(e, qp->client);
		if (!seg)
			continue;
		store_relaxed(&qp->state, QPS_ERR);
		timer_arm(e, qp, 0);
		do {
			e->budget_bytes = BUDGET_BYTES;
			e->budget_wrs = BUDGET_WRS;
		} while (!qp_flush(e, qp, seg));
	}
}
