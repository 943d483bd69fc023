/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's clock.
 */
#include "libctl/ctl.h"

#include <sys/socket.h>
#include <sys/time.h>

static int ctl_clock_refused(struct rdmaemu *r, int ret)
{
	switch (ret) {
	case -EOPNOTSUPP:
		return ctl_fail(r, EOPNOTSUPP,
				"clock: a fabric that has joined others cannot change its clock");
	case -EBUSY:
		return ctl_fail(r, EBUSY, "clock: another client is moving it");
	case -ERANGE:
		return ctl_fail(r, ERANGE, "clock: the target time is out of range");
	case -ETIME:
		return ctl_fail(r, ETIME, "clock: a stopped program holds the engine");
	default:
		return ctl_refused(r, "clock", ret);
	}
}

/* Without a timeout, or with that of other requests. */
static void ctl_clock_set_timeout(struct rdmaemu *r, bool long_one)
{
	const struct timeval tv = { .tv_sec = long_one ? 0 : CTL_TIMEOUT_S };

	if (r->sock >= 0)
		setsockopt(r->sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static int ctl_clock_ask(struct rdmaemu *r, struct proto_msg *m)
{
	int ret;

	m->op = PROTO_CLOCK;
	ret = ctl_handle_ask(r, m, NULL);
	if (ret)
		return ret;
	return m->ret ? ctl_clock_refused(r, m->ret) : 0;
}

int rdmaemu_clock_get(struct rdmaemu *r, struct rdmaemu_clock *out)
{
	struct proto_msg m = { .clock.what = PROTO_CLOCK_SHOW };

	if (ctl_clock_ask(r, &m))
		return -1;
	*out = (struct rdmaemu_clock){
		.now_ns = m.clock.now,
		.next_ns = m.clock.next,
		.scale = (double)m.clock.ppm / CLOCK_PPM,
		.running = (int)m.clock.running,
	};
	return 0;
}

int rdmaemu_clock_advance(struct rdmaemu *r, uint64_t ns)
{
	struct proto_msg m = { .clock = { .what = PROTO_CLOCK_ADVANCE, .ns = ns } };
	struct rdmaemu_clock now;
	int ret;

	/* Connects the handle. */
	if (rdmaemu_clock_get(r, &now))
		return -1;
	ctl_clock_set_timeout(r, true);
	ret = ctl_clock_ask(r, &m);
	ctl_clock_set_timeout(r, false);
	return ret;
}

int rdmaemu_clock_stop(struct rdmaemu *r)
{
	struct proto_msg m = { .clock.what = PROTO_CLOCK_STOP };

	return ctl_clock_ask(r, &m);
}

int rdmaemu_clock_run(struct rdmaemu *r, double scale)
{
	struct proto_msg m = { .clock.what = PROTO_CLOCK_RUN };

	/* Rejects NaN, too. */
	if (!(scale == 0 || (scale >= 0.001 && scale <= 1000)))
		return ctl_fail(r, ERANGE, "clock: scale %g: expected 0.001 to 1000, or 0", scale);
	m.clock.ppm = (u32)(scale * CLOCK_PPM + 0.5);
	return ctl_clock_ask(r, &m);
}
