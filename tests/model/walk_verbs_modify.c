/* SPDX-License-Identifier: MIT */
/* Steps on queue pairs: their states, connections, work. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>

#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | VB_ACCESS_GLOBAL | VB_ACCESS_PERSISTENT)

static void enter_sqd(struct vobj *o, bool notify)
{
	o->qp.begun = o->qp.sq.done + (o->qp.sq.done != o->qp.sq.posted);
	o->qp.notify = notify;
}

static void modify(struct vobj *o, struct ibv_qp_attr *attr, int mask, int want)
{
	expect_ret("ibv_modify_qp", ibv_modify_qp(o->ptr, attr, mask), want);
	if (want)
		return;
	if (attr->qp_state == IBV_QPS_RESET)
		vmodel_reset(o);
	else if (attr->qp_state == IBV_QPS_ERR)
		vmodel_error(o);
	else if (attr->qp_state == IBV_QPS_SQD)
		enter_sqd(o, (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify);
	else
		o->qp.notify = false;
	o->qp.state = attr->qp_state;
	if (mask & IBV_QP_ACCESS_FLAGS)
		o->qp.access = attr->qp_access_flags;
	if (mask & IBV_QP_QKEY)
		o->qp.qkey = attr->qkey;
}

/* What both ends of a connection agree upon. */
static struct rc_opts opts;

static void some_opts(void)
{
	opts = rc_defaults;
	opts.access = (int)(vchance(30) ? vpick(16) | vpick(4) << 8 : ALL_ACCESS);
	opts.timeout = 8;
	opts.retry_cnt = (uint8_t)vpick(2);
	opts.rnr_retry = vchance(40) ? (uint8_t)vpick(7) : 7;
	opts.min_rnr = 1;
	opts.rd_atomic = vchance(50) ? 0 : (uint8_t)(1 + vpick(4));
	opts.dest_rd_atomic = vchance(50) ? 0 : 4;
	opts.mtu = (enum ibv_mtu)(1 + wd->step % 5); /* the same at both ends */
}

/* The attributes that the type needs on its way to a state. Return: the mask. */
static int attrs_to(const struct vobj *o, enum ibv_qp_state to, const struct rc_addr *peer,
		    uint32_t psn, struct ibv_qp_attr *attr)
{
	const int resp = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int mask = rc_to(to, &opts, peer, wd->gid_index, psn, attr);

	attr->qkey = vchance(10) ? 0x22222222 : 0x11111111;
	switch (o->qp.type) {
	case IBV_QPT_UC:
		return to == IBV_QPS_RTS ? IBV_QP_STATE | IBV_QP_SQ_PSN : mask & ~resp;
	case IBV_QPT_UD:
		if (to == IBV_QPS_INIT)
			return (mask & ~IBV_QP_ACCESS_FLAGS) | IBV_QP_QKEY;
		return to == IBV_QPS_RTS ? IBV_QP_STATE | IBV_QP_SQ_PSN : IBV_QP_STATE;
	case IBV_QPT_RAW_PACKET:
		return to == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE;
	case IBV_QPT_XRC_SEND: /* what only a responder has is passed over */
		return vchance(2) ? mask & ~resp : mask;
	case IBV_QPT_XRC_RECV:
		return to == IBV_QPS_RTS ? IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN : mask;
	default:
		return mask;
	}
}

static void raise_qp(struct vobj *o, const struct rc_addr *peer, uint32_t psn)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						 IBV_QPS_RTS };
	struct ibv_qp_attr attr;

	for (int i = 0; i < 4; i++) {
		int mask = attrs_to(o, way[i], peer, psn, &attr);

		modify(o, &attr, mask, 0);
	}
	o->qp.max_rd = opts.rd_atomic;
	o->qp.max_dest_rd = opts.dest_rd_atomic;
	o->qp.rnr_retry = opts.rnr_retry;
	o->qp.mtu = 128u << opts.mtu;
}

/* The numbers follow from what both know: each end computes them by itself. */
static uint32_t psn_of(const struct vobj *from, const struct vobj *to)
{
	return (uint32_t)((wd->step * 2654435761u) ^ (from->qp.qpn << 4) ^ to->qp.qpn) & 0xffffff;
}

static void connect_to(struct vobj *o, struct vobj *peer)
{
	struct rc_addr addr = { peer->qp.qpn, psn_of(peer, o), wd->gid };

	some_opts();
	/* The model does not predict which of several waiting QPs gets an SRQ's next receive. */
	if (peer->uses[U_SRQ] || vqp_is_xrc(o))
		opts.rnr_retry = 0;
	raise_qp(o, &addr, psn_of(o, peer));
	o->qp.peer = peer;
	o->qp.peer_qpn = peer->qp.qpn;
}

static bool talk(const struct vobj *a, const struct vobj *b)
{
	if (vqp_is_xrc(a))
		return vqp_is_xrc(b) && a->qp.type != b->qp.type;
	return a->qp.type == b->qp.type;
}

static struct vobj *some_peer(const struct vobj *o)
{
	for (int n = 0; n < 8; n++) {
		struct vobj *peer = vany(wd->first + (int)vpick((uint32_t)wd->actors), V_QP);

		if (peer && talk(o, peer))
			return peer;
	}
	return NULL;
}

static void connect_pair(struct vobj *o)
{
	struct rc_addr nobody = { 0, 0, wd->gid };
	struct vobj *peer;

	if (o->qp.type == IBV_QPT_UD || o->qp.type == IBV_QPT_RAW_PACKET) {
		some_opts();
		raise_qp(o, &nobody, 0);
		return;
	}
	peer = some_peer(o);
	if (!peer || (peer->qp.state == IBV_QPS_RTS && !vchance(20)))
		return;
	connect_to(o, peer);
	if (peer != o)
		run_on(peer->actor, connect_to, peer, o);
}

/* An invalid transition, attributes that are missing or have bad values: nothing changes. */
static void modify_bad(struct vobj *o)
{
	static const enum ibv_qp_state next[] = {
		[IBV_QPS_RESET] = IBV_QPS_INIT, [IBV_QPS_INIT] = IBV_QPS_RTR,
		[IBV_QPS_RTR] = IBV_QPS_RTS,	[IBV_QPS_RTS] = IBV_QPS_RTS,
		[IBV_QPS_SQD] = IBV_QPS_RTS,	[IBV_QPS_SQE] = IBV_QPS_RTS,
		[IBV_QPS_ERR] = IBV_QPS_RESET,
	};
	struct rc_addr addr = { 17, 0, wd->gid };
	enum ibv_qp_state from = o->qp.state, to = next[from];
	struct ibv_qp_attr attr;
	int mask;

	some_opts();
	mask = attrs_to(o, to, &addr, 0, &attr);
	switch (vpick(4)) {
	case 0: /* one too many */
		mask |= IBV_QP_CAP | IBV_QP_QKEY;
		break;
	case 1: /* a state that does not follow */
		attr.qp_state = from == IBV_QPS_RTR			     ? IBV_QPS_SQD
				: from >= IBV_QPS_RTS && from <= IBV_QPS_SQE ? IBV_QPS_INIT
									     : IBV_QPS_RTS;
		break;
	case 2: /* one is missing */
		if (!(mask & ~(IBV_QP_STATE | IBV_QP_AV)) || from == IBV_QPS_SQD ||
		    from == IBV_QPS_SQE || from == IBV_QPS_RTS)
			mask |= IBV_QP_ALT_PATH;
		else
			mask &= ~(IBV_QP_PKEY_INDEX | IBV_QP_DEST_QPN | IBV_QP_SQ_PSN |
				  (o->qp.type == IBV_QPT_RAW_PACKET ? IBV_QP_PORT : 0));
		break;
	default:
		attr.port_num = attr.ah_attr.port_num = 7;
		attr.timeout = 77;
		if (!(mask & (IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT)))
			mask |= IBV_QP_PKEY_INDEX | IBV_QP_DEST_QPN;
	}
	modify(o, &attr, mask, EINVAL);
}

/* Sends stop and go on again, or the QP goes to ERR. */
static void modify_good(struct vobj *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	enum ibv_qp_state s = o->qp.state;
	int mask = IBV_QP_STATE;

	if ((s != IBV_QPS_RTS && s != IBV_QPS_SQD && s != IBV_QPS_SQE) || vchance(4) ||
	    o->qp.type == IBV_QPT_XRC_RECV) {
		attr.qp_state = IBV_QPS_ERR;
		modify(o, &attr, mask, s == IBV_QPS_RESET ? EINVAL : 0);
		return;
	}
	if (s == IBV_QPS_RTS) {
		attr.qp_state = IBV_QPS_SQD;
		attr.en_sqd_async_notify = (uint8_t)vpick(2);
		mask |= vchance(2) ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0;
	} else if (vchance(2) && o->qp.type != IBV_QPT_RAW_PACKET) {
		attr.cur_qp_state = s;
		mask |= IBV_QP_CUR_STATE;
	}
	modify(o, &attr, mask, 0);
}

static void query(struct vobj *o)
{
	bool target = o->qp.type == IBV_QPT_XRC_RECV;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	expect_ret("ibv_query_qp", ibv_query_qp(o->ptr, &attr, IBV_QP_STATE, &init), 0);
	if (attr.qp_state != o->qp.state)
		vfail("QP %#x is in state %d, not %d", o->qp.qpn, attr.qp_state, o->qp.state);
	if (o->qp.state >= IBV_QPS_RTR && o->qp.peer && o->qp.state != IBV_QPS_ERR &&
	    attr.dest_qp_num != o->qp.peer_qpn)
		vfail("QP %#x has the peer %#x, not %#x", o->qp.qpn, attr.dest_qp_num,
		      o->qp.peer_qpn);
	if (!target && (init.send_cq != o->uses[U_CQ]->ptr ||
			(o->uses[U_RCQ] && init.recv_cq != o->uses[U_RCQ]->ptr) ||
			init.cap.max_send_wr != o->qp.sq.depth))
		vfail("ibv_query_qp: other attributes than it was created with");
}

void vqp_use(struct vobj *o)
{
	bool target = o->qp.type == IBV_QPT_XRC_RECV, idle = o->qp.type == IBV_QPT_XRC_SEND;
	uint32_t what = vpick(100);

	if (what < 36 && !target)
		vpost_send(o);
	else if (what < 66 && !target && !idle)
		vpost_recv(o->uses[U_SRQ] ? o->uses[U_SRQ] : o);
	else if (what < 70)
		query(o);
	else if (what < 75)
		modify_bad(o);
	else if (what < 77 ||
		 (what < 82 && (o->qp.state == IBV_QPS_SQD || o->qp.state == IBV_QPS_SQE)))
		modify_good(o);
	else if (o->qp.state != IBV_QPS_RTS || vchance(50))
		connect_pair(o);
}
