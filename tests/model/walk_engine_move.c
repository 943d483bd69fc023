/* SPDX-License-Identifier: MIT */
/* Steps on queue pairs: the state machine, connections, groups. See tests/model/walk.h. */
#include "tests/model/walk.h"

static int modify(struct walk *w, struct obj *o, struct hca_cmd *cmd, int want)
{
	u32 to = cmd->mod.mask & QPA_STATE ? cmd->mod.attr.state : o->qp.state;
	int ret;

	if (!want && (to == QPS_RESET || o->qp.state == QPS_SQE))
		qp_drain(w, o);
	ret = command(w, o->client, cmd, want, "modify QP");
	if (ret)
		return ret;
	if (o->qp.state == QPS_SQE && to == QPS_RTS)
		o->qp.failed = false;
	o->qp.state = to;
	if (to == QPS_RESET)
		qp_reset_queues(w, o);
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
	common.access = 0xf | ACC_FLUSH;
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
	qp_drain(w, o);
	if (command(w, o->client, &cmd, WANT_ANY, "garbage modify QP"))
		return;
	if (o->qp.state == QPS_SQE)
		o->qp.failed = false;
	o->qp.state = w->m->hca->qp[o->handle].state;
	if (cmd.mod.attr.state == QPS_RESET)
		qp_reset_queues(w, o);
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
