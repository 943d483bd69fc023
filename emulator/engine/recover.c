/* SPDX-License-Identifier: MIT */
/**
 * DOC: death: taking the token back from the dead, and clearing away what was theirs.
 *
 * After a holder's death its last commit is applied again, and everything that a holder keeps in
 * mind only (doorbells taken but not served, a burst on its way, a timer not yet armed) is found
 * again by looking at every QP: one with work is rung, one with unacknowledged packets sends them
 * again.
 */
#include "emulator/cm/model.h"
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/capture_ring.h"
#include "emulator/transport/commit.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/flush.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/tag.h"
#include "emulator/verbs/verbs.h"

/*
 * Retransmit packets that were on their way, except those of UC and datagrams: there is no ACK, and
 * such a message may be lost, but must not arrive twice.
 */
static void requeue_unacked(struct engine *e, struct hca_qp *qp)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	struct req_state s = qp->req;

	if (qp_reliable(qp)) {
		req_rewind(&s, qp->mtu);
		commit_req(e, qp, &s, qp->state, NULL, NULL);
	} else if (seg && s.next != s.una) {
		qp->mcast_next = 0;
		req_complete(e, qp, seg, &s);
	}
}

static void recover_qp(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;
	u32 slot = qp_slot(qp);

	resp_atomic_recover(e, qp);
	qp_adopt_redo(e->hca, qp);
	if (qp->state == QPS_RESET)
		qp_clear(e, qp);
	if (qp->state != QPS_RTS && qp->state != QPS_SQD && qp->state != QPS_ERR &&
	    qp->state != QPS_SQE)
		return;
	if (qp->state != QPS_ERR && qp->state != QPS_SQE && s.next_psn != s.una_psn)
		requeue_unacked(e, qp);
	if (qp->deadline || (s.flags & REQ_RNR_WAIT))
		qp_timer_arm(e, qp, qp->deadline ? qp->deadline : e->host->now(e->ctx));
	engine_ring(e, qp->client - 1, slot);
}

/* References of one QP, SRQ, ... to others, counted anew. */
static void recount_queues(struct hca *hca)
{
	u32 i, j;

	for (i = 0; i < hca->tab[TAB_QP].high; i++) {
		const struct hca_qp *qp = &hca->qp[i];

		if (qp->client)
			qp_refs_add(hca, qp, 1);
	}
	for (i = 0; i < hca->tab[TAB_SRQ].high; i++) {
		const struct hca_srq *srq = &hca->srq[i];

		if (!srq->client)
			continue;
		hca->pd[srq->pd].refs++;
		if (srq->cq)
			hca->cq[srq->cq - 1].refs++;
		if (srq->xrcd)
			hca->xrcd[srq->xrcd - 1].refs++;
		ref_use(hca, srq->xref, 1);
	}
	for (i = 0; i < hca->tab[TAB_WQ].high; i++) {
		if (!hca->wq[i].client)
			continue;
		hca->pd[hca->wq[i].pd].refs++;
		hca->cq[hca->wq[i].cq].refs++;
	}
	for (i = 0; i < hca->tab[TAB_IND].high; i++)
		for (j = 0; hca->ind[i].client && j < hca->ind[i].n; j++)
			hca->wq[hca->ind[i].wq[j]].refs++;
}

static void recount_memory(struct hca *hca)
{
	u32 i;

	for (i = 0; i < hca->tab[TAB_MR].high; i++) {
		const struct hca_mr *mr = &hca->mr[i];

		if (!mr->client)
			continue;
		if (mr_holds_pd(mr))
			hca->pd[mr->pd].refs++;
		if (mr->dm)
			hca->dm[mr->dm - 1].refs++;
		if (mr->kind < MW_1)
			continue;
		hca->dev[mr->dev].n_mw++;
		if (!mr->key)
			continue;
		hca->mr[mr->mr - 1].windows++;
		if (mr->kind == MW_2 && hca_qp_by_num(hca, mr->qpn))
			hca_qp_by_num(hca, mr->qpn)->n_mw++;
	}
	for (i = 0; i < hca->tab[TAB_AH].high; i++)
		if (hca->ah[i].client)
			hca->pd[hca->ah[i].pd].refs++;
	for (i = 0; i < hca->tab[TAB_FLOW].high; i++)
		if (hca->flow[i].client && hca->flow[i].counters)
			hca->ctr[hca->flow[i].counters - 1].refs++;
	for (i = 0; i < hca->tab[TAB_REF].high; i++) {
		const struct hca_ref *r = &hca->ref[i];

		if (r->client)
			ref_use(hca, r->xref, 1);
		if (r->client && r->kind == REF_XRCD)
			hca->xrcd[r->index].opens++;
	}
}

/* Counts are the one thing that a killed command can leave wrong. */
static void recount_all(struct hca *hca)
{
	u32 t, i;

	for (t = 0; t < TAB_COUNT; t++)
		tab_recount(hca, t);
	for (i = 0; i < hca->tab[TAB_PD].high; i++)
		hca->pd[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_MR].high; i++)
		hca->mr[i].windows = 0;
	for (i = 0; i < hca->tab[TAB_DM].high; i++)
		hca->dm[i].refs = 0;
	for (i = 0; i < hca->n_devs; i++)
		hca->dev[i].n_mw = 0;
	for (i = 0; i < hca->tab[TAB_CQ].high; i++)
		hca->cq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_SRQ].high; i++)
		hca->srq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_XRCD].high; i++)
		hca->xrcd[i].opens = hca->xrcd[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_WQ].high; i++)
		hca->wq[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_IND].high; i++)
		hca->ind[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_CTR].high; i++)
		hca->ctr[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		hca->qp[i].n_mw = 0;
	for (i = 0; i < hca->tab[TAB_REF].high; i++)
		hca->ref[i].uses = 0;
	tm_recount(hca);
	recount_queues(hca);
	recount_memory(hca);
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
	cap_ring_recover(hca);
	commit_redo(e);
	recount_all(hca);
	cm_recover(e);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client)
			recover_qp(e, &hca->qp[i]);
	for (i = 0; i < hca->tab[TAB_WQ].high; i++)
		if (hca->wq[i].client && hca->wq[i].state == WQS_ERR)
			wq_flush(e, &hca->wq[i]);
	return true;
}

/* Objects that other clients have open pass to them. */
static void reap_hand_over(struct hca *hca, u32 owner)
{
	struct hca_ref *r;
	u32 i;

	for (i = 0; i < hca->tab[TAB_REF].high; i++)
		if (hca->ref[i].client == owner)
			tab_free(hca, TAB_REF, i);
	for (i = 0; i < hca->tab[TAB_XRCD].high; i++) {
		if (hca->xrcd[i].client != owner)
			continue;
		r = ref_next(hca, REF_XRCD, i, owner);
		if (r)
			store_release(&hca->xrcd[i].client, r->client);
	}
	for (i = 0; i < hca->tab[TAB_PD].high; i++) {
		if (hca->pd[i].client != owner)
			continue;
		r = ref_next(hca, REF_PD, i, owner);
		if (r)
			store_release(&hca->pd[i].client, r->client);
	}
	dm_hand_over(hca, owner);
	for (i = 0; i < hca->tab[TAB_QP].high; i++) {
		if (hca->qp[i].client != owner || hca->qp[i].type != QPT_XRC_RECV)
			continue;
		r = ref_next(hca, REF_QP, i, owner);
		if (r)
			qp_adopt(hca, &hca->qp[i], r);
	}
}

void engine_reap(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	struct hca_client *c = &hca->client[client];
	u32 owner = client + 1;
	u32 i, t;

	c->state = CLIENT_DYING;
	journal_client_end(e, client);
	cmid_reap(e, client);
	reap_hand_over(hca, owner);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client == owner) {
			rx_give_back(e, &hca->qp[i]);
			qp_retire(hca, &hca->qp[i]);
		}
	for (i = 0; i < hca->tab[TAB_MR].high; i++)
		if (hca->mr[i].client == owner || mw_is_orphan(hca, &hca->mr[i], owner))
			store_release(&hca->mr[i].key, 0);
	for (t = 0; t < TAB_COUNT; t++)
		for (i = 0; i < hca->tab[t].high; i++)
			if (tab_at(hca, t, i)->client == owner)
				store_release(&tab_at(hca, t, i)->client, 0);
	recount_all(hca);
	/* Other clients change bits of this word without the token. */
	fetch_and(&hca->pending_clients[client / 64], ~BIT64(client % 64));
	store_release(&c->state, CLIENT_FREE);
	hca->n_clients--;
}

void engine_flush_client(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	u32 i;

	for (i = 0; i < hca->tab[TAB_QP].high; i++) {
		struct hca_qp *qp = &hca->qp[i];
		struct seg_hdr *seg;

		if (qp->client != client + 1 || qp->state < QPS_INIT)
			continue;
		seg = seg_of(e, qp->client);
		if (!seg)
			continue;
		store_relaxed(&qp->state, QPS_ERR);
		qp_timer_arm(e, qp, 0);
		do {
			e->budget_bytes = BUDGET_BYTES;
			e->budget_wrs = BUDGET_WRS;
		} while (!qp_flush(e, qp, seg));
	}
	for (i = 0; i < hca->tab[TAB_WQ].high; i++) {
		if (hca->wq[i].client != client + 1 || hca->wq[i].state == WQS_RESET)
			continue;
		hca->wq[i].state = WQS_ERR;
		wq_flush(e, &hca->wq[i]);
	}
}
