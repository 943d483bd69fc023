/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tables of objects: finding a free slot, owning it, giving it back.
 *
 * A slot belongs to somebody from the moment its @client is set, which is the last store of its
 * creation: a client killed half way leaves a free slot.
 */
#include "emulator/tab.h"

struct tab_desc {
	size_t off;
	size_t stride;
	u32 first;
	u32 max;
};

#define TAB(field, first)                                                                          \
	{                                                                                          \
		offsetof(struct hca, field), sizeof(((struct hca *)0)->field[0]), first,           \
			ARRAY_SIZE(((struct hca *)0)->field)                                       \
	}

static const struct tab_desc tabs[TAB_COUNT] = {
	[TAB_PD] = TAB(pd, 1),	      [TAB_MR] = TAB(mr, 1),	 [TAB_CQ] = TAB(cq, 1),
	[TAB_QP] = TAB(qp, FIRST_QP), [TAB_SRQ] = TAB(srq, 1),	 [TAB_AH] = TAB(ah, 1),
	[TAB_XRCD] = TAB(xrcd, 1),    [TAB_REF] = TAB(ref, 1),	 [TAB_MCAST] = TAB(mcast, 0),
	[TAB_WQ] = TAB(wq, 1),	      [TAB_IND] = TAB(ind, 1),	 [TAB_FLOW] = TAB(flow, 1),
	[TAB_CTR] = TAB(ctr, 1),      [TAB_TAG] = TAB(tag, 1),	 [TAB_DM] = TAB(dm, 1),
	[TAB_CMCH] = TAB(cmch, 0),    [TAB_CMID] = TAB(cmid, 1), [TAB_CMEV] = TAB(cmev, 0),
	[TAB_CMMC] = TAB(cmmc, 0),
};

_Static_assert(offsetof(struct hca_qp, dev) == offsetof(struct hca_obj, dev), "struct hca_obj");
_Static_assert(offsetof(struct hca_flow, dev) == offsetof(struct hca_obj, dev), "struct hca_obj");

struct hca_obj *tab_at(struct hca *hca, enum hca_table t, u32 i)
{
	return (struct hca_obj *)((char *)hca + tabs[t].off + i * tabs[t].stride);
}

u32 tab_max(enum hca_table t)
{
	return tabs[t].max;
}

void tab_init(struct hca *hca)
{
	u32 t;

	for (t = 0; t < TAB_COUNT; t++)
		hca->tab[t].cursor = tabs[t].first;
}

/*
 * Round a window of twice what is in use, so that big tables stay sparse and scans short.
 */
static u32 tab_next_slot(const struct tab_desc *d, u32 i, u32 in_use)
{
	u32 window = min_u32(d->max, max_u32(1024, 2 * in_use));

	return i + 1 >= window ? d->first : i + 1;
}

static int tab_check_limit(const struct hca *hca, enum hca_table t, u32 dev, u32 limit)
{
	if (dev >= hca->n_devs)
		return -EINVAL;
	if (!limit)
		return -EOPNOTSUPP;
	return hca->dev[dev].n[t] >= limit ? -ENOMEM : 0;
}

bool tab_has_share(const struct hca *hca, enum hca_table t, u32 client)
{
	return likely(!hca->isolated) || hca->client[client].n[t] < tabs[t].max - hca->tab[t].n;
}

int tab_want(struct hca *hca, enum hca_table t, u32 dev, u32 limit, u32 i)
{
	int ret = tab_check_limit(hca, t, dev, limit);

	if (ret)
		return ret;
	if (i < tabs[t].first || i >= tabs[t].max)
		return -EINVAL;
	if (tab_at(hca, t, i)->client)
		return -EBUSY;
	hca->tab[t].high = max_u32(hca->tab[t].high, i + 1);
	return (int)i;
}

int tab_find(struct hca *hca, enum hca_table t, u32 dev, u32 limit)
{
	const struct tab_desc *d = &tabs[t];
	struct hca_tab *tab = &hca->tab[t];
	u32 i, n;
	int ret = tab_check_limit(hca, t, dev, limit);

	if (ret)
		return ret;
	for (i = tab->cursor, n = 0; n < d->max && tab_at(hca, t, i)->client; n++)
		i = tab_next_slot(d, i, tab->n);
	if (n == d->max)
		return -ENOMEM;
	tab->cursor = tab_next_slot(d, i, tab->n);
	tab->high = max_u32(tab->high, i + 1);
	return (int)i;
}

void tab_own(struct hca *hca, enum hca_table t, u32 i, u32 client, u32 dev)
{
	struct hca_obj *o = tab_at(hca, t, i);

	o->dev = dev;
	store_release(&o->client, client + 1);
	hca->tab[t].n++;
	hca->client[client].n[t]++;
	hca->dev[dev].n[t]++;
}

void tab_hand_over(struct hca *hca, enum hca_table t, u32 i, u32 client)
{
	struct hca_obj *o = tab_at(hca, t, i);

	hca->client[o->client - 1].n[t]--;
	hca->client[client].n[t]++;
	store_release(&o->client, client + 1);
}

void tab_free(struct hca *hca, enum hca_table t, u32 i)
{
	struct hca_obj *o = tab_at(hca, t, i);
	u32 client = o->client - 1;

	store_release(&o->client, 0);
	hca->tab[t].n--;
	hca->client[client].n[t]--;
	hca->dev[o->dev].n[t]--;
}

void *tab_owned(struct hca *hca, enum hca_table t, u32 client, u32 i)
{
	struct hca_obj *o;

	if (i < tabs[t].first || i >= tabs[t].max)
		return NULL;
	o = tab_at(hca, t, i);
	return o->client == client + 1 ? o : NULL;
}

void tab_recount(struct hca *hca, enum hca_table t)
{
	struct hca_obj *o;
	u32 i;

	hca->tab[t].n = 0;
	for (i = 0; i < ARRAY_SIZE(hca->client); i++)
		hca->client[i].n[t] = 0;
	for (i = 0; i < hca->n_devs; i++)
		hca->dev[i].n[t] = 0;
	for (i = tabs[t].first; i < hca->tab[t].high; i++) {
		o = tab_at(hca, t, i);
		if (!o->client)
			continue;
		hca->tab[t].n++;
		hca->client[o->client - 1].n[t]++;
		hca->dev[o->dev].n[t]++;
	}
}
