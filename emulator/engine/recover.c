/* SPDX-License-Identifier: MIT */
/**
 * DOC: death: taking the token back from the dead, and clearing away what was theirs.
 *
 * After a holder's death its last commit is applied again, and everything that a holder keeps in
 * mind only (doorbells taken but not served, a burst on its way, a timer not yet armed) is found
 * again by looking at every QP: one with work is rung, one with unacknowledged packets sends them
 * again. Counts are counted anew then, so they are right when a client is reaped: it takes as long
 * as the tables are in which the client had something, and none of those that it did not use.
 */
#include "emulator/cm/model.h"
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/engine/recount.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/atomic.h"
#include "emulator/transport/capture_ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/flush.h"
#include "emulator/transport/mw.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/srd.h"
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

	atomic_recover(e, qp);
	qp_adopt_redo(e->hca, qp);
	if (qp->state == QPS_RESET)
		qp_clear(e, qp);
	if (qp->state != QPS_RTS && qp->state != QPS_SQD && qp->state != QPS_ERR &&
	    qp->state != QPS_SQE)
		return;
	if (qp->state != QPS_ERR && qp->state != QPS_SQE && s.next_psn != s.una_psn)
		requeue_unacked(e, qp);
	if (qp->type == QPT_SRD)
		srd_recover(e->hca, qp);
	if (qp->deadline || (s.flags & REQ_RNR_WAIT))
		qp_timer_arm(e, qp, qp->deadline ? qp->deadline : e->ops->now(e->ctx));
	engine_ring(e, qp->client - 1, slot);
}

bool engine_steal(struct engine *e, u64 dead)
{
	struct hca *hca = e->hca;
	u32 i;

	if (!__atomic_compare_exchange_n(&hca->token, &dead, e->token, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	budget_reset(e);
	e->kick = true;
	hca->cur_qp = 0;
	hca->steals++;
	cap_ring_recover(hca);
	commit_redo(e);
	hca_recount(hca);
	cm_recover(e);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client)
			recover_qp(e, &hca->qp[i]);
	for (i = 0; i < hca->tab[TAB_WQ].high; i++)
		if (hca->wq[i].client && hca->wq[i].state == WQS_ERR)
			wq_flush(e, &hca->wq[i]);
	return true;
}

/* The table of an object that a reference keeps when its owner dies; TAB_COUNT: it keeps none. */
static enum hca_table ref_table(const struct hca *hca, const struct hca_ref *r)
{
	switch (r->kind) {
	case REF_XRCD:
		return TAB_XRCD;
	case REF_PD:
		return TAB_PD;
	case REF_QP:
		return hca->qp[r->index].type == QPT_XRC_RECV ? TAB_QP : TAB_COUNT;
	default:
		return TAB_COUNT;
	}
}

/* Objects that others have open pass to them, each to the one whose reference comes first. */
static void reap_hand_over(struct hca *hca, u32 client)
{
	const u32 *n = hca->client[client].n;
	u32 owner = client + 1, i;

	for (i = 0; i < hca->tab[TAB_REF].high; i++) {
		struct hca_ref *r = &hca->ref[i];
		enum hca_table t;

		if (!n[TAB_XRCD] && !n[TAB_PD] && !n[TAB_QP])
			break;
		t = r->client && r->client != owner ? ref_table(hca, r) : TAB_COUNT;
		if (t == TAB_COUNT || tab_at(hca, t, r->index)->client != owner)
			continue;
		if (t == TAB_QP)
			qp_adopt(hca, &hca->qp[r->index], r);
		else
			tab_hand_over(hca, t, r->index, r->client - 1);
	}
	dm_hand_over(hca, owner);
}

/* Its windows, and those of others over its regions, are bound no more. */
static void reap_windows(struct hca *hca, u32 client)
{
	u32 owner = client + 1, left = hca->client[client].n[TAB_MR], i;
	bool others = false;

	for (i = 0; left && i < hca->tab[TAB_MR].high; i++) {
		if (hca->mr[i].client != owner)
			continue;
		left--;
		if (hca->mr[i].kind >= MW_1)
			mw_unbind(hca, &hca->mr[i]);
	}
	left = hca->client[client].n[TAB_MR];
	for (i = 0; left && i < hca->tab[TAB_MR].high; i++) {
		if (hca->mr[i].client != owner)
			continue;
		left--;
		store_release(&hca->mr[i].key, 0);
		others |= hca->mr[i].kind < MW_1 && hca->mr[i].windows;
	}
	for (i = 0; others && i < hca->tab[TAB_MR].high; i++)
		if (mw_is_orphan(hca, &hca->mr[i], owner))
			mw_unbind(hca, &hca->mr[i]);
}

static void reap_qps(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	u32 left = hca->client[client].n[TAB_QP], i;

	for (i = 0; left && i < hca->tab[TAB_QP].high; i++) {
		if (hca->qp[i].client != client + 1)
			continue;
		left--;
		rx_give_back(e, &hca->qp[i]);
		obj_refs_add(hca, TAB_QP, i, -1);
		qp_retire(hca, &hca->qp[i]);
	}
}

/* Free all that it has in a table. */
static void reap_table(struct hca *hca, enum hca_table t, u32 client)
{
	u32 left = hca->client[client].n[t], i;

	for (i = 0; left && i < hca->tab[t].high; i++) {
		if (tab_at(hca, t, i)->client != client + 1)
			continue;
		left--;
		obj_refs_add(hca, t, i, -1);
		tab_free(hca, t, i);
	}
}

void engine_reap(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	struct hca_client *c = &hca->client[client];
	u32 t;

	c->state = CLIENT_DYING;
	journal_client_end(e, client);
	cmid_reap(e, client);
	reap_table(hca, TAB_REF, client);
	reap_hand_over(hca, client);
	reap_windows(hca, client);
	reap_qps(e, client);
	for (t = 0; t < TAB_COUNT; t++)
		reap_table(hca, t, client);
	hca_peers_disown(hca, client);
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
			budget_reset(e);
		} while (!qp_flush(e, qp, seg));
	}
	for (i = 0; i < hca->tab[TAB_WQ].high; i++) {
		if (hca->wq[i].client != client + 1 || hca->wq[i].state == WQS_RESET)
			continue;
		hca->wq[i].state = WQS_ERR;
		wq_flush(e, &hca->wq[i]);
	}
}
