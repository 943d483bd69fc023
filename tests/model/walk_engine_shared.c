/* SPDX-License-Identifier: MIT */
/* SRQs, XRC domains and address handles. See tests/model/walk.h. */
#include "tests/model/walk.h"

/* Rings of SRQs lie behind those of QPs, two places for each: they may grow. */
#define SRQ_ROOM (32u << 10)

static u64 srq_place(const struct obj *o, u32 half)
{
	return SEG_HEAP_OFF + (8u << 20) + (2 * o->slot + half) * SRQ_ROOM;
}

/* --- SRQ */

bool srq_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD), *cq = any(w, o->client, K_CQ);
	struct obj *xrcd = any(w, o->client, K_XRCD);
	u32 depth = 1u << pick(w, 7);
	bool xrc = xrcd && cq && chance(w, 3), tags = !xrc && cq && chance(w, 2);

	if (!pd)
		return false;
	use(o, 0, pd);
	cmd->srq = (struct cmd_srq){
		.ring = srq_place(o, 0),
		.pd = pd->handle,
		.depth = depth,
		.max_wr = depth,
		.max_sge = 1 + pick(w, 4),
		.limit = chance(w, 3) ? pick(w, depth + 1) : 0,
		.type = xrc    ? SRQ_XRC
			: tags ? SRQ_TM
			       : SRQ_BASIC,
		.max_tags = tags ? 1 + pick(w, TAGS_MAX) : 0,
	};
	if (!xrc && !tags)
		return true;
	use(o, 1, cq);
	cmd->srq.cq = cq->handle + 1;
	if (tags)
		return true;
	use(o, 2, xrcd);
	cmd->srq.xrcd = xrcd->handle + 1;
	return true;
}

int spoil_queue(struct walk *w, const struct obj *o, const struct queue_fields *f)
{
	switch (pick(w, 6)) {
	case 0:
		*f->dev = 1 + pick(w, 5000);
		break;
	case 1:
		*f->async_chan = SEG_MAX_CHANS + pick(w, 100);
		break;
	case 2:
		*f->pd = bad_handle(w, o->client, K_PD);
		break;
	case 3:
		*f->max_sge = LIM_SGE + 1 + pick(w, 1000);
		break;
	case 4:
		*f->depth = chance(w, 2) ? 0 : 3 + 2 * pick(w, 1000);
		break;
	default:
		*f->ring = chance(w, 2) ? *f->ring + 4 : SEG_SIZE - 64;
	}
	return -EINVAL;
}

int srq_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct cmd_srq *c = &cmd->srq;
	struct queue_fields f = {
		&c->dev, &c->async_chan, &c->pd, &c->max_sge, &c->depth, &c->ring
	};

	switch (pick(w, 9)) {
	case 0:
		c->type = SRQ_TM + 1 + pick(w, 100);
		break;
	case 1:
		c->max_wr = chance(w, 2) ? 0 : LIM_QP_WR + 1 + pick(w, 1000);
		break;
	case 2:
		c->limit = c->max_wr + 1 + pick(w, 1000);
		break;
	case 3:
		c->type = chance(w, 2) ? SRQ_XRC : SRQ_TM;
		c->cq = bad_handle(w, o->client, K_CQ) + 1;
		break;
	case 4:
		c->type = SRQ_XRC;
		c->xrcd = bad_handle(w, o->client, K_XRCD) + 1;
		break;
	case 5:
		c->max_tags = w->m->hca->dev[0].lim.max_tags + 1 + pick(w, 1000);
		break;
	default:
		return spoil_queue(w, o, &f);
	}
	return -EINVAL;
}

void srq_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	const struct cmd_srq *c = &cmd->srq;

	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.ring = c->ring;
	o->srq.depth = c->depth;
	o->srq.max_wr = c->max_wr;
	o->srq.srqn = c->srqn;
	o->srq.type = c->type;
	o->srq.max_tags = c->max_tags;
	memset(seg_at(w, o->client, c->ring), 0, sizeof(struct wq_ctl));
	if ((c->srqn & 0xffff) != cmd->handle)
		fail(w, "SRQ %u got the number %#x", cmd->handle, c->srqn);
}

/* What waits in CQs is compared while it can be told whose it is. */
void srq_destroyed(struct walk *w, struct obj *o)
{
	for (u32 i = 0; i < KIND_MAX; i++)
		if (w->obj[o->client][K_CQ][i].live)
			cq_poll(w, &w->obj[o->client][K_CQ][i], CQ_MAX);
}

static void *srq_part(struct walk *w, struct obj *o, u64 off)
{
	return seg_at(w, o->client, o->srq.ring + off);
}

static void srq_post(struct walk *w, struct obj *o)
{
	const struct hca_srq *srq = &w->m->hca->srq[o->handle];
	u32 *order = srq_part(w, o, sizeof(struct wq_ctl));
	struct wq_ctl *ctl = srq_part(w, o, 0);
	u32 n = 1 + pick(w, 16), slot;

	for (slot = pick(w, o->srq.depth); n; n--, slot = (slot + 1) % o->srq.depth) {
		struct rq_wqe *r;

		if (o->srq.posted[slot] || o->srq.prod - srq->cons >= o->srq.depth)
			continue;
		r = srq_part(w, o, srq_slots_off(o->srq.depth) + slot * srq->stride);
		r->wr_id = ++w->next_id;
		r->num_sge = (u16)srq->max_sge;
		r->total_len = 0;
		for (u32 k = 0; k < r->num_sge; k++) {
			r->sge[k] = some_sge(w, o->client, o->uses[0], 240 + some_length(w),
					     ACC_LOCAL_WRITE);
			r->total_len += r->sge[k].len;
		}
		o->srq.posted[slot] = r->wr_id;
		order[o->srq.prod++ & (o->srq.depth - 1)] = slot;
		w->posted++;
	}
	store_release(&ctl->prod, o->srq.prod);
}

/* Grow it as the shim does: slots go over, the engine lays the order anew. */
static void srq_resize(struct walk *w, struct obj *o)
{
	const struct hca_srq *srq = &w->m->hca->srq[o->handle];
	struct hca_cmd cmd = { .op = CMD_MODIFY_SRQ, .handle = o->handle };
	u32 depth = 1u << pick(w, 7);
	u64 place = srq_place(o, !o->srq.half);
	struct wq_ctl *ctl = seg_at(w, o->client, place);
	int want = depth < o->srq.depth ? -EINVAL : 0;

	cmd.srq.mask = 1;
	cmd.srq.ring = place;
	cmd.srq.depth = depth;
	cmd.srq.max_wr = depth;
	if (!want) {
		memcpy(seg_at(w, o->client, place + srq_slots_off(depth)),
		       srq_part(w, o, srq_slots_off(o->srq.depth)), o->srq.depth * srq->stride);
		store_release(&ctl->prod, o->srq.prod);
	}
	if (chance(w, 5)) {
		want = -EINVAL;
		if (chance(w, 2))
			cmd.srq.max_wr = 0;
		else
			cmd.srq.ring += 4;
	}
	if (command(w, o->client, &cmd, want, "resize SRQ"))
		return;
	o->srq.half = !o->srq.half;
	o->srq.ring = place;
	o->srq.depth = depth;
	o->srq.max_wr = depth;
}

static void srq_limit(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_SRQ, .handle = o->handle };
	int want = 0;

	cmd.srq.mask = 2;
	cmd.srq.limit = pick(w, o->srq.max_wr + 1);
	if (chance(w, 4)) {
		want = -EINVAL;
		switch (pick(w, 3)) {
		case 0:
			cmd.srq.limit = o->srq.max_wr + 1 + pick(w, 1000);
			break;
		case 1:
			cmd.srq.mask |= 8u << pick(w, 8);
			break;
		default:
			cmd.handle = bad_handle(w, o->client, K_SRQ);
		}
	}
	command(w, o->client, &cmd, want, "limit of an SRQ");
}

void srq_use(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_QUERY_SRQ, .handle = o->handle };
	u32 r = pick(w, 20);

	if (o->srq.type == SRQ_TM && chance(w, 2)) {
		tag_op(w, o);
	} else if (r == 0) {
		srq_resize(w, o);
	} else if (r == 1) {
		srq_limit(w, o);
	} else if (r == 2) {
		command(w, o->client, &cmd, 0, "query SRQ");
		if (cmd.srq.max_wr != o->srq.max_wr)
			fail(w, "SRQ %u holds %u, not %u", o->handle, cmd.srq.max_wr,
			     o->srq.max_wr);
	} else {
		srq_post(w, o);
	}
}

u32 srq_refs(const struct hca *hca, u32 handle)
{
	return hca->srq[handle].refs;
}

/* --- XRC domains: what a client has is its being open */

static bool file_open(const struct walk *w, u32 file)
{
	for (u32 c = 0; c < WALKERS; c++)
		for (u32 i = 0; i < KIND_MAX; i++)
			if (w->obj[c][K_XRCD][i].live && w->obj[c][K_XRCD][i].xrcd.file == file)
				return true;
	return false;
}

bool xrcd_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	u32 file = pick(w, N_FILES + 1);

	(void)o;
	cmd->xrcd.st_ino = file;
	cmd->xrcd.st_dev = file ? 1 : 0;
	cmd->xrcd.oflags = XRCD_CREAT;
	if (!file || !file_open(w, file))
		cmd->xrcd.oflags |= chance(w, 2) ? XRCD_EXCL : 0;
	else if (chance(w, 2))
		cmd->xrcd.oflags = 0;
	return true;
}

int xrcd_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	u32 file = (u32)cmd->xrcd.st_ino;

	(void)o;
	switch (pick(w, 3)) {
	case 0:
		cmd->xrcd.dev = 1 + pick(w, 5000);
		return -EINVAL;
	case 1:
		cmd->xrcd.oflags |= 1u << 31;
		return -EINVAL;
	default:
		cmd->xrcd.oflags = file && file_open(w, file) ? XRCD_CREAT | XRCD_EXCL : 0;
		return file && !file_open(w, file) ? -EAGAIN : -EINVAL;
	}
}

void xrcd_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	(void)w;
	o->xrcd.file = (u32)cmd->xrcd.st_ino;
}

u32 xrcd_refs(const struct hca *hca, u32 handle)
{
	return hca->ref[handle].uses;
}

/* --- targets of others, opened */

/* A target QP of anybody's in the domain that @xrcd is an opening of. */
static struct obj *target_in(struct walk *w, const struct obj *xrcd)
{
	for (u32 n = 0; n < 8; n++) {
		struct obj *qp = any(w, pick(w, WALKERS), K_QP);
		const struct obj *x = qp ? qp->uses[Q_XRCD] : NULL;

		if (x && (x == xrcd || (x->xrcd.file && x->xrcd.file == xrcd->xrcd.file)))
			return qp;
	}
	return NULL;
}

bool open_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *xrcd = any(w, o->client, K_XRCD), *qp = xrcd ? target_in(w, xrcd) : NULL;

	if (!qp)
		return false;
	use(o, 0, xrcd);
	cmd->qp.type = QPT_XRC_RECV;
	cmd->qp.xrcd = xrcd->handle + 1;
	cmd->qp.qpn = qp->qp.qpn;
	return true;
}

int open_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	switch (pick(w, 4)) {
	case 0:
		cmd->qp.type = QPT_RC;
		break;
	case 1:
		cmd->qp.xrcd = bad_handle(w, o->client, K_XRCD) + 1;
		break;
	case 2:
		cmd->qp.qpn ^= 1u << (16 + pick(w, 8));
		break;
	default:
		cmd->qp.async_chan = SEG_MAX_CHANS + pick(w, 100);
	}
	return -EINVAL;
}

void open_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	(void)w;
	o->open.qpn = cmd->qp.qpn;
	o->open.owned = false;
}

void open_use(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_QUERY_QP, .handle = o->handle };

	cmd.mod.opened = 1;
	command(w, o->client, &cmd, 0, "query of an open target");
	if (w->m->hca->qp[o->open.qpn & (HCA_MAX_QP - 1)].state != cmd.mod.attr.state)
		fail(w, "query of target %#x says state %u", o->open.qpn, cmd.mod.attr.state);
}

void inherit(struct walk *w, u32 qpn)
{
	struct obj *heir = NULL;

	for (u32 c = 0; c < WALKERS; c++)
		for (u32 i = 0; i < KIND_MAX; i++) {
			struct obj *o = &w->obj[c][K_OPEN][i];

			if (o->live && o->open.qpn == qpn && !o->open.owned &&
			    (!heir || o->handle < heir->handle))
				heir = o;
		}
	if (heir)
		heir->open.owned = true;
}

/* --- address handles */

void good_av(struct walk *w, struct hca_av *av)
{
	memset(av, 0, sizeof(*av));
	av->is_global = 1;
	av->port_num = 1;
	memcpy(av->dgid, w->m->hca->dev[0].port[1].gid[0].raw, 16);
}

int spoil_av(struct walk *w, struct hca_av *av)
{
	switch (pick(w, 5)) {
	case 0:
		av->port_num = chance(w, 4) ? 0 : (u8)(pick(w, 250) + 2);
		return -EINVAL;
	case 1:
		av->sgid_index = HCA_GIDS + (u8)pick(w, 100);
		return -EINVAL;
	case 2:
		av->sgid_index = 1 + (u8)pick(w, HCA_GIDS - 1);
		return -ENODATA;
	case 3: /* an address of the other family */
		av->dgid[0] ^= 0x55;
		return -EINVAL;
	default: /* one that nobody has */
		av->dgid[15] ^= 0x55;
		return -ETIMEDOUT;
	}
}

bool ah_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD);

	if (!pd)
		return false;
	use(o, 0, pd);
	cmd->ah.pd = pd->handle;
	good_av(w, &cmd->ah.av);
	if (chance(w, 4)) {
		memset(cmd->ah.av.dgid, 0, 16);
		cmd->ah.av.dgid[0] = 0xff;
		cmd->ah.av.dgid[15] = (u8)pick(w, 4);
	}
	return true;
}

int ah_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	if (chance(w, 4)) {
		cmd->ah.pd = bad_handle(w, o->client, K_PD);
		return -EINVAL;
	}
	if (chance(w, 4)) {
		cmd->ah.av.is_global = 0;
		return -EINVAL;
	}
	good_av(w, &cmd->ah.av);
	return spoil_av(w, &cmd->ah.av);
}
