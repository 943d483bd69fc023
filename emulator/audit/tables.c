/* SPDX-License-Identifier: MIT */
/* The audit of HCA memory: tables and counts. See audit.h. */
#include "emulator/audit/audit.h"
#include "emulator/tab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const tab_names[TAB_COUNT] = {
	[TAB_PD] = "PD",
	[TAB_MR] = "MR",
	[TAB_CQ] = "CQ",
	[TAB_QP] = "QP",
	[TAB_SRQ] = "SRQ",
	[TAB_AH] = "AH",
	[TAB_XRCD] = "XRCD",
	[TAB_REF] = "reference",
	[TAB_MCAST] = "membership",
	[TAB_WQ] = "WQ",
	[TAB_IND] = "table of WQs",
	[TAB_FLOW] = "flow",
	[TAB_CTR] = "counters",
	[TAB_TAG] = "tag",
	[TAB_DM] = "device memory",
	[TAB_CMCH] = "channel of connections",
	[TAB_CMID] = "identifier",
	[TAB_CMEV] = "event of connections",
	[TAB_CMMC] = "group",
};

int audit_fail(const struct audit *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->why, a->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* tab_at() returns a writable object; the audit only reads. */
static const struct hca_obj *audit_obj(const struct audit *a, enum hca_table t, u32 i)
{
	return tab_at((struct hca *)(uintptr_t)a->hca, t, i);
}

u32 audit_owner(const struct audit *a, enum hca_table t, u32 i)
{
	return i < a->hca->tab[t].high ? audit_obj(a, t, i)->client : 0;
}

bool audit_is_live(const struct audit *a, enum hca_table t, u32 i)
{
	return audit_owner(a, t, i);
}

bool audit_use(struct audit *a, enum hca_table t, u32 i, u32 owner)
{
	if (!owner || audit_owner(a, t, i) != owner)
		return false;
	a->refs[t][i]++;
	return true;
}

void audit_use_xref(struct audit *a, u32 xref)
{
	if (xref && xref <= a->hca->tab[TAB_REF].high)
		a->refs[TAB_REF][xref - 1]++;
}

/* Whether @owner has a struct hca_ref of that kind and index. */
static bool audit_has_ref(const struct audit *a, u32 owner, enum hca_ref_kind kind, u32 index)
{
	u32 i;

	for (i = 0; i < a->hca->tab[TAB_REF].high; i++) {
		const struct hca_ref *r = &a->hca->ref[i];

		if (r->client == owner && r->kind == kind && r->index == index)
			return true;
	}
	return false;
}

bool audit_use_pd(struct audit *a, u32 i, u32 owner)
{
	if (!i || !audit_is_live(a, TAB_PD, i))
		return false;
	if (audit_owner(a, TAB_PD, i) != owner && !audit_has_ref(a, owner, REF_PD, i))
		return false;
	a->refs[TAB_PD][i]++;
	return true;
}

static int audit_hca(const struct audit *a)
{
	const struct hca *hca = a->hca;
	const struct hca_commit *c = &hca->commit;
	u32 t;

	MUST(hca->magic == HCA_MAGIC && hca->version == HCA_VERSION && hca->size == sizeof(*hca),
	     "header: magic %#x version %u", hca->magic, hca->version);
	MUST(!c->valid && !c->event_cq, "commit: pending between steps: valid %u, event of CQ %u",
	     c->valid, c->event_cq);
	MUST(!hca->cur_qp, "QP %u is marked as running", hca->cur_qp - 1);
	MUST(hca->n_devs <= HCA_MAX_DEVS, "%u devices", hca->n_devs);
	MUST(hca->serve_from < HCA_MAX_CLIENTS, "client %u is the next to serve", hca->serve_from);
	for (t = 0; t < TAB_COUNT; t++)
		MUST(hca->tab[t].cursor < tab_max(t) && hca->tab[t].high <= tab_max(t) &&
			     hca->tab[t].n <= hca->tab[t].high,
		     "%s: %u objects, next %u, high mark %u", tab_names[t], hca->tab[t].n,
		     hca->tab[t].cursor, hca->tab[t].high);
	return 0;
}

static int (*const checks[TAB_COUNT])(struct audit *a, u32 i) = {
	[TAB_MR] = audit_mr,	 [TAB_CQ] = audit_cq,	    [TAB_QP] = audit_qp,
	[TAB_SRQ] = audit_srq,	 [TAB_AH] = audit_ah,	    [TAB_XRCD] = audit_xrcd,
	[TAB_REF] = audit_ref,	 [TAB_MCAST] = audit_mcast, [TAB_WQ] = audit_wq,
	[TAB_IND] = audit_ind,	 [TAB_FLOW] = audit_flow,   [TAB_TAG] = audit_tag,
	[TAB_DM] = audit_dm,	 [TAB_CMCH] = audit_cmch,   [TAB_CMID] = audit_cmid,
	[TAB_CMEV] = audit_cmev, [TAB_CMMC] = audit_cmmc,
};

static int audit_entry(struct audit *a, enum hca_table t, u32 i)
{
	const struct hca_obj *o = audit_obj(a, t, i);

	bool left = o->client == HCA_ESTATE + 1;

	/* A client that has died owns its objects until engine_reap() takes them away. */
	MUST(left ? t == TAB_CMID && a->hca->cmid[i].state == CM_DESTROYING
		  : o->client <= a->clients && a->hca->client[o->client - 1].state != CLIENT_FREE,
	     "%s %u: its owner, client %u, is gone", tab_names[t], i, o->client - 1);
	MUST(o->dev < a->hca->n_devs, "%s %u: device %u", tab_names[t], i, o->dev);
	if (!left)
		a->client_n[o->client - 1][t]++;
	a->dev_n[o->dev][t]++;
	a->n[t]++;
	return checks[t] ? checks[t](a, i) : 0;
}

static int audit_ref_count(const struct audit *a, enum hca_table t, u32 i, u32 said, u32 found)
{
	MUST(said == found, "%s %u: %u references, %u referrers", tab_names[t], i, said, found);
	return 0;
}

/* Compare the objects' reference counts with the referrers found. */
static int audit_refs(const struct audit *a)
{
	const struct hca *hca = a->hca;
	int ret = 0;
	u32 i;

#define REFS(t, field, count)                                                                      \
	for (i = 0; !ret && i < hca->tab[t].high; i++)                                             \
		if (hca->field[i].client)                                                          \
	ret = audit_ref_count(a, t, i, hca->field[i].count, a->refs[t][i])

	REFS(TAB_PD, pd, refs);
	REFS(TAB_CQ, cq, refs);
	REFS(TAB_SRQ, srq, refs);
	REFS(TAB_XRCD, xrcd, refs);
	REFS(TAB_WQ, wq, refs);
	REFS(TAB_IND, ind, refs);
	REFS(TAB_CTR, ctr, refs);
	REFS(TAB_REF, ref, uses);
	REFS(TAB_MR, mr, windows);
	REFS(TAB_QP, qp, n_mw);
	REFS(TAB_DM, dm, refs);
	REFS(TAB_CMCH, cmch, refs);
	REFS(TAB_CMID, cmid, waiting);
#undef REFS
	for (i = 0; !ret && i < hca->tab[TAB_XRCD].high; i++)
		if (hca->xrcd[i].client)
			MUST(hca->xrcd[i].opens == a->opens[i], "XRCD %u: open %u times, not %u", i,
			     a->opens[i], hca->xrcd[i].opens);
	return ret;
}

static int audit_counts(const struct audit *a)
{
	const struct hca *hca = a->hca;
	u32 i, t, n = 0;

	for (t = 0; t < TAB_COUNT; t++)
		MUST(hca->tab[t].n == a->n[t], "%u %ss counted, there are %u", hca->tab[t].n,
		     tab_names[t], a->n[t]);
	for (i = 0; i < hca->n_devs; i++) {
		MUST(hca->dev[i].n_mw == a->mws[i], "device %u: %u windows counted, there are %u",
		     i, hca->dev[i].n_mw, a->mws[i]);
		MUST(a->dm[i] <= hca->dev[i].lim.max_dm, "device %u: %llu bytes of device memory",
		     i, (unsigned long long)a->dm[i]);
		for (t = 0; t < TAB_COUNT; t++)
			MUST(hca->dev[i].n[t] == a->dev_n[i][t],
			     "device %u: %u %ss counted, there are %u", i, hca->dev[i].n[t],
			     tab_names[t], a->dev_n[i][t]);
	}
	for (i = 0; i < a->clients; i++) {
		const struct hca_client *c = &hca->client[i];

		n += c->state != CLIENT_FREE;
		MUST(c->state != CLIENT_LIVE || c->gen, "client %u: generation 0", i);
		for (t = 0; t < TAB_COUNT; t++)
			MUST(c->n[t] == a->client_n[i][t],
			     "client %u: %u %ss counted, there are %u", i, c->n[t], tab_names[t],
			     a->client_n[i][t]);
	}
	MUST(n == hca->n_clients, "%u clients, %u counted", n, hca->n_clients);
	return 0;
}

static int audit_tables(struct audit *a)
{
	int ret = 0;
	u32 t, i;

	for (t = 0; t < TAB_COUNT; t++) {
		const char *at = (const char *)audit_obj(a, t, 0);
		size_t stride = (size_t)((const char *)audit_obj(a, t, 1) - at);

		for (i = 0; !ret && i < a->hca->tab[t].high; i++, at += stride)
			if (((const struct hca_obj *)at)->client)
				ret = audit_entry(a, t, i);
	}
	if (!ret)
		ret = audit_refs(a);
	if (!ret)
		ret = audit_cm(a);
	return ret ? ret : audit_counts(a);
}

static bool audit_alloc(struct audit *a)
{
	u32 t, n = 0;
	bool ok;

	/* Low slots are used first. */
	while (n < a->hca->n_clients && a->clients < HCA_MAX_CLIENTS)
		n += a->hca->client[a->clients++].state != CLIENT_FREE;
	a->client_n = calloc(a->clients + 1, sizeof(*a->client_n));
	a->dev_n = calloc(a->hca->n_devs + 1, sizeof(*a->dev_n));
	a->opens = calloc(a->hca->tab[TAB_XRCD].high + 1, sizeof(*a->opens));
	a->mws = calloc(a->hca->n_devs + 1, sizeof(*a->mws));
	a->dm = calloc(a->hca->n_devs + 1, sizeof(*a->dm));
	a->pending = calloc(a->hca->tab[TAB_CMID].high + 1, sizeof(*a->pending));
	ok = a->pending && a->client_n && a->dev_n && a->opens && a->mws && a->dm;
	for (t = 0; t < TAB_COUNT; t++) {
		a->refs[t] = calloc(a->hca->tab[t].high + 1, sizeof(*a->refs[t]));
		ok = ok && a->refs[t];
	}
	return ok;
}

int hca_audit(const struct hca *hca, char *why, size_t size)
{
	struct audit a = { .hca = hca, .why = why, .size = size };
	int ret;
	u32 t;

	if (size)
		*why = 0;
	ret = audit_hca(&a);
	if (!ret)
		ret = audit_nodes(&a);
	if (ret)
		return ret;
	ret = audit_alloc(&a) ? audit_tables(&a) : -ENOMEM;
	for (t = 0; t < TAB_COUNT; t++)
		free(a.refs[t]);
	free(a.client_n);
	free(a.dev_n);
	free(a.opens);
	free(a.mws);
	free(a.dm);
	free(a.pending);
	return ret;
}
