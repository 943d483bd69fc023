/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/clock.h.
 */
#include "fabric/core/clock.h"
#include "fabric/common/opts.h"
#include "fabric/core/fabric.h"

u64 fabric_ns(const struct fabric *f)
{
	u64 real = real_ns();

	return likely(f->hca) ? hca_clock_at(&f->hca->clock, real) : real;
}

u64 fabric_wall(const struct fabric *f)
{
	return hca_clock_wall(&f->hca->clock, real_ns(), wall_ns());
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
		c->ppm = CLOCK_PPM; /* real time, by parameters that can be changed */
		exchange(&c->own, 1);
	}
	exchange(&c->seq, c->seq | 1);
	/* Before the values change, and before the caller takes the real time. */
	fence_after_atomic();
}

static void clock_write_end(struct hca_clock *c, const struct hca_clock *v)
{
	store_relaxed(&c->real, v->real);
	store_relaxed(&c->fabric, v->fabric);
	store_relaxed(&c->ppm, v->ppm);
	store_release(&c->seq, (c->seq | 1) + 1);
}

void fabric_clock_set(struct fabric *f, u64 ppm, u64 at)
{
	struct hca_clock v = f->hca->clock;
	struct client *cl;
	u64 real, now;

	clock_write_begin(&f->hca->clock);
	for (cl = f->clients.list; cl; cl = cl->next)
		if (cl->seg)
			clock_write_begin(&cl->seg->clock);
	/*
	 * Real time is read now, after all readers wait: none has seen a later time by the old
	 * parameters.
	 */
	real = real_ns();
	now = hca_clock_at(&v, real);
	v = (struct hca_clock){ .real = real, .fabric = at > now ? at : now, .ppm = ppm };
	clock_write_end(&f->hca->clock, &v);
	for (cl = f->clients.list; cl; cl = cl->next)
		if (cl->seg)
			clock_write_end(&cl->seg->clock, &v);
}

void fabric_clock_start(struct fabric *f, const struct opts *o)
{
	f->clock.ppm = f->clock.ppm_start = o->ppm;
	f->clock.manual_start = o->manual;
	f->hca->clock = (struct hca_clock){ .wall = wall_ns() - real_ns() };
	if (!o->manual && o->ppm == CLOCK_PPM)
		return;
	f->hca->clock.real = f->hca->clock.fabric = f->started;
	f->hca->clock.ppm = o->manual ? 0 : o->ppm;
	f->hca->clock.own = 1;
}

void fabric_clock_publish(struct fabric *f, struct client *cl)
{
	cl->seg->clock = f->hca->clock;
}
