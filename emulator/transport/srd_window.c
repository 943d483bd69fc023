/* SPDX-License-Identifier: MIT */
/**
 * DOC: the window of an SRD queue pair: which messages are under way, and which may be sent.
 */
#include "emulator/qp.h"
#include "emulator/transport/srd.h"

u32 srd_source(const struct hca_qp *qp)
{
	return qp->qpn | (qp->resets & 0xff) << 24;
}

struct srd_msg *srd_msg_of(struct hca *hca, const struct hca_qp *qp, u32 wqe)
{
	return &hca->srd[qp->srd - 1].msg[wqe % SRD_WINDOW];
}

u64 srd_active(const struct req_state *s)
{
	u32 n = s->next - s->una;

	return (n >= SRD_WINDOW ? ~0ULL : BIT64(n) - 1) & ~s->done;
}

bool srd_is_idle(const struct hca_qp *qp)
{
	return qp->req.next == qp->req.una;
}

void srd_msg_ready(struct hca *hca, const struct hca_qp *qp, u32 wqe)
{
	struct srd_msg *m = srd_msg_of(hca, qp, wqe);

	m->state = SRD_READY;
	m->held_posts = 0;
	hca->srd[qp->srd - 1].ready |= BIT64(wqe % SRD_WINDOW);
}

void srd_msg_wait(struct engine *e, const struct hca_qp *qp, u32 wqe, u64 ns)
{
	struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);

	e->hca->srd[qp->srd - 1].ready &= ~BIT64(wqe % SRD_WINDOW);
	m->state = SRD_RNR;
	m->deadline = e->ops->now(e->ctx) + ns;
}

void srd_retire(struct req_state *s, u32 wqe)
{
	u32 n;

	s->done |= BIT64(wqe - s->una);
	n = ~s->done ? (u32)__builtin_ctzll(~s->done) : SRD_WINDOW;
	s->done = n < SRD_WINDOW ? s->done >> n : 0;
	s->una += n;
}
