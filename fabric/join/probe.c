/* SPDX-License-Identifier: MIT */
/**
 * DOC: whether a request whose ACK is overdue is lost, or only late.
 *
 * The connection between two members loses nothing. But a member that gets too little CPU, or has
 * much to send, answers later than a queue pair's ACK timeout; and to send a READ again makes its
 * work more. So when a timeout expires, the queue pair's fabric asks the other one, by PROBE,
 * whether it still has a request of the queue pair. PROBED follows the answers that were sent
 * before: when it says no, the request was dropped there, or its answer is here already.
 */
#include "emulator/qp.h"
#include "emulator/transport/qp_timer.h"
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

static void probe_send(struct fabric *f, struct member *m, struct hca_qp *qp)
{
	struct join *j = f->join;
	struct join_probe q = { .qpn = qp->qpn,
				.dev = j->far_index[qp->path.dst_dev],
				.peer = qp->path.dst_qpn };
	u8 body[JOIN_PROBE];

	if (!++j->n_probes)
		j->n_probes = 1;
	q.number = j->n_probes;
	join_probe_put(body, &q);
	/* If there is no room, the next expiry asks. */
	if (!jconn_send(f, m->via, JT_PROBE, j->id, m->id, body, sizeof(body)))
		qp->probe.asked = q.number;
}

/* Whether an answer that has come waits for the engine. */
static bool probe_answer_is_here(const struct fabric *f, const struct member *m,
				 const struct hca_qp *qp)
{
	const struct jlane *l = &m->lane[LANE_ANSWER];

	return l->head != l->tail || link_holds_qp(f, qp->dev, qp->qpn);
}

bool join_under_way(struct fabric *f, u32 member, struct hca_qp *qp)
{
	struct member *m = member <= JOIN_MAX_MEMBERS ? f->join->member[member - 1] : NULL;
	struct hca_qp_probe *p = &qp->probe;
	u64 now = real_ns();

	if (!m || !m->via || !m->ready || (p->on && p->session != m->session)) {
		p->on = 0;
		return false;
	}
	if (!p->on || p->una != qp->req.una_psn)
		*p = (struct hca_qp_probe){
			.una = qp->req.una_psn, .session = m->session, .since = now, .on = 1
		};
	if (now - p->since >= JOIN_SILENT_NS || (p->gone && !probe_answer_is_here(f, m, qp))) {
		p->on = 0;
		return false;
	}
	if (!p->asked && !p->gone)
		probe_send(f, m, qp);
	return true;
}

static const char *probe_asked(struct fabric *f, struct member *m, const u8 *body, u32 len)
{
	const struct jlane *l = &m->lane[LANE_REQUEST];
	struct join_probe q;
	struct join_probed r;
	u8 reply[JOIN_PROBED];

	if (join_probe_get(body, len, &q) || q.dev >= f->hca->n_devs || f->hca->dev[q.dev].member)
		return "malformed probe";
	r.number = q.number;
	r.qpn = q.qpn;
	r.waits = l->head != l->tail || link_holds_qp(f, q.dev, q.peer);
	join_probed_put(reply, &r);
	/* If there is no room, the queue pair gives up waiting for it, and sends again. */
	(void)jconn_send(f, m->via, JT_PROBED, f->join->id, m->id, reply, sizeof(reply));
	return NULL;
}

static const char *probe_told(struct fabric *f, const struct member *m, const u8 *body, u32 len)
{
	struct hca_qp_probe *p;
	struct join_probed r;
	struct hca_qp *qp;

	if (join_probed_get(body, len, &r))
		return "malformed probe";
	qp = hca_qp_by_num(f->hca, r.qpn);
	/* Only a path to a link has a device for sure: no device may have the address of others. */
	if (!qp || !qp->path.via || f->hca->dev[qp->path.dst_dev].member != m->number)
		return NULL;
	p = &qp->probe;
	if (!p->on || p->asked != r.number)
		return NULL;
	p->asked = 0;
	p->gone = !r.waits;
	p->since = real_ns();
	if (p->gone && p->una == qp->req.una_psn && qp->deadline)
		qp_timer_arm(&f->engine, qp, fabric_ns(f));
	return NULL;
}

const char *probe_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len)
{
	return type == JT_PROBE ? probe_asked(f, m, body, len) : probe_told(f, m, body, len);
}
