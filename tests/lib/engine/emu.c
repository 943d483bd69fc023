/* SPDX-License-Identifier: MIT */
/* An HCA with clients in this process: objects, posting, polling. See tests/lib/engine/emu.h. */
#include "emulator/doorbell.h"
#include "tests/lib/engine/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

const struct emu_conn emu_conn_defaults = {
	.psn_a = 0x123456,
	.psn_b = 0x654321,
	.mtu = 3,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr = 12,
	.rd_atomic = 4,
	.depth = 64,
	.type = QPT_RC,
	.access = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC,
};

static void fatal(const char *what, int ret)
{
	fprintf(stderr, "emu: %s: %d\n", what, ret);
	abort();
}

u64 emu_rnd(u64 *state)
{
	u64 x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

u32 emu_walk_steps(u32 usual)
{
	const char *share = getenv("WALK_SHARE");
	long n = share ? atol(share) : 1;

	return n > 1 ? (u32)(usual / n) : usual;
}

void emu_fill(void *buf, size_t len, u64 seed)
{
	u8 *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (u8)((seed + i) * 0x9e3779b1u >> 13);
}

bool emu_filled(const void *buf, size_t len, u64 seed)
{
	const u8 *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != (u8)((seed + i) * 0x9e3779b1u >> 13))
			return false;
	return true;
}

int emu_cmd(struct emu *m, u32 client, struct hca_cmd *cmd)
{
	struct engine *e = &m->c[client].e;
	int ret = engine_enter(e);

	if (ret)
		return ret;
	ret = hca_cmd_exec(e, client, cmd);
	engine_leave(e);
	return ret;
}

static void must(struct emu *m, u32 client, struct hca_cmd *cmd, const char *what)
{
	int ret = emu_cmd(m, client, cmd);

	if (ret)
		fatal(what, ret);
}

static u64 seg_take(struct emu *m, u32 client, u64 size)
{
	struct emu_client *c = &m->c[client];
	u64 room = ALIGN_UP(size, 64u);
	u64 off = __atomic_fetch_add(&c->heap, room, __ATOMIC_RELAXED);

	if (off + room > EMU_EVENTS)
		fatal("segment is used up", (int)client);
	memset((u8 *)c->seg + off, 0, size);
	return off;
}

struct emu_cq emu_cq_new(struct emu *m, u32 client, u32 depth)
{
	struct emu_cq cq = { .client = client, .depth = depth };
	struct hca_cmd cmd = { .op = CMD_CREATE_CQ };

	cq.ring = seg_take(m, client, CQ_HDR + depth * sizeof(struct cqe));
	cmd.cq.ring = cq.ring;
	cmd.cq.depth = depth;
	must(m, client, &cmd, "create CQ");
	cq.index = cmd.handle;
	return cq;
}

static void srq_new(struct emu *m, struct emu_qp *q, u32 sge, u32 tags, u32 xrcd)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_SRQ };

	q->rq = seg_take(m, q->client, srq_slots_off(q->rq_depth) + q->rq_depth * q->rq_stride);
	cmd.srq.ring = q->rq;
	cmd.srq.pd = m->c[q->client].pd;
	cmd.srq.depth = cmd.srq.max_wr = q->rq_depth;
	cmd.srq.max_sge = sge;
	if (tags) {
		cmd.srq.type = SRQ_TM;
		cmd.srq.max_tags = tags;
		cmd.srq.cq = q->rcq.index + 1;
	} else if (xrcd) {
		cmd.srq.type = SRQ_XRC;
		cmd.srq.xrcd = xrcd;
		cmd.srq.cq = q->rcq.index + 1;
	}
	must(m, q->client, &cmd, "create SRQ");
	q->srq_index = cmd.handle;
	q->srqn = cmd.srq.srqn;
}

void emu_srq_free(struct emu *m, struct emu_qp *q)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_SRQ, .handle = q->srq_index };

	must(m, q->client, &cmd, "destroy SRQ");
}

u32 emu_xrcd_open(struct emu *m, u32 client, u64 ino)
{
	struct hca_cmd cmd = { .op = CMD_OPEN_XRCD };

	cmd.xrcd.st_ino = ino;
	cmd.xrcd.oflags = XRCD_CREAT;
	must(m, client, &cmd, "open XRC domain");
	return cmd.handle;
}

struct emu_qp emu_xrc_srq(struct emu *m, u32 client, const struct emu_conn *o)
{
	struct emu_qp q = { .client = client, .rq_depth = o->depth, .srq = true };

	q.rq_stride = rq_stride(1);
	q.rcq = emu_cq_new(m, client, 2 * o->depth);
	srq_new(m, &q, 1, 0, o->xrcd);
	return q;
}

struct emu_qp emu_qp_new(struct emu *m, u32 client, const struct emu_conn *o, u32 sge)
{
	u32 depth = o->depth;
	bool srq = o->srq || o->tags || o->share;
	struct emu_qp q = { .client = client, .sq_depth = depth, .rq_depth = depth, .srq = srq };
	struct hca_cmd cmd = { .op = CMD_CREATE_QP };

	q.sq_stride = sq_stride(sge, 0);
	q.rq_stride = rq_stride(sge);
	q.scq = emu_cq_new(m, client, 2 * depth);
	q.rcq = emu_cq_new(m, client, 2 * depth);
	q.sq = seg_take(m, client, sizeof(struct wq_ctl) + depth * q.sq_stride);
	if (o->share) {
		q.rq = o->share->rq;
		q.srq_index = o->share->srq_index;
	} else if (srq)
		srq_new(m, &q, sge, o->tags, 0);
	else
		q.rq = seg_take(m, client, sizeof(struct wq_ctl) + depth * q.rq_stride);
	cmd.qp = (struct cmd_qp){
		.type = o->type,
		.pd = m->c[client].pd,
		.scq = q.scq.index,
		.rcq = q.rcq.index,
		.sq_ring = q.sq,
		.srq = srq ? q.srq_index + 1 : 0,
		.rq_ring = srq ? 0 : q.rq,
		.sq_depth = depth,
		.rq_depth = srq ? 0 : depth,
		.max_sge = sge,
		.max_rsge = sge,
		.cap_send_wr = depth,
		.cap_recv_wr = depth,
	};
	if (o->source_qpn) {
		cmd.qp.create_flags = QPC_SOURCE_QPN;
		cmd.qp.source_qpn = o->source_qpn;
	}
	if (o->type == QPT_XRC_SEND || o->type == QPT_XRC_RECV)
		cmd.qp.rq_depth = 0;
	if (o->type == QPT_XRC_RECV) {
		cmd.qp.xrcd = o->xrcd;
		cmd.qp.pd = cmd.qp.sq_depth = 0;
	}
	must(m, client, &cmd, "create QP");
	q.slot = cmd.handle;
	q.qpn = cmd.qp.qpn;
	return q;
}

int emu_modify(struct emu *m, const struct emu_qp *q, const struct hca_qp_attr *attr, u32 mask)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP, .handle = q->slot };

	cmd.mod.attr = *attr;
	cmd.mod.mask = mask;
	return emu_cmd(m, q->client, &cmd);
}

/* @port, @peer_port: of each */
static void to_rts(struct emu *m, const struct emu_qp *q, const struct emu_qp *peer, u32 sq_psn,
		   u32 rq_psn, u32 port, u32 peer_port, const struct emu_conn *o)
{
	struct hca_qp_attr attr = {
		.state = QPS_INIT,
		.port_num = port,
		.access = o->access,
		.path_mtu = o->mtu,
		.dest_qpn = peer->qpn,
		.rq_psn = rq_psn,
		.sq_psn = sq_psn,
		.max_dest_rd_atomic = o->rd_atomic,
		.max_rd_atomic = o->rd_atomic,
		.min_rnr_timer = o->min_rnr,
		.timeout = o->timeout,
		.retry_cnt = o->retry_cnt,
		.rnr_retry = o->rnr_retry,
	};
	u32 type = m->hca->qp[q->slot].type;
	bool responds = type == QPT_RC || type == QPT_XRC_RECV;
	bool requests = type == QPT_RC || type == QPT_XRC_SEND;
	int ret;

	attr.av.is_global = 1;
	attr.av.port_num = (u8)port;
	memcpy(attr.av.dgid, m->hca->dev[0].port[peer_port].gid[0].raw, 16);
	ret = emu_modify(m, q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS);
	if (ret)
		fatal("to INIT", ret);
	attr.state = QPS_RTR;
	ret = emu_modify(m, q, &attr,
			 QPA_STATE | QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN |
				 (responds ? QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER : 0));
	if (ret)
		fatal("to RTR", ret);
	attr.state = QPS_RTS;
	ret = emu_modify(m, q, &attr,
			 QPA_STATE | QPA_SQ_PSN | (type == QPT_XRC_RECV ? QPA_TIMEOUT : 0) |
				 (requests ? QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY |
						     QPA_MAX_QP_RD_ATOMIC
					   : 0));
	if (ret)
		fatal("to RTS", ret);
}

void emu_connect(struct emu *m, u32 a, u32 b, const struct emu_conn *o, struct emu_qp *qa,
		 struct emu_qp *qb)
{
	*qa = emu_qp_new(m, a, o, 4);
	*qb = emu_qp_new(m, b, o, 4);
	emu_pair(m, qa, qb, o);
}

void emu_pair(struct emu *m, const struct emu_qp *qa, const struct emu_qp *qb,
	      const struct emu_conn *o)
{
	u32 port_b = emu_port_b(o);

	to_rts(m, qa, qb, o->psn_a, o->psn_b, 1, port_b, o);
	to_rts(m, qb, qa, o->psn_b, o->psn_a, port_b, 1, o);
}

void emu_start_datagrams(struct emu *m, const struct emu_qp *q, u32 port, u32 qkey)
{
	struct hca_qp_attr attr = { .state = QPS_INIT, .port_num = port, .qkey = qkey };
	int ret = emu_modify(m, q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY);

	if (ret)
		fatal("to INIT", ret);
	attr.state = QPS_RTR;
	ret = emu_modify(m, q, &attr, QPA_STATE);
	if (ret)
		fatal("to RTR", ret);
	attr.state = QPS_RTS;
	ret = emu_modify(m, q, &attr, QPA_STATE | QPA_SQ_PSN);
	if (ret)
		fatal("to RTS", ret);
}

u32 emu_address(struct emu *m, u32 client, u32 port, const u8 gid[16])
{
	struct hca_cmd cmd = { .op = CMD_CREATE_AH };

	cmd.ah.pd = m->c[client].pd;
	cmd.ah.av.is_global = 1;
	cmd.ah.av.port_num = (u8)port;
	memcpy(cmd.ah.av.dgid, gid, 16);
	must(m, client, &cmd, "create AH");
	return cmd.handle;
}

void emu_destroy(struct emu *m, struct emu_qp *q)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_QP, .handle = q->slot };

	must(m, q->client, &cmd, "destroy QP");
	if (q->srq) {
		cmd = (struct hca_cmd){ .op = CMD_DESTROY_SRQ, .handle = q->srq_index };
		must(m, q->client, &cmd, "destroy SRQ");
	}
	cmd = (struct hca_cmd){ .op = CMD_DESTROY_CQ, .handle = q->scq.index };
	must(m, q->client, &cmd, "destroy CQ");
	cmd.handle = q->rcq.index;
	must(m, q->client, &cmd, "destroy CQ");
}

struct sq_wqe *emu_post(struct emu *m, struct emu_qp *q, u32 opcode, u64 wr_id, void *addr, u32 len)
{
	u8 *ring = (u8 *)m->c[q->client].seg + q->sq + sizeof(struct wq_ctl);
	struct sq_wqe *w = (void *)(ring + (q->sq_prod++ % q->sq_depth) * q->sq_stride);

	memset(w, 0, sizeof(*w));
	w->wr_id = wr_id;
	w->opcode = (u8)opcode;
	w->send_flags = SEND_SIGNALED;
	w->total_len = len;
	w->num_sge = addr ? 1 : 0;
	w->sge[0] = (struct wq_sge){ (uintptr_t)addr, len, m->c[q->client].key };
	return w;
}

void emu_remote(struct emu *m, struct sq_wqe *w, u32 to, void *addr)
{
	w->remote_addr = (uintptr_t)addr;
	w->rkey = m->c[to].key;
}

static void publish(struct emu *m, const struct emu_qp *q, u64 ring, u32 prod)
{
	struct wq_ctl *ctl = (void *)((u8 *)m->c[q->client].seg + ring);

	store_release(&ctl->prod, prod);
}

void emu_reconnect(struct emu *m, struct emu_qp *q, const struct emu_qp *peer, u32 psn,
		   const struct emu_conn *o)
{
	int ret = emu_modify(m, q, &(struct hca_qp_attr){ .state = QPS_RESET }, QPA_STATE);

	if (ret)
		fatal("to RESET", ret);
	q->sq_prod = q->rq_prod = 0;
	publish(m, q, q->sq, 0);
	publish(m, q, q->rq, 0);
	to_rts(m, q, peer, psn, o->psn_b, 1, emu_port_b(o), o);
}

void emu_ring(struct emu *m, struct emu_qp *q)
{
	struct emu_client *c = &m->c[q->client];

	publish(m, q, q->sq, q->sq_prod);
	engine_doorbell(&c->e, c->seg, q->slot);
}

void emu_publish(struct emu *m, struct emu_qp *q)
{
	publish(m, q, q->sq, q->sq_prod);
	engine_ring(&m->c[q->client].e, q->client, q->slot);
}

void emu_recv(struct emu *m, struct emu_qp *q, u64 wr_id, void *addr, u32 len)
{
	u8 *ring = (u8 *)m->c[q->client].seg + q->rq;
	u64 off = q->srq ? srq_slots_off(q->rq_depth) : sizeof(struct wq_ctl);
	u32 slot = q->rq_prod % q->rq_depth;
	struct rq_wqe *w = (void *)(ring + off + slot * q->rq_stride);

	/* Receives of an SRQ with one QP end in order, so that slots come round by themselves. */
	if (q->srq)
		((u32 *)(void *)(ring + sizeof(struct wq_ctl)))[slot] = slot;
	q->rq_prod++;
	w->wr_id = wr_id;
	w->total_len = len;
	w->num_sge = addr ? 1 : 0;
	w->sge[0] = (struct wq_sge){ (uintptr_t)addr, len, m->c[q->client].key };
	publish(m, q, q->rq, q->rq_prod);
}

bool emu_poll(struct emu *m, struct emu_cq *cq, struct cqe *out, void *data)
{
	u8 *base = (u8 *)m->c[cq->client].seg + cq->ring;
	struct cq_ctl *ctl = (void *)base;
	struct cqe *ring = (void *)(base + CQ_HDR);
	struct cqe *c = &ring[cq->cons & (cq->depth - 1)];

	if (load_acquire(&c->seq) != cq->cons + 1)
		return false;
	*out = *c;
	if ((c->flags & CQE_HAS_DATA) && data)
		memcpy(data, c->data, c->byte_len);
	cq->cons++;
	store_release(&ctl->cons, cq->cons);
	return true;
}

u32 emu_state(struct emu *m, const struct emu_qp *q)
{
	return m->hca->qp[q->slot].state;
}

int emu_event(struct emu *m, u32 client)
{
	struct chan_ring *r = &m->c[client].seg->chan[0];
	const struct chan_event *ev = (void *)((u8 *)m->c[client].seg + r->events);
	int type;

	if (load_acquire(&r->prod) == r->cons)
		return -1;
	type = (int)ev[r->cons % SEG_CHAN_DEPTH].type;
	r->cons++;
	return type;
}
