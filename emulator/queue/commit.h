/* SPDX-License-Identifier: MIT */
/**
 * DOC: the commits that each message needs, in line. See commit.c.
 */
#ifndef EMULATOR_QUEUE_COMMIT_H
#define EMULATOR_QUEUE_COMMIT_H

#include "emulator/engine.h"
#include "emulator/qp.h"

/* --- commit.c --- */

/**
 * commit_tag() - the next commit, which must follow at once, also changes @tag.
 * @state: TAG_DONE: the tag goes
 */
void commit_tag(struct engine *e, const struct hca_tag *tag, u32 state);
/** commit_srd() - the same: packet @psn of an SRD flow, an index + 1, has arrived. */
void commit_srd(struct engine *e, u32 flow, u32 psn);
/** commit_cqe() - publish an entry that belongs to no step of a QP, but to its owner's command. */
void commit_cqe(struct hca_cq *cq, struct cqe *cqe);
/** commit_wq() - publish a step of a WQ: a receive taken, a new state, at most one entry of @cq. */
void commit_wq(struct engine *e, struct hca_wq *wq, u32 cons, u32 state, struct hca_cq *cq,
	       struct cqe *cqe);
/** commit_apply_tag() - what commit_tag() or commit_srd() has announced happens. */
void commit_apply_tag(struct engine *e);

/* Posters of receives read the state: its line is not written without need. */
static inline void commit_state(struct hca_qp *qp, u32 state)
{
	if (qp->state != state)
		store_relaxed(&qp->state, state);
}

static inline void commit_entry(struct hca_cq *cq, struct cqe *cqe, u32 prod)
{
	/* cppcheck-suppress ctunullpointer ; no CQ goes with no CQE, and then this is not called */
	cq->prod = prod;
	store_release(&cqe->seq, prod);
}

/**
 * state_copy() - copy a struct req_state or resp_state: one line. An assignment becomes a string
 * instruction, which takes several times as long.
 */
static inline __attribute__((always_inline)) void state_copy(void *dst, const void *src)
{
	typedef u64 __attribute__((vector_size(16), may_alias)) words;
	words *to = dst;
	const words *from = src;

	_Static_assert(sizeof(struct req_state) == 4 * sizeof(*to), "a line");
	_Static_assert(sizeof(struct resp_state) == 4 * sizeof(*to), "a line");
	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
	to[3] = from[3];
}

static inline void commit_fill(struct hca_commit *c, struct engine *e, struct hca_qp *qp,
			       u32 qp_state, struct hca_cq *cq)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): of "no SRQ" it makes "no HCA" */
	c->qp = qp_slot(qp);
	c->qp_state = qp_state;
	c->cq = cq ? (u32)(cq - e->hca->cq) + 1 : 0;
	c->cq_prod = cq ? cq->prod + 1 : 0;
	c->srq = 0;
}

/* What follows from a record that is published, but for the half of the QP that it is of. */
static inline __attribute__((always_inline)) void commit_end(struct hca_commit *c, struct engine *e,
							     struct hca_qp *qp, u32 qp_state,
							     struct hca_cq *cq, struct cqe *cqe)
{
	commit_state(qp, qp_state);
	if (unlikely(c->tag))
		commit_apply_tag(e);
	if (cqe)
		commit_entry(cq, cqe, c->cq_prod);
	store_between(&c->valid, 0);
}

/** commit_req() - publish a requester step: new state, new QP state, at most one entry of @cq. */
static inline void commit_req(struct engine *e, struct hca_qp *qp, const struct req_state *s,
			      u32 qp_state, struct hca_cq *cq, struct cqe *cqe)
{
	struct hca_commit *c = &e->hca->commit;

	commit_fill(c, e, qp, qp_state, cqe ? cq : NULL);
	state_copy(&c->req, s);
	store_between(&c->valid, COMMIT_REQ);
	state_copy(&qp->req, s);
	commit_end(c, e, qp, qp_state, cq, cqe);
}

/** commit_recv() - the same for a responder step, which may take a receive from @srq. */
static inline void commit_recv(struct engine *e, struct hca_qp *qp, const struct resp_state *s,
			       u32 qp_state, struct hca_cq *cq, struct cqe *cqe,
			       struct hca_srq *srq)
{
	struct hca_commit *c = &e->hca->commit;

	commit_fill(c, e, qp, qp_state, cqe ? cq : NULL);
	state_copy(&c->resp, s);
	if (unlikely(srq)) {
		c->srq = (u32)(srq - e->hca->srq) + 1;
		c->srq_cons = srq->cons + 1;
		c->srq_unexpected = srq->unexpected + !!(s->flags & RESP_UNEXPECTED);
	}
	store_between(&c->valid, COMMIT_RESP);
	state_copy(&qp->resp, s);
	if (unlikely(srq)) {
		srq->unexpected = c->srq_unexpected;
		srq->cons = c->srq_cons;
	}
	commit_end(c, e, qp, qp_state, cq, cqe);
}

static inline void commit_resp(struct engine *e, struct hca_qp *qp, const struct resp_state *s,
			       u32 qp_state)
{
	commit_recv(e, qp, s, qp_state, NULL, NULL, NULL);
}

#endif
