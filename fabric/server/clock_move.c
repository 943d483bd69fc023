/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu clock`: moving the fabric's clock ahead by hand.
 *
 * The clock moves from deadline to deadline. It is set to the next one, the engine work of the loop
 * does all that is due, and when nothing is left the clock moves on. Programs that post all the
 * time always leave something, so it also moves on after a number of passes of the engine. Work
 * that needs a program's help, or a token that a stopped program holds, gets PATIENCE_NS of real
 * time; then the request fails.
 */
#include "fabric/server/server.h"
#include "fabric/link/link.h"

#define PASSES	    64u
#define PAUSE_NS    (50 * NSEC_PER_USEC)
#define PATIENCE_NS (5 * NSEC_PER_SEC)

static bool clock_is_running(const struct fabric *f)
{
	return !f->hca->clock.own || f->hca->clock.ppm;
}

static void clock_fill_reply(const struct fabric *f, struct proto_clock *k)
{
	u64 next = work_deadline(f);

	k->real = real_ns();
	k->now = hca_clock_at(&f->hca->clock, k->real) - f->started;
	k->next = next == NEVER ? NEVER : next > f->started ? next - f->started : 0;
	k->ppm = f->clock.ppm;
	k->running = clock_is_running(f);
}

static void clock_set_running(struct fabric *f, u32 ppm)
{
	f->clock.ppm = ppm ? ppm : f->clock.ppm;
	fabric_clock_set(f, f->clock.ppm, 0);
}

static int fabric_clock_advance(struct fabric *f, struct conn *c, u64 ns)
{
	u64 now = fabric_ns(f);

	if (f->server->move.to)
		return -EBUSY;
	if (ns > CLOCK_ADVANCE_MAX || now + ns > NEVER / 2)
		return -ERANGE;
	f->server->move = (struct clock_move){ .to = now + ns, .conn = c, .since = real_ns() };
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
	struct conn *c = f->server->move.conn;

	f->server->move = (struct clock_move){ 0 };
	clock_fill_reply(f, &m.clock);
	if (c)
		conn_reply(c, &m);
}

void fabric_clock_conn_closed(struct fabric *f, const struct conn *c)
{
	if (f->server->move.conn == c)
		f->server->move.conn = NULL;
}

/* Whether all that can be done at this time has been done. */
static bool clock_move_is_settled(struct fabric *f)
{
	if (work_is_quiet(f))
		return true;
	if (f->server->work.retry_at || link_retry_at(f) || f->wait.n)
		return false;
	return f->server->move.passes++ > PASSES;
}

u64 fabric_clock_work(struct fabric *f)
{
	struct clock_move *move = &f->server->move;
	u64 now, next;

	if (likely(!move->to))
		return NEVER;
	if (!clock_move_is_settled(f)) {
		if (real_ns() - move->since < PATIENCE_NS)
			return f->server->work.retry_at || link_retry_at(f) || f->wait.n
				       ? real_ns() + PAUSE_NS
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
	/* Overdue work has had its passes. */
	next = next <= now ? now + 1 : min_u64(next, move->to);
	fabric_clock_set(f, f->hca->clock.own ? f->hca->clock.ppm : CLOCK_PPM, next);
	move->passes = 0;
	move->since = real_ns();
	return 0;
}
