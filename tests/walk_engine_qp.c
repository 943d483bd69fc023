/* SPDX-License-Identifier: MIT */
/* Queue pairs of the walk: creation, the state machine, connections. See tests/walk.h. */
#include "tests/walk.h"

/* Rings of QPs lie behind those of CQs. */
#define QP_ROOM (64u << 10)

static u64 qp_place(const struct obj *o, u32 which)
{
	return SEG_HEAP_OFF + (4u << 20) + (2 * o->slot + which) * QP_ROOM;
}

/* --- commands */

static u32 some_depth(struct walk *w)
{
	return chance(w, 30) ? 0 : 1u << (chance(w, 8) ? pick(w, 7) : 2 + pick(w, 5));
}

static u32 some_type(struct walk *w)
{
	static const u32 types[] = { QPT_RC, QPT_RC,	   QPT_RC,	 QPT_UC,	QPT_UD,
				     QPT_UD, QPT_XRC_SEND, QPT_XRC_RECV, QPT_RAW_PACKET };

	return types[pick(w, ARRAY_SIZE(types))];
}

/* An XRC target: it has nothing but a domain. */
static bool fill_target(struct obj *o, struct obj *xrcd, struct hca_cmd *cmd)
{
	if (!xrcd)
		return false;
	use(o, Q_XRCD, xrcd);
	cmd->qp = (struct cmd_qp){ .type = QPT_XRC_RECV, .xrcd = xrcd->handle + 1 };
	return true;
}

/* A QP that only spreads what comes over a table of WQs. */
static bool fill_rss(struct obj *o, struct obj *ind, struct hca_cmd *cmd)
{
	use(o, Q_IND, ind);
	cmd->qp = (struct cmd_qp){
		.type = QPT_RAW_PACKET,
		.pd = o->uses[Q_PD]->handle,
		.ind = ind->handle + 1,
	};
	return true;
}

static int spoil_rss(struct walk *w, struct obj *o, struct cmd_qp *c)
{
	switch (pick(w, 4)) {
	case 0:
		c->ind = bad_handle(w, o->client, K_IND) + 1;
		break;
	case 1:
		c->rq_depth = 4;
		break;
	case 2:
		c->sq_depth = 4;
		c->sq_ring = qp_place(o, 0);
		break;
	default:
		c->type = QPT_RC;
	}
	return -EINVAL;
}

bool qp_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD), *scq = any(w, o->client, K_CQ),
		   *rcq = any(w, o->client, K_CQ), *srq = any(w, o->client, K_SRQ);
	u32 type = some_type(w);

	if (type == QPT_XRC_RECV)
		return fill_target(o, any(w, o->client, K_XRCD), cmd);
	if (!pd || !scq || !rcq)
		return false;
	use(o, Q_PD, pd);
	if (type == QPT_RAW_PACKET && chance(w, 3) && any(w, o->client, K_IND))
		return fill_rss(o, any(w, o->client, K_IND), cmd);
	use(o, Q_SCQ, scq);
	cmd->qp = (struct cmd_qp){
		.type = type,
		.pd = pd->handle,
		.scq = scq->handle,
		.sq_ring = qp_place(o, 0),
		.rq_ring = qp_place(o, 1),
		.sq_depth = some_depth(w),
		.rq_depth = some_depth(w),
		.max_sge = chance(w, 10) ? 0 : 1 + pick(w, 4),
		.max_rsge = chance(w, 50) ? 0 : 1 + pick(w, 4),
		.max_inline = pick(w, 200),
		.sig_all = pick(w, 2),
	};
	if (type == QPT_XRC_SEND) {
		cmd->qp.rq_depth = 0;
		return true;
	}
	use(o, Q_RCQ, rcq);
	cmd->qp.rcq = rcq->handle;
	if (srq && srq->srq.type == SRQ_BASIC && (type == QPT_RC || type == QPT_UD) &&
	    chance(w, 2)) {
		use(o, Q_SRQ, srq);
		cmd->qp.srq = srq->handle + 1;
		cmd->qp.rq_depth = 0;
	}
	return true;
}

static int spoil_target(struct walk *w, struct obj *o, struct cmd_qp *c)
{
	switch (pick(w, 4)) {
	case 0:
		c->xrcd = bad_handle(w, o->client, K_XRCD) + 1;
		break;
	case 1:
		c->sq_depth = 4;
		c->sq_ring = qp_place(o, 0);
		break;
	case 2:
		c->srq = 1;
		break;
	default:
		c->dev = 1 + pick(w, 5000);
	}
	return -EINVAL;
}

int qp_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct cmd_qp *c = &cmd->qp;

	if (c->type == QPT_XRC_RECV)
		return spoil_target(w, o, c);
	if (c->ind)
		return spoil_rss(w, o, c);
	switch (pick(w, 13)) {
	case 0:
		c->type = chance(w, 2) ? 0 : 11 + pick(w, 300);
		return -EOPNOTSUPP;
	case 1:
		c->dev = 1 + pick(w, 5000);
		break;
	case 2:
		c->async_chan = SEG_MAX_CHANS + pick(w, 100);
		break;
	case 3:
		c->pd = bad_handle(w, o->client, K_PD);
		break;
	case 4:
		c->scq = bad_handle(w, o->client, K_CQ);
		break;
	case 5:
		if (c->type == QPT_XRC_SEND)
			c->rq_depth = 8;
		else
			c->rcq = bad_handle(w, o->client, K_CQ);
		break;
	case 6:
		c->sq_depth = chance(w, 2) ? 3 + 2 * pick(w, 100) : 2 * LIM_QP_WR;
		break;
	case 7:
		c->rq_depth = chance(w, 2) ? 3 + 2 * pick(w, 100) : 2 * LIM_QP_WR;
		break;
	case 8:
		*(chance(w, 2) ? &c->max_sge : &c->max_rsge) = LIM_SGE + 1 + pick(w, 1 << 30);
		break;
	case 9:
		c->max_inline = LIM_INLINE + 1 + pick(w, 1 << 30);
		break;
	case 10:
		c->srq = bad_handle(w, o->client, K_SRQ) + 1;
		break;
	case 11:
		c->sq_depth = 4;
		c->sq_ring = chance(w, 2) ? c->sq_ring + 4 : SEG_SIZE - 64;
		break;
	default:
		c->rq_depth = 4;
		c->rq_ring = chance(w, 2) ? pick(w, (u32)SEG_HEAP_OFF) & ~63u : ~0ULL << 6;
	}
	return -EINVAL;
}

static void queues_reset(struct walk *w, struct obj *o)
{
	struct walk_qp *q = &o->qp;

	memset(seg_at(w, o->client, q->sq), 0, sizeof(struct wq_ctl));
	memset(seg_at(w, o->client, q->rq), 0, sizeof(struct wq_ctl));
	q->sq_prod = q->rq_prod = q->sq_seen = q->rq_seen = 0;
	q->failed = q->rq_failed = q->dirty = false;
}

void qp_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	const struct cmd_qp *c = &cmd->qp;

	o->qp = (struct walk_qp){
		.qpn = c->qpn,
		.type = c->type,
		.state = QPS_RESET,
		.sq = c->sq_ring,
		.rq = c->rq_ring,
		.sq_depth = c->sq_depth,
		.rq_depth = c->rq_depth,
		.max_sge = c->max_sge,
		.max_rsge = c->max_rsge,
		.max_inline = c->max_inline,
		.sq_stride = sq_stride(c->max_sge, c->max_inline),
		.rq_stride = rq_stride(c->max_rsge),
	};
	if ((c->qpn & 0xffff) != cmd->handle || c->qpn > IB_QPN_MASK)
		fail(w, "QP %u got the number %#x", cmd->handle, c->qpn);
	queues_reset(w, o);
}

static void drain(struct walk *w, struct obj *o)
{
	if (o->uses[Q_SCQ])
		cq_poll(w, o->uses[Q_SCQ], CQ_MAX);
	if (o->uses[Q_RCQ] && o->uses[Q_RCQ] != o->uses[Q_SCQ])
		cq_poll(w, o->uses[Q_RCQ], CQ_MAX);
}

/* What is still in its CQs is compared while it can be told whose it is. */
void qp_destroyed(struct walk *w, struct obj *o)
{
	drain(w, o);
}

static u32 handle_of(const struct obj *o)
{
	return o ? o->handle : 0;
}

void qp_check(struct walk *w, struct obj *o)
{
	const struct hca_qp *qp = &w->m->hca->qp[o->handle];
	struct walk_qp *q = &o->qp;

	if (qp->qpn != q->qpn || qp->type != q->type || qp->pd != handle_of(o->uses[Q_PD]) ||
	    qp->scq != handle_of(o->uses[Q_SCQ]) || qp->rcq != handle_of(o->uses[Q_RCQ]) ||
	    (o->uses[Q_SRQ] && qp->srq != o->uses[Q_SRQ]->handle + 1))
		fail(w, "QP %#x is not what was created", o->handle);
	if (qp->state == q->state)
		return;
	/* An error of the work under way takes it there. */
	if (qp->state == QPS_SQE && qp_has_sqe(q->type) &&
	    (q->state == QPS_RTS || q->state == QPS_SQD)) {
		q->state = QPS_SQE;
		return;
	}
	if (qp->state != QPS_ERR || q->state < QPS_RTR)
		fail(w, "QP %#x is in %s instead of %s", o->handle, ib_qp_state_name(qp->state),
		     ib_qp_state_name(q->state));
	q->state = QPS_ERR;
}

static int modify(struct walk *w, struct obj *o, struct hca_cmd *cmd, int want)
{
	u32 to = cmd->mod.mask & QPA_STATE ? cmd->mod.attr.state : o->qp.state;
	int ret;

	if (!want && (to == QPS_RESET || o->qp.state == QPS_SQE))
		drain(w, o);
	ret = command(w, o->client, cmd, want, "modify QP");
	if (ret)
		return ret;
	if (o->qp.state == QPS_SQE && to == QPS_RTS)
		o->qp.failed = false;
	o->qp.state = to;
	if (to == QPS_RESET)
		queues_reset(w, o);
	return 0;
}

/* A move that the table allows, with all that it needs and some of what it may have. */
static void modify_good(struct walk *w, struct obj *o, u32 to, const struct obj *peer)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP, .handle = o->handle };
	struct hca_qp_attr *a = &cmd.mod.attr;
	u32 required, optional;

	if (!qp_move(o->qp.type, o->qp.state, to, &required, &optional))
		return;
	good_values(w, a);
	a->state = to;
	a->cur_state = o->qp.state;
	cmd.mod.mask = QPA_STATE | required | (optional & (u32)emu_rnd(&w->rnd));
	if (peer)
		a->dest_qpn = peer->qp.qpn;
	modify(w, o, &cmd, 0);
}

/* A move that must be refused and change nothing. */
static void modify_bad(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP, .handle = o->handle };
	struct hca_qp_attr *a = &cmd.mod.attr;
	u32 required, optional, to = pick(w, QPS_COUNT + 2), bit;
	bool possible =
		to < QPS_COUNT && qp_move(o->qp.type, o->qp.state, to, &required, &optional);
	int want = -EINVAL;

	good_values(w, a);
	a->state = to;
	a->cur_state = o->qp.state;
	cmd.mod.mask = QPA_STATE;
	if (possible) {
		cmd.mod.mask |= required | (optional & (u32)emu_rnd(&w->rnd));
		bit = 1u << pick(w, 26);
		switch (pick(w, 4)) {
		case 0:
			cmd.handle = bad_handle(w, o->client, K_QP);
			break;
		case 1:
			want = bad_value(w, a, cmd.mod.mask & ~qp_passed_over(o->qp.type));
			break;
		case 2:
			if (cmd.mod.mask & QPA_CUR_STATE)
				a->cur_state = (a->cur_state + 1 + pick(w, 100)) & 0xff;
			else
				want = 0;
			break;
		default:
			if ((QPA_STATE | optional | qp_passed_over(o->qp.type)) & bit)
				want = 0;
			else if (required & bit)
				cmd.mod.mask &= ~bit;
			else
				cmd.mod.mask |= bit;
		}
	}
	if (want)
		modify(w, o, &cmd, want);
}

static bool talk(u32 a, u32 b)
{
	if (a == QPT_XRC_SEND || a == QPT_XRC_RECV)
		return a + b == QPT_XRC_SEND + QPT_XRC_RECV;
	return a == b;
}

/* Both ends to RTS, as an application does it. */
static void connect(struct walk *w, struct obj *a, struct obj *b)
{
	static const u32 way[] = { QPS_RESET, QPS_INIT, QPS_RTR, QPS_RTS };
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP };
	struct hca_qp_attr common;
	u32 required, optional;

	if (!talk(a->qp.type, b->qp.type) || b->uses[Q_IND])
		b = a;
	good_values(w, &common);
	common.access = 0xf;
	common.max_rd_atomic = 1 + pick(w, LIM_RD_ATOM);
	common.max_dest_rd_atomic = 1 + pick(w, LIM_RD_ATOM);
	common.retry_cnt |= 4;
	if (!chance(w, 8)) {
		common.rnr_retry = 7;
		common.timeout = 4 + pick(w, 8);
		common.min_rnr_timer = 1 + pick(w, 6);
	}
	for (u32 i = 0; i < ARRAY_SIZE(way); i++) {
		for (u32 k = 0; k < (a == b ? 1 : 2); k++) {
			struct obj *o = k ? b : a;

			if (!qp_move(o->qp.type, o->qp.state, way[i], &required, &optional))
				return; /* an error of other work came in between */
			cmd.handle = o->handle;
			cmd.mod.attr = common;
			cmd.mod.attr.state = way[i];
			cmd.mod.attr.dest_qpn = k ? a->qp.qpn : b->qp.qpn;
			if (k && a != b) {
				cmd.mod.attr.rq_psn = common.sq_psn;
				cmd.mod.attr.sq_psn = common.rq_psn;
			} else if (a == b) {
				cmd.mod.attr.rq_psn = common.sq_psn;
			}
			cmd.mod.mask = QPA_STATE | required;
			modify(w, o, &cmd, 0);
			qp_check(w, o);
		}
	}
}

static void query(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_QUERY_QP, .handle = o->handle };

	if (chance(w, 8)) {
		cmd.handle = bad_handle(w, o->client, K_QP);
		command(w, o->client, &cmd, -EINVAL, "query of a QP that it has not");
		return;
	}
	command(w, o->client, &cmd, 0, "query QP");
	if (cmd.mod.attr.state != o->qp.state)
		fail(w, "query of QP %#x says %s instead of %s", o->handle,
		     ib_qp_state_name(cmd.mod.attr.state), ib_qp_state_name(o->qp.state));
}

/* What no shim would send: any bits. Whatever comes of it, the QP stays one that can be audited. */
static void modify_garbage(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP, .handle = o->handle };
	u64 *p = (u64 *)(void *)&cmd.mod.attr;

	good_values(w, &cmd.mod.attr);
	for (u32 n = pick(w, 4); n; n--)
		p[pick(w, sizeof(cmd.mod.attr) / 8)] = emu_rnd(&w->rnd);
	cmd.mod.attr.state = pick(w, QPS_COUNT);
	cmd.mod.mask = (u32)emu_rnd(&w->rnd) | QPA_STATE;
	if (chance(w, 2))
		cmd.mod.mask &= qp_any_move(o->qp.type) | QPA_STATE;
	drain(w, o);
	if (command(w, o->client, &cmd, WANT_ANY, "garbage modify QP"))
		return;
	o->qp.state = w->m->hca->qp[o->handle].state;
	if (cmd.mod.attr.state == QPS_RESET)
		queues_reset(w, o);
}

/* Multicast: members hold on to the QP, joining twice is joining once. */
static void group(struct walk *w, struct obj *o)
{
	u32 n = pick(w, 4), bit = 1u << n;
	bool leave = chance(w, 2), member = o->qp.groups & bit;
	struct hca_cmd cmd = { .op = leave ? CMD_DETACH_MCAST : CMD_ATTACH_MCAST,
			       .handle = o->handle };
	int want = leave && !member ? -EINVAL : 0;

	cmd.mcast.gid[0] = 0xff;
	cmd.mcast.gid[15] = (u8)n;
	if (o->qp.type != QPT_UD)
		want = -EINVAL;
	if (!leave && chance(w, 6)) {
		cmd.mcast.gid[0] = 0xfe;
		want = -EINVAL;
	}
	if (command(w, o->client, &cmd, want, "multicast") || member == !leave)
		return;
	o->qp.groups ^= bit;
	o->refs += leave ? -1u : 1;
}

/* One that spreads over WQs has no states. */
static void use_rss(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = chance(w, 2) ? CMD_QUERY_QP : CMD_MODIFY_QP,
			       .handle = o->handle };

	cmd.mod.mask = QPA_STATE | QPA_PORT;
	cmd.mod.attr.state = pick(w, QPS_COUNT);
	cmd.mod.attr.port_num = 1;
	command(w, o->client, &cmd, -EOPNOTSUPP, "state of a spreading QP");
}

void qp_use(struct walk *w, struct obj *o)
{
	u32 what = pick(w, 100);
	struct obj *peer;

	if (o->uses[Q_IND]) {
		use_rss(w, o);
		return;
	}
	if (what < 40) {
		post_send(w, o);
	} else if (what < 72) {
		post_recv(w, o);
	} else if (what < 76) {
		query(w, o);
	} else if (what < 82) {
		modify_bad(w, o);
	} else if (what < 83) {
		group(w, o);
	} else if (what < 84) {
		if (o->client == HOSTILE && chance(w, 2))
			modify_garbage(w, o);
		else
			modify_good(w, o, pick(w, QPS_COUNT), any(w, pick(w, WALKERS), K_QP));
	} else if (o->qp.state != QPS_RTS || chance(w, 50)) {
		peer = any(w, pick(w, WALKERS), K_QP);
		if (peer && (peer->qp.state != QPS_RTS || chance(w, 50)))
			connect(w, o, peer);
	}
}
