/* SPDX-License-Identifier: MIT */
/**
 * DOC: objects that several processes share: XRC domains and XRC target QPs.
 *
 * Each process that opens one has a reference of its own. The object goes with the last reference;
 * when its creator ends first, another process with a reference becomes its owner (recover.c).
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

u32 ref_target(struct hca *hca, u32 client, u32 handle, enum hca_ref_kind kind)
{
	const struct hca_ref *r = tab_owned(hca, TAB_REF, client, handle);

	return r && r->kind == kind ? r->index + 1 : 0;
}

void ref_use(struct hca *hca, u32 xref, int d)
{
	if (xref && xref <= HCA_MAX_REF)
		hca->ref[xref - 1].uses += (u32)d;
}

struct hca_ref *ref_next(struct hca *hca, enum hca_ref_kind kind, u32 index, u32 not_owner)
{
	u32 i;

	for (i = 1; i < hca->tab[TAB_REF].high; i++) {
		struct hca_ref *r = &hca->ref[i];

		if (r->client && r->client != not_owner && r->kind == kind && r->index == index)
			return r;
	}
	return NULL;
}

int ref_new(struct hca *hca, u32 client, u32 dev, enum hca_ref_kind kind, u32 index, u32 async_chan)
{
	int i = tab_find(hca, TAB_REF, dev, HCA_MAX_REF);

	if (i < 0)
		return i;
	hca->ref[i].kind = kind;
	hca->ref[i].index = index;
	hca->ref[i].async_chan = async_chan;
	hca->ref[i].uses = 0;
	hca->ref[i].xref = 0;
	hca->ref[i].n = 0;
	tab_own(hca, TAB_REF, (u32)i, client, dev);
	return i;
}

/* The domain of a file on a device, or -1. */
static int xrcd_find(const struct hca *hca, const struct cmd_xrcd *c)
{
	u32 i;

	for (i = 1; i < hca->tab[TAB_XRCD].high; i++) {
		const struct hca_xrcd *x = &hca->xrcd[i];

		if (x->client && x->dev == c->dev && x->st_ino == c->st_ino &&
		    x->st_dev == c->st_dev && (x->st_ino || x->st_dev))
			return (int)i;
	}
	return -1;
}

static int xrcd_new(struct hca *hca, u32 client, const struct cmd_xrcd *c)
{
	int i = tab_find(hca, TAB_XRCD, c->dev, lim_of(hca, c->dev)->max_xrcd);
	struct hca_xrcd *x;

	if (i < 0)
		return i;
	x = &hca->xrcd[i];
	x->opens = 0;
	x->refs = 0;
	x->st_dev = c->st_dev;
	x->st_ino = c->st_ino;
	tab_own(hca, TAB_XRCD, (u32)i, client, c->dev);
	return i;
}

/* ibv_open_xrcd(3): O_CREAT and O_EXCL have their meaning of open(2). */
int cmd_open_xrcd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct cmd_xrcd *c = &cmd->xrcd;
	bool named = c->st_dev || c->st_ino;
	int i, ref;

	if (own_dev(hca, client, c->dev) && !(lim_of(hca, c->dev)->caps & CAP_XRC))
		return -EOPNOTSUPP;
	if (!own_dev(hca, client, c->dev) || (c->oflags & ~(u32)(XRCD_CREAT | XRCD_EXCL)))
		return -EINVAL;
	i = named ? xrcd_find(hca, c) : -1;
	if (i < 0 && !(c->oflags & XRCD_CREAT))
		return named ? -EAGAIN : -EINVAL;
	if (i >= 0 && (c->oflags & XRCD_EXCL))
		return -EINVAL;
	if (i < 0)
		i = xrcd_new(hca, client, c);
	if (i < 0)
		return i;
	ref = ref_new(hca, client, c->dev, REF_XRCD, (u32)i, 0);
	if (ref < 0) {
		if (!hca->xrcd[i].opens)
			tab_free(hca, TAB_XRCD, (u32)i);
		return ref;
	}
	hca->xrcd[i].opens++;
	cmd->handle = (u32)ref;
	return 0;
}

/*
 * The owner is always a process that has it open: when that closes it, another one becomes the
 * owner.
 */
static void xrcd_hand_over(struct hca *hca, u32 index)
{
	const struct hca_ref *r = ref_next(hca, REF_XRCD, index, 0);
	struct hca_xrcd *x = &hca->xrcd[index];

	if (!r)
		return;
	hca->client[x->client - 1].n[TAB_XRCD]--;
	hca->client[r->client - 1].n[TAB_XRCD]++;
	store_release(&x->client, r->client);
}

int cmd_close_xrcd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	u32 i = ref_target(hca, client, cmd->handle, REF_XRCD);
	struct hca_xrcd *x;

	if (!i)
		return -EINVAL;
	x = &hca->xrcd[i - 1];
	if (hca->ref[cmd->handle].uses)
		return -EBUSY;
	tab_free(hca, TAB_REF, cmd->handle);
	if (!--x->opens)
		tab_free(hca, TAB_XRCD, i - 1);
	else
		xrcd_hand_over(hca, i - 1);
	return 0;
}

/*
 * ibv_open_qp(3): a target QP that another process has created in a domain that this client has
 * open.
 */
int cmd_open_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	u32 xrcd = ref_target(hca, client, cmd->qp.xrcd - 1, REF_XRCD);
	struct hca_qp *qp = hca_qp_by_num(hca, cmd->qp.qpn);
	int ref;

	if (!xrcd || cmd->qp.async_chan >= SEG_MAX_CHANS)
		return -EINVAL;
	if (!qp || qp->type != QPT_XRC_RECV || qp->xrcd != xrcd || cmd->qp.type != QPT_XRC_RECV)
		return -EINVAL;
	ref = ref_new(hca, client, qp->dev, REF_QP, qp_slot(qp), cmd->qp.async_chan);
	if (ref < 0)
		return ref;
	hca->ref[ref].xref = cmd->qp.xrcd;
	hca->ref[ref].qpn = qp->qpn;
	ref_use(hca, cmd->qp.xrcd, 1);
	cmd->handle = (u32)ref;
	return 0;
}
