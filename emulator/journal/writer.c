/* SPDX-License-Identifier: MIT */
/**
 * DOC: writing the journal: who, what, and the cause that the caller gives. why.c finds out what
 * led to that cause.
 *
 * An entry is complete before its ring's counter includes it. A reader, which holds no token, only
 * has to check whether the entry was overwritten while it was read. A holder that dies in between
 * leaves a slot that the next entry uses.
 */
#include "emulator/engine.h"
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "emulator/qp.h"

bool journal_is_error(const struct journal_entry *j)
{
	if (j->kind != JRN_EVENT)
		return j->kind <= JRN_CALL;
	switch (j->status) {
	case EV_COMM_EST:
	case EV_SQ_DRAINED:
	case EV_QP_LAST_WQE_REACHED:
	case EV_SRQ_LIMIT_REACHED:
	case EV_PORT_ACTIVE:
	case EV_LID_CHANGE:
	case EV_PKEY_CHANGE:
	case EV_GID_CHANGE:
		return false;
	default:
		return true;
	}
}

void journal_add(struct engine *e, const struct journal_entry *j)
{
	struct hca *hca = e->hca;
	bool notice = !journal_is_error(j);
	u64 *seq = notice ? &hca->notice_seq : &hca->error_seq;
	struct journal_entry *slot =
		notice ? &hca->notice[*seq % JOURNAL_NOTICES] : &hca->error[*seq % JOURNAL_ERRORS];

	if (notice && !e->rule && journal_count_alike(hca, j, e->ops->now(e->ctx)))
		return;
	store_relaxed(&slot->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*slot = *j;
	slot->seq = 0;
	slot->ts = e->ops->now(e->ctx);
	slot->nth = ++hca->journal_nth;
	/*
	 * A rule's effect can meet another rule: a NAK that one rule causes is dropped by the next.
	 * @info 0: the caller does not know the rule.
	 */
	if (j->cause == CAUSE_FAULT && j->info) {
		slot->rule = j->info;
	} else if (e->rule) {
		slot->cause = CAUSE_FAULT;
		slot->rule = e->rule;
	}
	store_release(&slot->seq, *seq + 1);
	store_release(seq, *seq + 1);
}

/* --- who --- */

void journal_who_client(const struct hca *hca, u32 client, struct journal_who *w)
{
	const struct hca_client *c = &hca->client[client];

	w->client = client;
	/* An object that outlives its program has no client. */
	if (client >= HCA_MAX_CLIENTS)
		return;
	_Static_assert(sizeof(w->name) == sizeof(c->name), "a program's name");
	memcpy(w->name, c->name, sizeof(w->name));
	w->pid = c->pid;
	w->node = c->node;
	w->run = c->run;
}

struct journal_who journal_who_none(const struct hca *hca, u32 dev, u32 qpn)
{
	return (struct journal_who){
		.client = JOURNAL_NOBODY,
		.node = dev < HCA_MAX_DEVS && dev < hca->n_devs ? hca->dev[dev].node
								: JOURNAL_NOBODY,
		.qpn = qpn,
	};
}

void journal_who_qp(const struct hca *hca, const struct hca_qp *qp, struct journal_who *w)
{
	*w = journal_who_none(hca, qp->dev, qp->qpn);
	journal_who_client(hca, qp->client - 1, w);
}

struct hca_qp *journal_peer(struct hca *hca, const struct hca_qp *qp)
{
	struct hca_qp *peer = hca_qp_by_num(hca, qp->attr.dest_qpn);

	return peer && peer->dev == qp->attr.av.dst_dev ? peer : NULL;
}

/* The current peer, or what is known of it. */
static void who_dest(struct hca *hca, const struct hca_qp *qp, struct journal_who *w)
{
	const struct hca_qp *peer = journal_peer(hca, qp);

	if (peer)
		journal_who_qp(hca, peer, w);
	else
		*w = journal_who_none(hca, qp->attr.av.dst_dev, qp->attr.dest_qpn);
}

/* Likewise; a peer that has gone is named as it was when the QP was connected. */
static void who_peer(struct hca *hca, const struct hca_qp *qp, struct journal_who *w)
{
	if (!qp_is_connected(qp) || qp->state < QPS_RTR)
		*w = journal_who_none(hca, JOURNAL_NOBODY, 0);
	else if (!journal_peer(hca, qp) && qp->trouble.peer.qpn == qp->attr.dest_qpn)
		*w = qp->trouble.peer;
	else
		who_dest(hca, qp, w);
}

void journal_note_peer(struct hca *hca, struct hca_qp *qp)
{
	memset(&qp->trouble, 0, sizeof(qp->trouble));
	if (qp_is_connected(qp))
		who_dest(hca, qp, &qp->trouble.peer);
}

/* --- QPs --- */

/* The key that was refused, which is the one of the entry's cause. */
static void entry_set_key(const struct hca *hca, struct journal_entry *j)
{
	const struct journal_key *k = &hca->key_fault;
	bool of_key = k->fault && k->fault != KEY_ALIGNMENT;

	switch (j->cause) {
	case CAUSE_LKEY:
	case CAUSE_RKEY:
	case CAUSE_REFUSED:
		if (of_key && k->key == j->info)
			j->key = *k;
		break;
	case CAUSE_MISALIGNED:
		if (k->fault == KEY_ALIGNMENT && k->key == j->info)
			j->key = *k;
		break;
	}
}

struct journal_entry journal_of_qp(struct hca *hca, const struct hca_qp *qp, u32 kind, u32 status,
				   u32 cause, u32 info)
{
	struct journal_entry j = {
		.kind = (u8)kind,
		.status = (u8)status,
		.cause = (u8)cause,
		.info = info,
		.dev = qp->dev,
		.conn = qp->conn,
		.port = (u8)qp->attr.port_num,
		.qp_type = (u8)qp->type,
	};

	journal_who_qp(hca, qp, &j.who);
	who_peer(hca, qp, &j.peer);
	entry_set_key(hca, &j);
	return j;
}

static void entry_set_psn(struct journal_entry *j, u32 psn)
{
	j->psn = psn & IB_PSN_MASK;
	j->has_psn = 1;
}

static void entry_set_wr_id(struct journal_entry *j, u64 wr_id)
{
	j->wr_id = wr_id;
	j->has_wr_id = 1;
}

static void entry_set_wqe(struct journal_entry *j, const struct sq_wqe *w)
{
	if (!w)
		return;
	j->optype = JOP_WR;
	j->opcode = w->opcode;
	entry_set_wr_id(j, w->wr_id);
}

static void entry_set_burst(struct journal_entry *j, const struct burst *b)
{
	j->optype = JOP_WIRE;
	j->opcode = (u16)(b->op | b->flags << 8);
	entry_set_psn(j, b->psn);
}

void journal_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 status,
		  u32 cause, u32 info)
{
	struct journal_entry j = journal_of_qp(e->hca, qp, JRN_COMPLETION, status, cause, info);

	entry_set_wqe(&j, w);
	if (qp_is_connected(qp))
		entry_set_psn(&j, qp->req.una_psn);
	journal_why_send(e, qp, w, &j);
	journal_add(e, &j);
}

void journal_recv(struct engine *e, const struct hca_qp *qp, const struct burst *b,
		  const u64 *wr_id, u32 status, u32 cause, u32 info)
{
	struct journal_entry j = journal_of_qp(e->hca, qp, JRN_COMPLETION, status, cause, info);

	if (!qp_is_connected(qp))
		j.peer = journal_who_none(e->hca, b->src_dev, b->src_qpn);
	j.optype = JOP_RECV;
	entry_set_psn(&j, b->psn);
	if (wr_id)
		entry_set_wr_id(&j, *wr_id);
	journal_add(e, &j);
}

void journal_tag(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag, u32 status,
		 u32 cause, u32 info)
{
	struct journal_entry j = journal_of_qp(e->hca, qp, JRN_COMPLETION, status, cause, info);

	j.optype = JOP_RECV;
	entry_set_psn(&j, qp->req.una_psn);
	entry_set_wr_id(&j, tag->wr_id);
	journal_add(e, &j);
}

static u32 event_cause(u32 event, u32 cause)
{
	if (cause != CAUSE_NONE)
		return cause;
	switch (event) {
	case EV_COMM_EST:
		return CAUSE_FIRST_PACKET;
	case EV_SQ_DRAINED:
		return CAUSE_DRAINED;
	case EV_QP_LAST_WQE_REACHED:
		return CAUSE_LAST_WQE;
	default:
		return cause;
	}
}

void journal_qp_event(struct engine *e, const struct hca_qp *qp, u32 event, u32 cause, u32 info)
{
	struct journal_entry j =
		journal_of_qp(e->hca, qp, JRN_EVENT, event, event_cause(event, cause), info);

	if (qp_is_connected(qp))
		entry_set_psn(&j, qp->resp.epsn);
	journal_add(e, &j);
}

void journal_nak(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 psn, u8 syndrome,
		 u32 cause, u32 info)
{
	struct journal_entry j = journal_of_qp(e->hca, qp, JRN_NAK, syndrome, cause, info);
	struct hca_trouble *t = &qp->trouble;

	if (b) {
		entry_set_burst(&j, b);
		j.n = burst_packets(b);
	}
	entry_set_psn(&j, psn);
	if (syndrome > AETH_NAK_PSN_SEQ) {
		t->nak_psn = psn & IB_PSN_MASK;
		t->nak_cause = (u8)cause;
		t->nak_info = info;
		t->nak_rule = cause == CAUSE_FAULT ? info : e->rule;
		t->nak_key = j.key;
	}
	journal_add(e, &j);
}

void journal_retry(struct engine *e, struct hca_qp *qp, u32 cause, u32 info)
{
	struct journal_entry j = journal_of_qp(e->hca, qp, JRN_RETRY, 0, cause, info);
	struct hca_trouble *t = &qp->trouble;
	u32 psn = qp->req.una_psn;
	u64 now = e->ops->now(e->ctx);
	u64 waited = cause == CAUSE_TIMEOUT ? qp_ack_timeout_ns(e->hca, qp) : 0;

	if (cause == CAUSE_RNR) {
		if (!t->rnr || t->rnr_psn != psn) {
			t->rnr = 0;
			t->rnr_since = now;
		}
		t->rnr_psn = psn;
		j.attempt = t->rnr++;
	} else {
		if (!t->n || t->psn != psn) {
			t->n = 0;
			t->since = now - min_u64(now, waited);
		}
		t->psn = psn;
		t->last = now;
		j.attempt = t->n++;
	}
	entry_set_psn(&j, psn);
	journal_add(e, &j);
}

void journal_flush(struct engine *e, const struct hca_qp *qp, u32 n)
{
	struct journal_entry j =
		journal_of_qp(e->hca, qp, JRN_FLUSH, WCS_WR_FLUSH_ERR, CAUSE_MODIFIED, 0);

	j.n = n;
	if (n)
		journal_add(e, &j);
}

/* --- drops --- */

/* The QP that has sent a burst, if it is on this fabric. */
static struct hca_qp *burst_sender_qp(struct hca *hca, const struct burst *b)
{
	struct hca_qp *qp;

	/* The source number of a datagram may be forged. */
	if (b->av && b->src_qpn != GSI_QPN)
		qp = hca->qp[b->src_slot].client ? &hca->qp[b->src_slot] : NULL;
	else
		qp = hca_qp_by_num(hca, b->src_qpn);
	return qp && qp->dev == b->src_dev ? qp : NULL;
}

/* Count the drops of the oldest packet that the requester still waits for, or of its response. */
static void drop_count(struct hca_qp *qp, const struct burst *b, bool answer, u32 cause, u32 info)
{
	struct hca_trouble *t = &qp->trouble;
	u32 una = qp->req.una_psn, psn = answer ? una : b->psn;

	if (psn_diff(psn, una) < 0)
		return;
	if (!t->drops || psn_diff(t->drop_psn, una) < 0 || psn_diff(psn, t->drop_psn) < 0) {
		t->drop_psn = psn;
		t->drops = 0;
	}
	if (psn != t->drop_psn)
		return;
	t->drops++;
	t->drop_cause = (u8)cause;
	t->drop_info = info;
	t->drop_rule = cause == CAUSE_FAULT ? info : 0;
}

/* The MAD of a burst, if it is in HCA memory, or NULL. */
static const u8 *burst_mad(const struct hca *hca, const struct burst *b)
{
	const struct hca_mem *m = b->mem;

	if (b->src_qpn != GSI_QPN || !m || m->client != HCA_SELF || b->len != MAD_SIZE ||
	    m->iov[0].addr > sizeof(*hca) - MAD_SIZE)
		return NULL;
	return (const u8 *)hca + m->iov[0].addr;
}

/* The identifier that has sent the request, if it still exists. */
static struct hca_cmid *mad_sender(struct hca *hca, const u8 *mad)
{
	u32 local = (u32)mad_get(mad, F_LOCAL_ID);
	struct hca_cmid *id = &hca->cmid[local & 0xffff];

	return id->client && id->local_id == local ? id : NULL;
}

/* Record the sender of the MAD, and count the drop in its identifier. */
static void drop_fill_mad(struct hca *hca, const u8 *mad, u32 cause, u32 info,
			  struct journal_entry *j)
{
	struct hca_cmid *id;

	if (!mad_is_cm(mad))
		return;
	j->optype = JOP_MAD;
	j->opcode = (u16)mad_get(mad, F_ATTR);
	id = mad_sender(hca, mad);
	if (!id)
		return;
	journal_who_client(hca, id->client - 1, &j->who);
	j->who.qpn = id->qpn;
	id->drops++;
	id->drop_cause = (u8)cause;
	id->drop_info = info;
}

/* @mad: the CM message in the burst, or NULL */
static void drop_journal(struct engine *e, const struct burst *b, const u8 *mad, u32 cause,
			 u32 info)
{
	struct hca *hca = e->hca;
	struct hca_qp *src = burst_sender_qp(hca, b), *dst = hca_qp_by_num(hca, b->dst_qpn);
	bool answer = b->op == BOP_ACK || b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK;
	struct journal_entry j = {
		.kind = JRN_DROP,
		.cause = (u8)cause,
		.info = info,
		.dev = b->src_dev,
		.port = b->src_port,
		.qp_type = peer_type(b->dst_type),
		.n = burst_packets(b),
		.who = journal_who_none(hca, b->src_dev, b->src_qpn),
		.peer = journal_who_none(hca, b->dst_dev, b->dst_qpn),
	};

	entry_set_burst(&j, b);
	if (src) {
		journal_who_qp(hca, src, &j.who);
		j.conn = src->conn;
	}
	if (dst && dst->dev == b->dst_dev)
		journal_who_qp(hca, dst, &j.peer);
	else if (src && qp_is_connected(src))
		who_peer(hca, src, &j.peer);
	entry_set_key(hca, &j);
	if (mad)
		drop_fill_mad(hca, mad, cause, info, &j);
	if (!answer && src && qp_reliable(src))
		drop_count(src, b, false, cause, info);
	if (answer && dst && dst->dev == b->dst_dev && qp_reliable(dst))
		drop_count(dst, b, true, cause, info);
	journal_add(e, &j);
}

void journal_drop(struct engine *e, const struct burst *b, u32 cause, u32 info)
{
	drop_journal(e, b, burst_mad(e->hca, b), cause, info);
}

void journal_cm_refused(struct engine *e, const struct burst *b, const u8 *mad, u32 rule)
{
	struct hca_cmid *id = mad_sender(e->hca, mad);

	drop_journal(e, b, mad, CAUSE_FAULT, rule);
	if (id)
		id->refused_by = rule;
}
