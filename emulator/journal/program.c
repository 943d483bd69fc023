/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal's entries about programs: their calls and their end, ports, and connection
 * management.
 */
#include "emulator/engine.h"
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "emulator/qp.h"

/* --- clients and ports --- */

void journal_client(struct engine *e, u32 owner, u32 dev, u32 kind, u32 status, u32 cause, u32 info)
{
	struct journal_entry j = {
		.kind = (u8)kind,
		.status = (u8)status,
		.cause = (u8)cause,
		.info = info,
		.dev = dev,
		.who = journal_who_none(e->hca, dev, 0),
		.peer = journal_who_none(e->hca, JOURNAL_NOBODY, 0),
	};

	journal_who_client(e->hca, owner - 1, &j.who);
	journal_add(e, &j);
}

struct journal_entry journal_of_client(const struct hca *hca, u32 client, u32 qpn, u32 kind,
				       u32 status, u32 rule)
{
	struct journal_entry j = {
		.kind = (u8)kind,
		.status = (u8)status,
		.cause = rule ? CAUSE_FAULT : CAUSE_NONE,
		.info = rule,
		.rule = rule,
		.dev = JOURNAL_NOBODY,
		.who = journal_who_none(hca, JOURNAL_NOBODY, qpn),
		.peer = journal_who_none(hca, JOURNAL_NOBODY, 0),
	};

	journal_who_client(hca, client, &j.who);
	return j;
}

struct journal_entry journal_of_call(const struct hca *hca, u32 client, const char *call,
				     const char *args, u32 err, u32 rule)
{
	struct journal_entry j = journal_of_client(hca, client, 0, JRN_CALL, err, rule);

	j.optype = JOP_CALL;
	strncpy(j.call, call, sizeof(j.call) - 1);
	strncpy(j.args, args, sizeof(j.args) - 1);
	return j;
}

void journal_port(struct engine *e, u32 dev, u32 port, u32 event)
{
	struct journal_entry j = {
		.kind = JRN_EVENT,
		.status = (u8)event,
		.cause = CAUSE_ADMIN,
		.dev = dev,
		.port = (u8)port,
		.who = journal_who_none(e->hca, dev, 0),
		.peer = journal_who_none(e->hca, JOURNAL_NOBODY, 0),
	};

	journal_add(e, &j);
}

void journal_client_end(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	struct journal_entry j = {
		.kind = JRN_GONE,
		.who = journal_who_none(hca, JOURNAL_NOBODY, 0),
		.peer = journal_who_none(hca, JOURNAL_NOBODY, 0),
	};
	const struct hca_qp *qp;
	u32 i;

	for (i = 0; i < hca->tab[TAB_QP].high; i++) {
		qp = &hca->qp[i];
		if (qp->client != client + 1 || !qp_is_connected(qp) || qp->state < QPS_RTR ||
		    qp->state == QPS_ERR)
			continue;
		/* The entry names the first connected QP and its peer as an example. */
		if (!j.n++) {
			j = journal_of_qp(hca, qp, JRN_GONE, 0, CAUSE_NONE, 0);
			j.n = 1;
			j.who.qpn = 0;
		}
	}
	if (j.n)
		journal_add(e, &j);
}

/* --- connection management --- */

void journal_cm_errno(struct engine *e, const struct hca_cmid *id, u32 event, s32 status,
		      bool on_purpose)
{
	const u32 cause = on_purpose ? CAUSE_FAULT : CAUSE_CM_ERRNO;

	journal_client(e, id->client, id->bound ? id->bound - 1 : JOURNAL_NOBODY, JRN_CM, event,
		       cause, on_purpose ? 0 : (u32)-status);
}

void journal_cm(struct engine *e, const struct hca_cmid *id, const struct cm_event *ev, u32 cause,
		u32 info)
{
	struct hca *hca = e->hca;
	u32 dev = id->bound - 1;
	const struct hca_qp *peer = hca_qp_by_num(hca, id->remote_qpn);
	struct journal_entry j = {
		.kind = JRN_CM,
		.status = (u8)ev->type,
		.cause = (u8)cause,
		.info = info,
		.dev = dev,
		.port = id->port,
		.qp_type = (u8)id->qp_type,
		.optype = JOP_MAD,
		.opcode = (u16)mad_get(id->mad, F_ATTR),
		.why_info = id->passive ? id->src.port : id->dst.port,
		.who = journal_who_none(hca, dev, id->qpn),
		.peer = journal_who_none(hca, id->av.dst_dev, id->remote_qpn),
	};

	if (id->state != CM_CONNECT)
		return;
	journal_who_client(hca, id->client - 1, &j.who);
	if (peer && peer->dev == id->av.dst_dev)
		journal_who_qp(hca, peer, &j.peer);
	if (cause == CAUSE_CM_TIMEOUT)
		journal_why_cm(e, id, &j);
	if (id->refused_by && (cause == CAUSE_CM_REJECT || cause == CAUSE_CM_SIDR)) {
		j.cause = CAUSE_FAULT;
		j.info = id->refused_by;
	}
	journal_add(e, &j);
}
