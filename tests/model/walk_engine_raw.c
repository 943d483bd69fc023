/* SPDX-License-Identifier: MIT */
/* Receive work queues, tables of them, flow rules and counters. See tests/model/walk.h. */
#include "tests/model/walk.h"

/* Rings of WQs lie behind those of SRQs. */
#define WQ_ROOM (32u << 10)

enum wq_state { RESET, RDY, ERR };

bool wq_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD), *cq = any(w, o->client, K_CQ);

	if (!pd || !cq)
		return false;
	use(o, 0, pd);
	use(o, 1, cq);
	cmd->wq = (struct cmd_wq){
		.ring = SEG_HEAP_OFF + (10u << 20) + o->slot * WQ_ROOM,
		.pd = pd->handle,
		.cq = cq->handle,
		.depth = 1u << pick(w, 6),
		.max_sge = 1 + pick(w, 4),
	};
	return true;
}

int wq_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct cmd_wq *c = &cmd->wq;
	struct queue_fields f = {
		&c->dev, &c->async_chan, &c->pd, &c->max_sge, &c->depth, &c->ring
	};

	if (!chance(w, 7))
		return spoil_queue(w, o, &f);
	c->cq = bad_handle(w, o->client, K_CQ);
	return -EINVAL;
}

void wq_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	o->wq.ring = cmd->wq.ring;
	o->wq.depth = cmd->wq.depth;
	o->wq.state = RESET;
	memset(seg_at(w, o->client, o->wq.ring), 0, sizeof(struct wq_ctl));
}

static void wq_post(struct walk *w, struct obj *o)
{
	const struct hca_wq *wq = &w->m->hca->wq[o->handle];
	struct wq_ctl *ctl = seg_at(w, o->client, o->wq.ring);
	u32 room = o->wq.depth - (ctl->prod - wq->cons), n;

	for (n = pick(w, room + 1); n; n--) {
		u32 at = (ctl->prod & (o->wq.depth - 1)) * wq->stride;
		struct rq_wqe *r = seg_at(w, o->client, o->wq.ring + sizeof(*ctl) + at);

		r->wr_id = ++w->next_id;
		r->num_sge = 1;
		r->sge[0] = some_sge(w, o->client, o->uses[0], 2000, ACC_LOCAL_WRITE);
		store_release(&ctl->prod, ctl->prod + 1);
	}
}

/* RESET and RDY go to and fro; what was ready can fail, and comes back through RESET only. */
static bool wq_may(u32 from, u32 to)
{
	return to <= ERR && !(from == ERR && to == RDY) && !(from == RESET && to == ERR);
}

void wq_use(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_WQ, .handle = o->handle };
	struct wq_ctl *ctl = seg_at(w, o->client, o->wq.ring);
	u32 to = pick(w, 4);
	int want;

	if (o->wq.state == RDY && !chance(w, 8)) {
		wq_post(w, o);
		return;
	}
	cmd.wq.mask = 1 | 2;
	cmd.wq.state = to;
	cmd.wq.cur_state = chance(w, 10) ? (o->wq.state + 1) % 3 : o->wq.state;
	want = wq_may(o->wq.state, to) && cmd.wq.cur_state == o->wq.state ? 0 : -EINVAL;
	if (chance(w, 20)) {
		cmd.handle = bad_handle(w, o->client, K_WQ);
		want = -EINVAL;
	}
	if (command(w, o->client, &cmd, want, "modify WQ"))
		return;
	o->wq.state = to;
	if (to == RESET)
		store_release(&ctl->prod, 0);
}

void wq_check(struct walk *w, struct obj *o)
{
	u32 state = w->m->hca->wq[o->handle].state;

	if (state == o->wq.state)
		return;
	if (state != ERR || o->wq.state != RDY)
		fail(w, "WQ %u is in state %u instead of %u", o->handle, state, o->wq.state);
	o->wq.state = ERR;
}

u32 wq_refs(const struct hca *hca, u32 handle)
{
	return hca->wq[handle].refs;
}

/* --- tables */

bool ind_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	u32 log = pick(w, 3);

	for (u32 i = 0; i < 1u << log; i++) {
		struct obj *wq = any(w, o->client, K_WQ);

		if (!wq)
			return false;
		use(o, i, wq);
		cmd->ind.wq[i] = wq->handle;
	}
	cmd->ind.log_size = log;
	return true;
}

int ind_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	switch (pick(w, 3)) {
	case 0:
		cmd->ind.dev = 1 + pick(w, 5000);
		break;
	case 1:
		cmd->ind.log_size = 8 + pick(w, 100);
		break;
	default:
		cmd->ind.wq[0] = bad_handle(w, o->client, K_WQ);
	}
	return -EINVAL;
}

u32 ind_refs(const struct hca *hca, u32 handle)
{
	return hca->ind[handle].refs;
}

/* --- counters and rules */

bool ctr_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)w;
	(void)o;
	cmd->ctr.dev = 0;
	return true;
}

int ctr_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	cmd->ctr.dev = 1 + pick(w, 5000);
	return -EINVAL;
}

void ctr_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	(void)w;
	(void)cmd;
	o->ctr.points = 0;
}

void ctr_use(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_ATTACH_COUNTERS, .handle = o->handle };
	int want = 0;

	if (chance(w, 3)) {
		cmd.op = CMD_READ_COUNTERS;
		cmd.ctr.n = 16;
		command(w, o->client, &cmd, o->refs ? 0 : -EINVAL, "read counters");
		return;
	}
	cmd.ctr.what = pick(w, 2);
	cmd.ctr.index = pick(w, 16);
	if (o->refs)
		want = -EBUSY;
	else if (o->ctr.points == 16)
		want = -ENOMEM;
	if (chance(w, 4)) {
		cmd.ctr.what = 2 + pick(w, 100);
		want = -EOPNOTSUPP;
	}
	if (!command(w, o->client, &cmd, want, "attach counters"))
		o->ctr.points++;
}

u32 ctr_refs(const struct hca *hca, u32 handle)
{
	return hca->ctr[handle].refs;
}

static struct obj *raw_qp(struct walk *w, u32 client)
{
	for (u32 n = 0; n < 8; n++) {
		struct obj *qp = any(w, client, K_QP);

		if (qp && qp->qp.type == QPT_RAW_PACKET)
			return qp;
	}
	return NULL;
}

bool flow_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *qp = raw_qp(w, o->client), *ctr = any(w, o->client, K_CTR);

	if (!qp)
		return false;
	use(o, 0, qp);
	cmd->flow = (struct cmd_flow){ .qp = qp->handle, .port = 1, .type = pick(w, 4) };
	cmd->flow.priority = pick(w, 8);
	cmd->flow.mask.dmac[5] = 0xff;
	cmd->flow.value.dmac[5] = (u8)pick(w, 4);
	if (ctr && ctr->ctr.points && chance(w, 2)) {
		use(o, 1, ctr);
		cmd->flow.counters = ctr->handle + 1;
	}
	return true;
}

int flow_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct cmd_flow *c = &cmd->flow;

	switch (pick(w, 6)) {
	case 0:
		c->qp = bad_handle(w, o->client, K_QP);
		break;
	case 1:
		c->port = chance(w, 2) ? 0 : 2 + pick(w, 300);
		break;
	case 2:
		c->type = 4 + pick(w, 100);
		break;
	case 3:
		c->flags = 1u << 31;
		break;
	case 4:
		c->has_tag = 1;
		c->tag = ~0u;
		break;
	default:
		c->counters = bad_handle(w, o->client, K_CTR) + 1;
	}
	return -EINVAL;
}
