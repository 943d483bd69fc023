/* SPDX-License-Identifier: MIT */
/**
 * DOC: flows of SRD: which packets of one QP have arrived at another one.
 *
 * A packet may arrive twice: its ACK was lost, or a link has duplicated it. A flow keeps a bit for
 * each of the latest SRD_PSNS packets. The sender never has more than that from its oldest packet
 * under way to the newest, so that a packet below them is a duplicate.
 *
 * Within a fabric one entry serves both ends. An entry is written before it is marked used, and
 * found by probing until the first entry that was never used: a holder that dies leaves the table
 * as it was, or with one entry more.
 */
#include "emulator/queue/srd_flow.h"

#include "emulator/qp.h"

#define FLOW_PROBES 256u
#define SRC_QPN	    IB_QPN_MASK

static u32 flow_hash(u32 src_dev, u32 src, u32 dst_dev, u32 dst)
{
	u64 a = (u64)src_dev << 32 | src, b = (u64)dst_dev << 32 | dst;

	return (u32)mix64(a ^ mix64(b)) % HCA_MAX_SRD_FLOW;
}

static bool flow_is(const struct srd_flow_key *k, u32 src_dev, u32 src, u32 dst_dev, u32 dst)
{
	return k->use == FLOW_USED && k->src_dev == src_dev && k->src == src &&
	       k->dst_dev == dst_dev && k->dst == dst;
}

static void flow_init(struct hca *hca, u32 i, u32 src_dev, u32 src, u32 dst_dev, u32 dst)
{
	struct srd_flow_key *k = &hca->srd_key[i];

	memset(&hca->srd_seen[i], 0, sizeof(hca->srd_seen[i]));
	k->src_dev = src_dev;
	k->src = src;
	k->dst_dev = dst_dev;
	k->dst = dst;
	k->next_psn = 0;
	k->high = 0;
	store_between(&k->use, FLOW_USED);
	if (hca->srd_high <= i)
		hca->srd_high = i + 1;
}

u32 srd_flow_get(struct hca *hca, u32 src_dev, u32 src, u32 dst_dev, u32 dst)
{
	u32 home = flow_hash(src_dev, src, dst_dev, dst), i, n, free = HCA_MAX_SRD_FLOW;

	for (n = 0; n < FLOW_PROBES; n++) {
		i = (home + n) % HCA_MAX_SRD_FLOW;
		if (flow_is(&hca->srd_key[i], src_dev, src, dst_dev, dst))
			return i + 1;
		if (hca->srd_key[i].use != FLOW_USED && free == HCA_MAX_SRD_FLOW)
			free = i;
		if (hca->srd_key[i].use == FLOW_FREE)
			break;
	}
	if (free == HCA_MAX_SRD_FLOW)
		return 0;
	flow_init(hca, free, src_dev, src, dst_dev, dst);
	return free + 1;
}

bool srd_flow_has(const struct hca *hca, u32 flow, u32 psn)
{
	const struct srd_flow_key *k = &hca->srd_key[flow - 1];
	s32 below = psn_diff(k->high, psn);

	if (below <= 0)
		return false;
	if (below > (s32)SRD_PSNS)
		return true;
	return hca->srd_seen[flow - 1].bits[psn % SRD_PSNS / 64] & BIT64(psn % 64);
}

void srd_flow_mark(struct hca *hca, u32 flow, u32 psn)
{
	struct srd_flow_key *k = &hca->srd_key[flow - 1];
	u64 *bits = hca->srd_seen[flow - 1].bits;
	s32 above = psn_diff(psn, k->high), i;

	if (above < -(s32)SRD_PSNS)
		return;
	if (above >= (s32)SRD_PSNS)
		memset(bits, 0, sizeof(hca->srd_seen[flow - 1].bits));
	for (i = 0; i < above && above < (s32)SRD_PSNS; i++)
		bits[psn_add(k->high, (u32)i) % SRD_PSNS / 64] &=
			~BIT64(psn_add(k->high, (u32)i) % 64);
	bits[psn % SRD_PSNS / 64] |= BIT64(psn % 64);
	if (above >= 0)
		store_between(&k->high, psn_add(psn, 1));
}

/* A window whose QP is gone, or never came to have it, is free: a holder may have died. */
static bool window_is_free(const struct hca *hca, u32 i)
{
	const struct hca_qp *qp = hca->srd_qp[i] ? &hca->qp[hca->srd_qp[i] - 1] : NULL;

	return !qp || !qp->client || qp->srd != i + 1;
}

u32 srd_window_get(struct hca *hca, const struct hca_qp *qp)
{
	u32 i;

	for (i = 0; i < HCA_MAX_SRD; i++)
		if (window_is_free(hca, i)) {
			hca->srd_qp[i] = qp_slot(qp) + 1;
			hca->srd[i].ready = 0;
			return i + 1;
		}
	return 0;
}

/* A search ends at an entry that was never used: restore that where nothing follows. */
static void flow_free(struct hca *hca, u32 i)
{
	bool end = hca->srd_key[(i + 1) % HCA_MAX_SRD_FLOW].use == FLOW_FREE;

	store_between(&hca->srd_key[i].use, end ? FLOW_FREE : FLOW_GONE);
	for (; end; i--) {
		if (hca->srd_key[i].use == FLOW_GONE)
			hca->srd_key[i].use = FLOW_FREE;
		if (!i || hca->srd_key[i - 1].use != FLOW_GONE)
			return;
	}
}

void srd_forget(struct hca *hca, const struct hca_qp *qp)
{
	u32 i;

	if (qp->srd)
		hca->srd[qp->srd - 1].ready = 0;
	for (i = 0; i < hca->srd_high; i++) {
		const struct srd_flow_key *k = &hca->srd_key[i];

		if (k->use != FLOW_USED)
			continue;
		/*
		 * A live sender keeps its PSNs, and with them what has arrived: its packets may
		 * still be under way.
		 */
		if ((k->src_dev == qp->dev && (k->src & SRC_QPN) == qp->qpn) ||
		    (k->dst_dev == qp->dev && k->dst == qp->qpn &&
		     (hca->dev[k->src_dev].member || !hca_qp_by_num(hca, k->src & SRC_QPN))))
			flow_free(hca, i);
	}
}
