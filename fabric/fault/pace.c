/* SPDX-License-Identifier: MIT */
/** DOC: see pace.h. */
#include "fabric/fault/pace.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"
#include "fabric/link/transit.h"

#include <math.h>

#define RATE_QUEUE  (8 * NSEC_PER_MSEC) /* how much of a rate's time may queue */
#define WINDOW_PKTS 256
#define WINDOW_NS   NSEC_PER_MSEC /* an ACK wakes the QP sooner */
#define DELAY_MAX   (60 * NSEC_PER_SEC)

bool fault_op_is_answer(u32 op)
{
	return (op >= OP_READ_RESP_FIRST && op <= OP_ATOMIC_ACK) ||
	       (op >= OP_NAK_SEQ && op <= OP_NAK_RNR);
}

/* --- delays ----------------------------------------------------------------------------------- */

/* Between 0 and 1, both excluded. */
static double random_fraction(u64 x)
{
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/* Mean 0, standard deviation 1: the scale of the distribution tables of tc-netem. */
static double random_deviation(const struct fabric *f, const struct fault_rule *r, u64 key)
{
	const double pi = 3.14159265358979323846;
	double u = random_fraction(fault_rule_random(f, r, key, 1)), v;

	switch (r->what.dist) {
	case DIST_NORMAL:
		v = random_fraction(fault_rule_random(f, r, key, 2));
		return sqrt(-2 * log(u)) * cos(2 * pi * v);
	case DIST_PARETO: /* of shape 3: mean 3/2, standard deviation sqrt(3)/2 */
		return (1 / cbrt(u) - 1.5) / 0.8660254037844386;
	default:
		return 2 * u - 1;
	}
}

u64 fault_delay_ns(struct fabric *f, const struct fault_rule *r, u64 key)
{
	double ns = (double)r->what.delay_ns;

	if (!r->what.jitter_ns)
		return r->what.delay_ns;
	f->faults->random = true;
	ns += (double)r->what.jitter_ns * random_deviation(f, r, key);
	return ns <= 0 ? 0 : ns >= (double)DELAY_MAX ? DELAY_MAX : (u64)ns;
}

u64 fault_rate_wait_ns(const struct fabric *f, struct fault_rule *r, u64 wire)
{
	u64 now = fabric_engine_now(f), start = r->state > now ? r->state : now;

	r->state = start + (u64)((unsigned __int128)wire * 8 * NSEC_PER_SEC / r->what.rate_bps);
	return r->state - now;
}

u8 fault_rule_lane(const struct fabric *f, const struct fault_rule *r)
{
	return (u8)(1 + (u32)(r - f->faults->rule) % (LINK_OWN - 1));
}

/* --- senders that wait ---------------------------------------------------------------------- */

int fault_check_rates(struct fabric *f, const struct burst *b)
{
	const struct faults *t = f->faults;
	u64 now = fabric_engine_now(f);
	struct fault_pkt p;
	struct burst one;
	u32 i, first;

	for (i = 0; i < t->high; i++) {
		const struct fault_rule *r = &t->rule[i];

		if (!r->id || r->act != FA_RATE || r->state <= now + RATE_QUEUE ||
		    !fault_rule_is_open(f, r))
			continue;
		fault_pkt_set_ends(f->hca, b, &p, &first);
		one = *b;
		if (b->op != BOP_READ_REQ && b->npkts > 1)
			burst_split(b, 0, 1, &one);
		fault_pkt_set_one(&one, first, &p);
		if (!fault_op_is_answer(p.op) && fault_rule_is_on_pkt(f, r, &p))
			return link_hold(f, r->state - RATE_QUEUE);
	}
	return 0;
}

/* Whether it is a request of the QP that needs an ACK. */
static bool burst_needs_ack(const struct hca_qp *qp, const struct burst *b)
{
	return (qp->type == QPT_RC || qp->type == QPT_XRC_SEND) && b->op != BOP_ACK &&
	       b->op != BOP_READ_RESP && b->op != BOP_ATOMIC_ACK;
}

int fault_check_window(struct fabric *f, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->src_qpn);

	if (!qp || qp->dev != b->src_dev || !burst_needs_ack(qp, b) ||
	    psn_diff(b->psn, qp->req.una_psn) < WINDOW_PKTS)
		return 0;
	/* The burst does not leave: the timer now runs for the oldest packet under way. */
	relay_left(&f->engine, b, fabric_engine_now(f));
	return link_hold(f, fabric_engine_now(f) + WINDOW_NS);
}
