/* SPDX-License-Identifier: MIT */
/* Queue pairs of the walk through the verbs. See tests/walk_verbs.h. */
#include "tests/walk_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static int spoil_init(struct ibv_qp_init_attr *init)
{
	struct ibv_device_attr dev;

	if (ibv_query_device(ctx, &dev))
		vfail("ibv_query_device");
	/* With an SRQ, what is said of receives is ignored. */
	switch (init->srq ? 2 * vpick(3) : vpick(5)) {
	case 0:
		init->cap.max_send_wr = (uint32_t)dev.max_qp_wr + 1 + vpick(1000);
		break;
	case 1:
		init->cap.max_recv_wr = (uint32_t)dev.max_qp_wr + 1 + vpick(1000);
		break;
	case 2:
		init->cap.max_send_sge = (uint32_t)dev.max_sge + 1 + vpick(1000);
		break;
	case 3:
		init->cap.max_recv_sge = (uint32_t)dev.max_sge + 1 + vpick(1000);
		break;
	default:
		init->cap.max_inline_data = 1u << 24;
	}
	return EINVAL;
}

void vqp_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD), *scq = vany(me, V_CQ), *rcq = vany(me, V_CQ);
	struct ibv_qp_init_attr init = {
		.cap = { 1 + vpick(VDEPTH), 1 + vpick(VDEPTH), 1 + vpick(VSGE), 1 + vpick(VSGE),
			 vpick(200) },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = (int)vpick(2),
	};
	struct ibv_qp_cap asked = init.cap;
	struct ibv_qp *qp;
	int want = 0;

	if (!pd || !scq || !rcq)
		return;
	o->uses[0] = pd;
	o->uses[1] = scq;
	o->uses[2] = rcq;
	if (vchance(3) && vany(me, V_SRQ)) {
		o->uses[3] = vany(me, V_SRQ);
		init.srq = o->uses[3]->ptr;
		init.cap.max_recv_wr = init.cap.max_recv_sge = asked.max_recv_wr =
			asked.max_recv_sge = 0;
	}
	init.send_cq = scq->ptr;
	init.recv_cq = rcq->ptr;
	if (vchance(8))
		want = spoil_init(&init);
	errno = 0;
	qp = ibv_create_qp(pd->ptr, &init);
	if (!expect_ptr("ibv_create_qp", qp, want))
		return;
	if (init.cap.max_send_wr < asked.max_send_wr || init.cap.max_recv_wr < asked.max_recv_wr ||
	    init.cap.max_send_sge < asked.max_send_sge ||
	    init.cap.max_recv_sge < asked.max_recv_sge ||
	    init.cap.max_inline_data < asked.max_inline_data || init.cap.max_send_wr > VDEPTH ||
	    init.cap.max_recv_wr > VDEPTH)
		vfail("ibv_create_qp grants %u, %u, %u, %u, %u", init.cap.max_send_wr,
		      init.cap.max_recv_wr, init.cap.max_send_sge, init.cap.max_recv_sge,
		      init.cap.max_inline_data);
	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.qpn = qp->qp_num;
	o->qp.sig_all = init.sq_sig_all;
	o->qp.max_inline = init.cap.max_inline_data;
	o->qp.sq.depth = init.cap.max_send_wr;
	o->qp.sq.max_sge = init.cap.max_send_sge;
	o->qp.rq.depth = init.cap.max_recv_wr;
	o->qp.rq.max_sge = init.cap.max_recv_sge;
	vborn(o, qp);
}

int vqp_destroy(struct vobj *o)
{
	int ret = ibv_destroy_qp(o->ptr);

	if (!ret)
		vmodel_reset(o);
	return ret;
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
	o->qp.state = attr->qp_state;
	if (mask & IBV_QP_ACCESS_FLAGS)
		o->qp.access = attr->qp_access_flags;
}

/* What both ends of a connection agree upon. */
static struct rc_opts opts;

static void some_opts(void)
{
	opts = rc_defaults;
	opts.access = vchance(30) ? (int)vpick(16) : ALL_ACCESS;
	opts.timeout = 8;
	opts.retry_cnt = (uint8_t)vpick(2);
	opts.rnr_retry = vchance(40) ? (uint8_t)vpick(7) : 7;
	opts.min_rnr = 1;
	opts.rd_atomic = vchance(50) ? 0 : (uint8_t)(1 + vpick(4));
	opts.dest_rd_atomic = vchance(50) ? 0 : 4;
	opts.mtu = (enum ibv_mtu)(1 + wd->step % 5); /* the same at both ends */
}

static void raise_qp(struct vobj *o, const struct rc_addr *peer, uint32_t psn)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						 IBV_QPS_RTS };
	struct ibv_qp_attr attr;

	for (int i = 0; i < 4; i++) {
		int mask = rc_to(way[i], &opts, peer, wd->gid_index, psn, &attr);

		modify(o, &attr, mask, 0);
	}
	o->qp.max_rd = opts.rd_atomic;
	o->qp.max_dest_rd = opts.dest_rd_atomic;
	o->qp.rnr_retry = opts.rnr_retry;
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
	/* Who of several that wait gets the next receive of a shared queue is not predicted. */
	if (peer->uses[3])
		opts.rnr_retry = 0;
	raise_qp(o, &addr, psn_of(o, peer));
	o->qp.peer = peer;
	o->qp.peer_qpn = peer->qp.qpn;
}

static void connect_pair(struct vobj *o)
{
	struct vobj *peer = vany(wd->first + (int)vpick((uint32_t)wd->actors), V_QP);

	if (!peer || (peer->qp.state == IBV_QPS_RTS && !vchance(20)))
		return;
	connect_to(o, peer);
	if (peer != o)
		run_on(peer->actor, connect_to, peer, o);
}

/* A move that there is not, attributes that are missing or have bad values: nothing changes. */
static void modify_bad(struct vobj *o)
{
	static const enum ibv_qp_state next[] = {
		[IBV_QPS_RESET] = IBV_QPS_INIT, [IBV_QPS_INIT] = IBV_QPS_RTR,
		[IBV_QPS_RTR] = IBV_QPS_RTS,	[IBV_QPS_RTS] = IBV_QPS_RTS,
		[IBV_QPS_ERR] = IBV_QPS_RESET,
	};
	struct rc_addr addr = { 17, 0, wd->gid };
	struct ibv_qp_attr attr;
	enum ibv_qp_state to = next[o->qp.state];
	int mask;

	some_opts();
	mask = rc_to(to, &opts, &addr, wd->gid_index, 0, &attr);
	switch (vpick(4)) {
	case 0: /* one too many */
		mask |= IBV_QP_CAP | IBV_QP_QKEY;
		break;
	case 1: /* a state that does not follow */
		attr.qp_state = o->qp.state == IBV_QPS_RTS ? IBV_QPS_INIT : IBV_QPS_RTS;
		if (o->qp.state == IBV_QPS_RTR)
			attr.qp_state = IBV_QPS_SQD;
		break;
	case 2: /* one is missing */
		if (!(mask & ~(IBV_QP_STATE | IBV_QP_AV)))
			mask |= IBV_QP_ALT_PATH;
		else
			mask &= ~(IBV_QP_PKEY_INDEX | IBV_QP_DEST_QPN | IBV_QP_SQ_PSN);
		break;
	default:
		attr.port_num = attr.ah_attr.port_num = 7;
		attr.timeout = 77;
		if (!(mask & (IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT)))
			mask |= IBV_QP_PKEY_INDEX | IBV_QP_DEST_QPN;
	}
	modify(o, &attr, mask, EINVAL);
}

static void query(struct vobj *o)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	expect_ret("ibv_query_qp", ibv_query_qp(o->ptr, &attr, IBV_QP_STATE, &init), 0);
	if (attr.qp_state != o->qp.state)
		vfail("QP %#x is in state %d, not %d", o->qp.qpn, attr.qp_state, o->qp.state);
	if (o->qp.state >= IBV_QPS_RTR && o->qp.peer && o->qp.state != IBV_QPS_ERR &&
	    attr.dest_qp_num != o->qp.peer_qpn)
		vfail("QP %#x has the peer %#x, not %#x", o->qp.qpn, attr.dest_qp_num,
		      o->qp.peer_qpn);
	if (init.send_cq != o->uses[1]->ptr || init.recv_cq != o->uses[2]->ptr ||
	    init.cap.max_send_wr != o->qp.sq.depth)
		vfail("ibv_query_qp: other attributes than it was created with");
}

void vqp_use(struct vobj *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint32_t what = vpick(100);

	if (what < 36) {
		vpost_send(o);
	} else if (what < 66) {
		vpost_recv(o->uses[3] ? o->uses[3] : o);
	} else if (what < 70) {
		query(o);
	} else if (what < 75) {
		modify_bad(o);
	} else if (what < 76) {
		modify(o, &attr, IBV_QP_STATE, o->qp.state == IBV_QPS_RESET ? EINVAL : 0);
	} else if (o->qp.state != IBV_QPS_RTS || vchance(50)) {
		connect_pair(o);
	}
}
