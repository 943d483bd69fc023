/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's clock, whose parameters this process writes, and moving it ahead by hand.
 *
 * Theory of operation
 * -------------------
 * Fabric time begins with the fabric at what real time is then, so that @started is a moment of both.
 * What is about processes, sockets and the engine's token goes by real time, all that the model does
 * by fabric time; the loop sleeps until the earlier of the two.
 *
 * Moving ahead goes from deadline to deadline: the clock is set to the next one, the loop's engine work
 * does all that is due, and only when nothing is left of that the clock goes on. Programs that post all
 * the time never leave nothing, so a number of passes of the engine does, too. What needs a program's
 * help, or the token of a program that is stopped, is waited for, but not for ever.
 */
#include "fabric/server/fabric.h"
#include "fabric/common/opts.h"

#define PASSES	    64u
#define PAUSE_NS    (50 * NSEC_PER_USEC)
#define PATIENCE_NS (5 * NSEC_PER_SEC)

u64 fabric_ns(const struct fabric *f)
{
	u64 real = real_ns();

	return likely(f->hca) ? hca_clock_at(&f->hca->clock, real) : real;
}

u64 fabric_real_at(const struct fabric *f, u64 at)
{
	const struct hca_clock *c = &f->hca->clock;

	return likely(!c->own) ? at : hca_clock_real_at(c, at, real_ns());
}

/* Readers of *c wait from now on. */
static void clock_write_begin(struct hca_clock *c)
{
	if (!c->own) {
		c->ppm = CLOCK_PPM; /* real time, the long way round */
		exchange(&c->own, 1);
	}
	exchange(&c->seq, c->seq | 1);
}

static void clock_write_end(struct hca_clock *c, const struct hca_clock *v)
{
	store_relaxed(&c->real, v->real);
	store_relaxed(&c->fabric, v->fabric);
	store_relaxed(&c->ppm, v->ppm);
	store_release(&c->seq, (c->seq | 1) + 1);
}

/* From now on it runs at @ppm, and is at @at at least. */
static void fabric_clock_set(struct fabric *f, u64 ppm, u64 at)
{
	struct hca_clock v = f->hca->clock;
	struct client *cl;
	u64 real, now;

	clock_write_begin(&f->hca->clock);
	for (cl = f->clients; cl; cl = cl->next)
		if (cl->seg)
			clock_write_begin(&cl->seg->clock);
	/* Only now: nobody has seen a later time by the old parameters. */
	real = real_ns();
	now = hca_clock_at(&v, real);
	v = (struct hca_clock){ .real = real, .fabric = at > now ? at : now, .ppm = ppm };
	clock_write_end(&f->hca->clock, &v);
	for (cl = f->clients; cl; cl = cl->next)
		if (cl->seg)
			clock_write_end(&cl->seg->clock, &v);
}

void fabric_clock_start(struct fabric *f, const struct opts *o)
{
	f->ppm = f->ppm_made = o->ppm;
	f->manual_made = o->manual;
	if (!o->manual && o->ppm == CLOCK_PPM)
		return;
	f->hca->clock = (struct hca_clock){
		.own = 1, .real = f->started, .fabric = f->started, .ppm = o->manual ? 0 : o->ppm
	};
}

void fabric_clock_publish(struct fabric *f, struct client *cl)
{
	cl->seg->clock = f->hca->clock;
}

/* --- by hand --- */

static bool clock_is_running(const struct fabric *f)
{
	return !f->hca->clock.own || f->hca->clock.ppm;
}

static void clock_fill_reply(const struct fabric *f, struct proto_clock *k)
{
	u64 next = work_deadline(f);

	k->now = fabric_ns(f) - f->started;
	k->next = next == NEVER ? NEVER : next > f->started ? next - f->started : 0;
	k->ppm = f->ppm;
	k->running = clock_is_running(f);
}

static void clock_set_running(struct fabric *f, u32 ppm)
{
	f->ppm = ppm ? ppm : f->ppm;
	fabric_clock_set(f, f->ppm, 0);
}

static int fabric_clock_advance(struct fabric *f, struct conn *c, u64 ns)
{
	u64 now = fabric_ns(f);

	if (f->move.to)
		return -EBUSY;
	if (ns > CLOCK_ADVANCE_MAX || now + ns > NEVER / 2)
		return -ERANGE;
	f->move = (struct clock_move){ .to = now + ns, .conn = c, .since = real_ns() };
	return -EINPROGRESS;
}

int fabric_clock_request(struct fabric *f, struct conn *c, struct proto_msg *m)
{
	struct proto_clock *k = &m->clock;

	if (k->what != PROTO_CLOCK_SHOW && f->join)
		return -EOPNOTSUPP;
	switch (k->what) {
	case PROTO_CLOCK_SHOW:
		break;
	case PROTO_CLOCK_ADVANCE:
		return fabric_clock_advance(f, c, k->ns);
	case PROTO_CLOCK_STOP:
		fabric_clock_set(f, 0, 0);
		break;
	case PROTO_CLOCK_RUN:
		if (k->ppm && (k->ppm < CLOCK_PPM_MIN || k->ppm > CLOCK_PPM_MAX))
			return -ERANGE;
		clock_set_running(f, k->ppm);
		break;
	default:
		return -EINVAL;
	}
	clock_fill_reply(f, k);
	return 0;
}

static void clock_move_done(struct fabric *f, int ret)
{
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = PROTO_CLOCK, .ret = ret };
	struct conn *c = f->move.conn;

	f->move = (struct clock_move){ 0 };
	clock_fill_reply(f, &m.clock);
	if (c)
		conn_reply(f, c, &m);
}

void fabric_clock_conn_closed(struct fabric *f, const struct conn *c)
{
	if (f->move.conn == c)
		f->move.conn = NULL;
}

/* Whether all that can be done at this time has been done. */
static bool clock_move_is_settled(struct fabric *f)
{
	if (work_is_quiet(f))
		return true;
	if (f->retry_at || f->again_at || f->n_waiting)
		return false;
	return f->move.passes++ > PASSES;
}

u64 fabric_clock_work(struct fabric *f)
{
	struct clock_move *move = &f->move;
	u64 now, next;

	if (likely(!move->to))
		return NEVER;
	if (!clock_move_is_settled(f)) {
		if (real_ns() - move->since < PATIENCE_NS)
			return f->retry_at || f->again_at || f->n_waiting ? real_ns() + PAUSE_NS
									  : 0;
		clock_move_done(f, -ETIME);
		return NEVER;
	}
	now = fabric_ns(f);
	next = work_deadline(f);
	if (now >= move->to) {
		clock_move_done(f, 0);
		return NEVER;
	}
	/* What is overdue has had its passes. */
	next = next <= now ? now + 1 : min_u64(next, move->to);
	fabric_clock_set(f, f->hca->clock.own ? f->hca->clock.ppm : CLOCK_PPM, next);
	move->passes = 0;
	move->since = real_ns();
	return 0;
}
