/* SPDX-License-Identifier: MIT */
/* The table of kinds, and those without a state of their own. See tests/model/walk.h. */
#include "tests/model/walk.h"

/* Where a client's rings lie: two places for each CQ, since it may be resized, two for each QP. */
#define CQ_PLACE ALIGN_UP(CQ_HDR + CQ_MAX * sizeof(struct cqe), 4096u)

static u64 cq_place(const struct obj *o, u32 half)
{
	return SEG_HEAP_OFF + (2 * o->slot + half) * CQ_PLACE;
}

/* --- PD */

static bool pd_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)w;
	cmd->dev = 0;
	cmd->ctx = o->pd.ctx = 100 + o->client;
	return true;
}

static int pd_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	cmd->dev = 1 + pick(w, 5000);
	return -EINVAL;
}

static u32 pd_refs(const struct hca *hca, u32 handle)
{
	return hca->pd[handle].refs;
}

/* --- MR */

static u32 some_access(struct walk *w)
{
	static const u32 sets[] = {
		ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC |
			ACC_FLUSH,
		ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC |
			ACC_MW_BIND | ACC_FLUSH,
		ACC_LOCAL_WRITE,
		ACC_LOCAL_WRITE | ACC_REMOTE_WRITE,
		ACC_REMOTE_READ,
		0,
	};

	return sets[pick(w, ARRAY_SIZE(sets))];
}

static void some_range(struct walk *w, u32 client, struct cmd_reg_mr *c)
{
	u64 off = pick(w, AREA_USED - 8192);

	if (chance(w, 2))
		off &= ~4095ULL;
	c->addr = (uintptr_t)w->m->c[client].mem + off;
	c->len = 1 + (chance(w, 10) ? pick(w, 100) : 8000 + pick(w, AREA_USED));
	c->len = min_u64(c->len, AREA_USED - off);
	c->iova = chance(w, 4) ? (u64)pick(w, 1 << 30) << 12 | (c->addr & 4095) : c->addr;
}

static bool mr_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD), *imp = any(w, o->client, K_IMP);

	if (imp && chance(w, 3))
		pd = imp->imp.pd;
	if (!pd)
		return false;
	cmd->mr = (struct cmd_reg_mr){ .pd = pd->handle, .access = some_access(w) };
	some_range(w, o->client, &cmd->mr);
	if (chance(w, 10) && any(w, o->client, K_DM)) {
		struct obj *dm = any(w, o->client, K_DM);

		use(o, 1, dm);
		cmd->mr.dm = dm->handle + 1;
		cmd->mr.len = min_u64(cmd->mr.len, w->m->hca->dm[dm->handle].len);
	} else if (chance(w, 15)) {
		cmd->mr.kind = MR_NULL;
		cmd->mr.access = ACC_LOCAL_WRITE;
	}
	/* A null MR does not hold its PD. */
	if (cmd->mr.kind != MR_NULL)
		use(o, 0, pd);
	return true;
}

/* What makes a range or its rights unacceptable, as ibv_reg_mr(3) has it. */
static void mr_spoil_values(struct walk *w, struct cmd_reg_mr *c, u32 how)
{
	if (how == 0) {
		c->access = chance(w, 2) ? ACC_REMOTE_WRITE : ACC_REMOTE_ATOMIC;
	} else if (how == 1) {
		c->addr = ~0ULL - pick(w, 100);
		c->len = 200;
	} else {
		c->iova = ~0ULL - pick(w, 100);
		c->len = 200;
	}
}

static int mr_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	u32 how = pick(w, 6);

	if (how == 5)
		cmd->mr.dm = bad_handle(w, o->client, K_DM) + 1;
	else if (how == 4)
		cmd->mr.kind = MW_1 + pick(w, 100);
	else if (how == 3)
		cmd->mr.pd = bad_handle(w, o->client, K_PD);
	else
		mr_spoil_values(w, &cmd->mr, how);
	return -EINVAL;
}

static void mr_take(struct obj *o, const struct cmd_reg_mr *c, u32 flags)
{
	o->mr.key = c->key;
	if (flags & 1) {
		o->mr.addr = c->addr;
		o->mr.iova = c->iova;
		o->mr.len = c->len;
	}
	if (flags & 4)
		o->mr.access = c->access;
}

static void mr_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	if (!cmd->mr.key || cmd->mr.key >> 8 != cmd->handle)
		fail(w, "MR %u got the key %#x", cmd->handle, cmd->mr.key);
	mr_take(o, &cmd->mr, 7);
	o->mr.fixed = cmd->mr.dm || cmd->mr.kind != MR_USER;
}

/* Rereg: any part, or what must be refused and leaves all as it was. */
static void mr_use(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_REREG_MR, .handle = o->handle };
	struct obj *pd = any(w, o->client, K_PD);
	u32 flags = 1 + pick(w, 7), old = o->mr.key;
	int want = 0;

	if (!pd || !chance(w, 4) || !mr_fill(w, &(struct obj){ .client = o->client }, &cmd))
		return;
	cmd.mr.pd = pd->handle;
	cmd.mr.flags = flags;
	if (chance(w, 4)) {
		u32 how = pick(w, 5);

		if (how < 3) {
			cmd.mr.flags |= how ? 1 : 4;
			mr_spoil_values(w, &cmd.mr, how);
		} else if (how == 3) {
			cmd.mr.flags |= 2;
			cmd.mr.pd = bad_handle(w, o->client, K_PD);
		} else {
			cmd.mr.flags = chance(w, 2) ? 0 : 8u << pick(w, 8);
		}
		want = -EINVAL;
	}
	if (o->mr.fixed)
		want = -EINVAL;
	else if (!want && w->m->hca->mr[o->handle].windows)
		want = -EBUSY;
	if (command(w, o->client, &cmd, want, "rereg MR"))
		return;
	if (cmd.mr.key != old)
		fail(w, "rereg of MR %u changes its key %#x", o->handle, old);
	mr_take(o, &cmd.mr, flags);
	if (flags & 2)
		use(o, 0, pd);
}

/* --- DM */

static bool dm_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	cmd->dm.len = 1 + pick(w, 20000);
	cmd->dm.ctx = DM_CTX;
	return true;
}

static int dm_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	if (chance(w, 2))
		cmd->dm.dev = 1 + pick(w, 5000);
	else
		cmd->dm.len = chance(w, 2) ? 0 : (4u << 20) + 1 + pick(w, 1000);
	return -EINVAL;
}

static u32 dm_refs(const struct hca *hca, u32 handle)
{
	return hca->dm[handle].refs;
}

/* --- MW */

static bool mw_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD);

	if (!pd)
		return false;
	use(o, 0, pd);
	cmd->mr.pd = pd->handle;
	cmd->mr.kind = chance(w, 2) ? MW_1 : MW_2;
	return true;
}

static int mw_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	if (chance(w, 2))
		cmd->mr.pd = bad_handle(w, o->client, K_PD);
	else
		cmd->mr.kind = chance(w, 2) ? MR_USER : MW_2 + 1 + pick(w, 100);
	return -EINVAL;
}

static void mw_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	if (cmd->mr.key >> 8 != cmd->handle)
		fail(w, "MW %u got the key %#x", cmd->handle, cmd->mr.key);
	o->mr.key = cmd->mr.key;
}

/* --- CQ */

static bool cq_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	o->cq.half = 0;
	cmd->cq = (struct cmd_cq){
		.ring = cq_place(o, 0),
		.depth = chance(w, 10) ? 1u << pick(w, 9) : CQ_MAX,
		.chan = chance(w, 3) ? 1 + pick(w, 8) : 0,
		.async_chan = 0,
		.ts_format = chance(w, 2) ? TS_FREE_RUNNING : TS_NONE,
	};
	return true;
}

static int cq_spoil_ring(struct walk *w, struct cmd_cq *c)
{
	switch (pick(w, 5)) {
	case 0:
		c->depth = 0;
		break;
	case 1:
		c->depth = 3 + 2 * pick(w, 1000);
		break;
	case 2:
		c->depth = 1u << 23;
		break;
	case 3:
		c->ring = chance(w, 2) ? c->ring + 8 : pick(w, (u32)SEG_HEAP_OFF) & ~63u;
		break;
	default:
		c->ring = SEG_SIZE - (u64)pick(w, 2) * 64;
	}
	return -EINVAL;
}

static int cq_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	switch (pick(w, 4)) {
	case 0:
		cmd->cq.chan = SEG_MAX_CHANS + 1 + pick(w, 1000);
		return -EINVAL;
	case 1:
		cmd->cq.async_chan = SEG_MAX_CHANS + pick(w, 1000);
		return -EINVAL;
	case 2:
		cmd->cq.dev = 1 + pick(w, 5000);
		return -EINVAL;
	default:
		return cq_spoil_ring(w, &cmd->cq);
	}
}

static void cq_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	o->cq.ring = cmd->cq.ring;
	o->cq.depth = cmd->cq.depth;
	o->cq.cons = 0;
	o->cq.dirty = false;
	memset(seg_at(w, o->client, o->cq.ring), 0, CQ_HDR + o->cq.depth * sizeof(struct cqe));
}

static void cq_resize(struct walk *w, struct obj *o)
{
	const struct hca_cq *cq = &w->m->hca->cq[o->handle];
	struct hca_cmd cmd = { .op = CMD_RESIZE_CQ, .handle = o->handle };
	struct cq_ctl *ctl = seg_at(w, o->client, o->cq.ring);
	u32 waiting = cq->prod - ctl->cons;
	int want;

	cmd.cq.ring = cq_place(o, !o->cq.half);
	cmd.cq.depth = chance(w, 4) ? 1u << pick(w, 9) : CQ_MAX;
	memset(seg_at(w, o->client, cmd.cq.ring), 0, CQ_PLACE);
	want = waiting > cmd.cq.depth || waiting > o->cq.depth ? -EINVAL : 0;
	if (chance(w, 5)) {
		want = cq_spoil_ring(w, &cmd.cq);
	} else if (chance(w, 8)) {
		cmd.handle = bad_handle(w, o->client, K_CQ);
		want = -EINVAL;
	}
	if (command(w, o->client, &cmd, want, "resize CQ"))
		return;
	o->cq.half = !o->cq.half;
	o->cq.ring = cmd.cq.ring;
	o->cq.depth = cmd.cq.depth;
	o->cq.cons = 0;
}

/* One event for several completions, or some time after the first. */
static void cq_moderate(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_CQ, .handle = o->handle };
	int want = 0;

	cmd.cq.mod_count = chance(w, 3) ? 0 : pick(w, 20);
	cmd.cq.mod_period = chance(w, 3) ? 0 : pick(w, 3000);
	if (chance(w, 5)) {
		want = -EINVAL;
		switch (pick(w, 3)) {
		case 0:
			cmd.cq.mod_count = LIM_CQ_COUNT + 1 + pick(w, 1 << 30);
			break;
		case 1:
			cmd.cq.mod_period = LIM_CQ_PERIOD + 1 + pick(w, 1 << 30);
			break;
		default:
			cmd.handle = bad_handle(w, o->client, K_CQ);
		}
	}
	command(w, o->client, &cmd, want, "moderate CQ");
}

void cq_settled(struct walk *w, const struct obj *o)
{
	const struct hca_cq *cq = &w->m->hca->cq[o->handle];

	if (cq->chan && cq->mod_seen &&
	    ((cq->mod_count && cq->mod_seen >= cq->mod_count) ||
	     (cq->mod_period && (!cq->mod_deadline || cq->mod_deadline <= w->m->clock)) ||
	     (!cq->mod_count && !cq->mod_period)))
		fail(w, "CQ %u: an event is overdue; %u of %u, deadline %llu", o->handle,
		     cq->mod_seen, cq->mod_count, (unsigned long long)cq->mod_deadline);
}

static void cq_use(struct walk *w, struct obj *o)
{
	struct cq_ctl *ctl = seg_at(w, o->client, o->cq.ring);

	if (chance(w, 12)) {
		cq_moderate(w, o);
		return;
	}
	if (chance(w, 12)) {
		cq_resize(w, o);
		return;
	}
	if (chance(w, 3))
		store_relaxed(&ctl->armed, w->m->hca->cq[o->handle].chan ? pick(w, 3) : 0);
	cq_poll(w, o, 1 + pick(w, 64));
}

static u32 cq_refs(const struct hca *hca, u32 handle)
{
	return hca->cq[handle].refs;
}

const struct kind_ops kinds[K_COUNT] = {
	[K_PD] = { "PD", TAB_PD, CMD_ALLOC_PD, CMD_DEALLOC_PD, -EINVAL, 2, 3, pd_fill, pd_spoil,
		   NULL, pd_destroyed, NULL, pd_refs },
	[K_CQ] = { "CQ", TAB_CQ, CMD_CREATE_CQ, CMD_DESTROY_CQ, -EINVAL, 3, MADE_MAX, cq_fill,
		   cq_spoil, cq_created, NULL, cq_use, cq_refs },
	[K_MR] = { "MR", TAB_MR, CMD_REG_MR, CMD_DEREG_MR, -EINVAL, 5, MADE_MAX, mr_fill, mr_spoil,
		   mr_created, NULL, mr_use, NULL },
	[K_DM] = { "DM", TAB_DM, CMD_ALLOC_DM, CMD_FREE_DM, -ENOENT, 1, 3, dm_fill, dm_spoil, NULL,
		   NULL, NULL, dm_refs },
	[K_MW] = { "MW", TAB_MR, CMD_ALLOC_MW, CMD_DEALLOC_MW, -EINVAL, 3, 5, mw_fill, mw_spoil,
		   mw_created, NULL, NULL, NULL },
	[K_XRCD] = { "XRCD", TAB_REF, CMD_OPEN_XRCD, CMD_CLOSE_XRCD, -EINVAL, 1, 3, xrcd_fill,
		     xrcd_spoil, xrcd_created, NULL, NULL, xrcd_refs },
	[K_SRQ] = { "SRQ", TAB_SRQ, CMD_CREATE_SRQ, CMD_DESTROY_SRQ, -EINVAL, 2, 5, srq_fill,
		    srq_spoil, srq_created, srq_destroyed, srq_use, srq_refs },
	[K_AH] = { "AH", TAB_AH, CMD_CREATE_AH, CMD_DESTROY_AH, -EINVAL, 2, 6, ah_fill, ah_spoil,
		   NULL, NULL, NULL, NULL },
	[K_WQ] = { "WQ", TAB_WQ, CMD_CREATE_WQ, CMD_DESTROY_WQ, -EINVAL, 2, 5, wq_fill, wq_spoil,
		   wq_created, NULL, wq_use, wq_refs },
	[K_IND] = { "table", TAB_IND, CMD_CREATE_IND, CMD_DESTROY_IND, -EINVAL, 1, 3, ind_fill,
		    ind_spoil, NULL, NULL, NULL, ind_refs },
	[K_CTR] = { "counters", TAB_CTR, CMD_CREATE_COUNTERS, CMD_DESTROY_COUNTERS, -EINVAL, 1, 3,
		    ctr_fill, ctr_spoil, ctr_created, NULL, ctr_use, ctr_refs },
	[K_FLOW] = { "flow", TAB_FLOW, CMD_CREATE_FLOW, CMD_DESTROY_FLOW, -EINVAL, 2, 5, flow_fill,
		     flow_spoil, NULL, NULL, NULL, NULL },
	[K_QP] = { "QP", TAB_QP, CMD_CREATE_QP, CMD_DESTROY_QP, -EINVAL, 6, MADE_MAX, qp_fill,
		   qp_spoil, qp_created, qp_destroyed, qp_use, NULL },
	[K_OPEN] = { "open target", TAB_REF, CMD_OPEN_QP, CMD_DESTROY_QP, -EINVAL, 3, 4, open_fill,
		     open_spoil, open_created, NULL, open_use, NULL },
	[K_IMP] = { "imported PD", TAB_REF, CMD_IMPORT, CMD_UNIMPORT, -EINVAL, 2, 3, imp_fill,
		    imp_spoil, NULL, NULL, imp_use, NULL },
};
