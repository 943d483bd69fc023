/* SPDX-License-Identifier: MIT */
/**
 * DOC: sending: a MAD is a datagram from QP 1 to QP 1 (IBTA 13.5). It may get lost; a sender that
 * expects an answer retransmits it. MADs that have to wait for the fabric process leave in the
 * order in which they were sent: a REJ that overtook its subject would match nothing.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/mad.h"
#include "emulator/port.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"

#define MAD_RETRY_NS 1000000u

/* Whether it takes the path of the deferred ones. */
static bool mad_is_relayed(const struct hca *hca, const struct hca_cmmad *m)
{
	const struct hca_path path = { .src_dev = m->dev,
				       .src_port = (u8)m->port,
				       .dst_dev = m->av.dst_dev,
				       .dst_port = m->av.dst_port };

	return av_is_relayed(hca, &path, &m->av);
}

/* Put a MAD of the ring on the wire. Return: as xmit(). */
static int mad_xmit(struct engine *e, const struct hca_cmmad *m)
{
	struct hca *hca = e->hca;
	struct hca_mem mem = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 };
	struct burst b = {
		.op = BOP_SEND,
		.flags = BF_FIRST | BF_LAST,
		.src_dev = m->dev,
		.src_port = (u8)m->port,
		.dst_dev = m->av.dst_dev,
		.dst_port = m->av.dst_port,
		.pkey = m->pkey,
		.src_qpn = GSI_QPN,
		.dst_qpn = GSI_QPN,
		.psn = m->psn,
		.npkts = 1,
		.qkey = GSI_QKEY,
		.dst_type = QPT_UD,
		.len = MAD_SIZE,
		.av = &m->av,
		.mem = &mem,
	};

	mem.iov[0].addr = (u64)((const char *)m->mad - (const char *)hca);
	mem.iov[0].len = MAD_SIZE;
	b.mtu = ib_mtu_bytes(hca->dev[m->dev].port[m->port].active_mtu);
	b.via = mad_is_relayed(hca, m);
	return wire_send(e, &b);
}

static u64 mad_retry_at(struct engine *e)
{
	return e->ops->now(e->ctx) + MAD_RETRY_NS;
}

/* Put a MAD into the ring of those under way, and on the wire. */
static void mad_post(struct engine *e, u32 dev, u32 port, u16 pkey, const struct hca_av *av,
		     const u8 mad[MAD_SIZE])
{
	struct hca *hca = e->hca;
	struct hca_port *p = port_of(hca, dev, port);
	u64 nth = hca->cm_sent;
	struct hca_cmmad *m = &hca->cm_mad[nth % HCA_CM_MADS];
	bool behind;

	if (!p)
		return;
	m->waits = 0;
	m->dev = dev;
	m->port = port;
	m->pkey = pkey;
	m->av = *av;
	memcpy(m->mad, mad, MAD_SIZE);
	m->psn = p->gsi_psn;
	p->gsi_psn = psn_add(p->gsi_psn, 1);
	store_release(&hca->cm_sent, nth + 1);
	behind = hca->cm_left != nth && mad_is_relayed(hca, m);
	if (hca->cm_left == nth)
		hca->cm_left = nth + 1;
	if (!behind && mad_xmit(e, m) != -EAGAIN)
		return;
	store_release(&m->waits, 1);
	hca->cm_left = min_u64(hca->cm_left, nth);
	/* The fabric process sends it after the earlier ones, or retries later. */
	store_release(&hca->next_deadline,
		      min_u64(hca->next_deadline, !behind && e->ops->link ? mad_retry_at(e) : 1));
	e->kick = true;
}

u64 cm_send_deferred(struct engine *e)
{
	struct hca *hca = e->hca;
	struct hca_cmmad *m;

	if (likely(hca->cm_left == hca->cm_sent) || e->self != ENGINE_FABRIC)
		return ~0ULL;
	/* Older ones were overwritten. */
	if (hca->cm_sent - hca->cm_left > HCA_CM_MADS)
		hca->cm_left = hca->cm_sent - HCA_CM_MADS;
	for (; hca->cm_left != hca->cm_sent; hca->cm_left++) {
		m = &hca->cm_mad[hca->cm_left % HCA_CM_MADS];
		if (m->waits && port_of(hca, m->dev, m->port) && mad_xmit(e, m) == -EAGAIN)
			return mad_retry_at(e);
		m->waits = 0;
	}
	return ~0ULL;
}

void cm_send_mad(struct engine *e, const struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	if (id->bound)
		mad_post(e, id->bound - 1, id->port, (u16)id->pkey, &id->av, mad);
}

void cm_reply_av(const struct hca *hca, const struct burst *b, struct hca_av *av)
{
	const struct hca_port *from = &hca->dev[b->src_dev].port[b->src_port];
	const struct hca_port *to = &hca->dev[b->dst_dev].port[b->dst_port];
	int index;

	*av = *b->av;
	index = cm_gid_index(to, b->av->dgid);
	memcpy(av->dgid, from->gid[b->av->sgid_index % HCA_GIDS].raw, sizeof(av->dgid));
	av->sgid_index = index < 0 ? 0 : (u8)index;
	av->dst_dev = b->src_dev;
	av->dst_port = b->src_port;
	av->port_num = b->dst_port;
	av->dlid = (u16)from->lid;
}

void cm_reply_mad(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	struct hca_av av;

	cm_reply_av(e->hca, b, &av);
	mad_post(e, b->dst_dev, b->dst_port, b->pkey, &av, mad);
}

void cm_send_with_retries(struct engine *e, struct hca_cmid *id, u32 proto)
{
	id->retries = id->max_retries;
	id->wait = id->response;
	id->drops = 0;
	id->refused_by = 0;
	cm_timer_arm(e, id, e->ops->now(e->ctx) + id->wait);
	store_release(&id->proto, proto);
	cm_send_mad(e, id, id->mad);
}

static void mad_set_ids(u8 mad[MAD_SIZE], const struct hca_cmid *id)
{
	mad_set(mad, F_LOCAL_ID, id->local_id);
	mad_set(mad, F_REMOTE_ID, id->remote_id);
}

void cm_send_rej(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE], u32 reason,
		 u32 about, const void *info, u32 info_len)
{
	u8 rej[MAD_SIZE];

	mad_start(rej, MAD_REJ, mad_get(mad, F_TID));
	/* A REQ has no remote id: the field is not ours. */
	mad_set(rej, F_LOCAL_ID, about == ABOUT_REQ ? 0 : mad_get(mad, F_REMOTE_ID));
	mad_set(rej, F_REMOTE_ID, mad_get(mad, F_LOCAL_ID));
	mad_set(rej, F_REJ_ABOUT, about);
	mad_set(rej, F_REJ_REASON, reason);
	mad_set(rej, F_REJ_INFO_LEN, info_len);
	if (info_len)
		memcpy(rej + REJ_INFO, info, info_len);
	cm_reply_mad(e, b, rej);
}

void cm_send_mra(struct engine *e, const struct hca_cmid *id, u32 about)
{
	u8 mad[MAD_SIZE];

	mad_start(mad, MAD_MRA, id->tid);
	mad_set_ids(mad, id);
	mad_set(mad, F_MRA_ABOUT, about);
	mad_set(mad, F_MRA_TIMEOUT, CM_MRA_TIMEOUT);
	cm_send_mad(e, id, mad);
}

void cm_send_rtu(struct engine *e, const struct hca_cmid *id)
{
	u8 mad[MAD_SIZE];

	mad_start(mad, MAD_RTU, id->tid);
	mad_set_ids(mad, id);
	cm_send_mad(e, id, mad);
}

void cm_send_drep(struct engine *e, const struct hca_cmid *id)
{
	u8 mad[MAD_SIZE];

	mad_start(mad, MAD_DREP, id->tid);
	mad_set_ids(mad, id);
	cm_send_mad(e, id, mad);
}

void cm_send_dreq(struct engine *e, struct hca_cmid *id, bool keep)
{
	id->tid = ++e->hca->cm_tid;
	mad_start(id->mad, MAD_DREQ, id->tid);
	mad_set_ids(id->mad, id);
	mad_set(id->mad, F_DREQ_QPN, id->remote_qpn);
	if (keep)
		cm_send_with_retries(e, id, CMP_DREQ_SENT);
	else
		cm_send_mad(e, id, id->mad);
}
