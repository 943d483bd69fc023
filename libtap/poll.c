/* SPDX-License-Identifier: MIT */
/* Wrappers of polls, of arming CQs and of their events. */
#include "libtap/poll.h"
#include "libtap/next_symbol.h"
#include "libtap/process.h"

int tap_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct tap_obj *o = tap_obj_find(VOBJ_CQ, cq);
	__typeof__(&tap_poll_cq) low = tap_ctx_of(o, cq->context)->ops.poll_cq;
	const bool quiet = tap.poll_quiet && tap_may_be_quiet() && tap.poll_quiet();
	bool polled = quiet;
	struct tap_poll p;
	int saved;

	if (quiet) {
		p.ret = low(cq, n, wc);
		if (likely(p.ret <= 0))
			return p.ret;
	}
	if (!tap_enter())
		return quiet ? p.ret : low(cq, n, wc);
	saved = errno;
	p.obj = o;
	p.cq = cq;
	p.n = n;
	p.wc = wc;
	do {
		p.again = false;
		if (polled) {
			p.op.answered = polled = false;
		} else if (TAP_BEGIN(poll_begin, &p)) {
			errno = saved;
			p.ret = low(cq, n, wc);
		}
		saved = errno;
		TAP_END(poll_end, &p);
	} while (unlikely(p.again));
	tap_leave();
	errno = saved;
	return p.ret;
}

int tap_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct tap_cqop p = { .what = TAP_CQ_ARM, .cq = cq, .n = (u64)solicited_only };
	__typeof__(&tap_req_notify_cq) low = tap_ctx_find(cq->context)->ops.req_notify_cq;

	if (!tap_enter())
		return low(cq, solicited_only);
	p.err = errno;
	if (TAP_BEGIN(cq_begin, &p)) {
		errno = p.err;
		p.ret = low(cq, solicited_only);
		p.err = errno;
	}
	TAP_END(cq_end, &p);
	tap_leave();
	errno = p.err;
	return p.ret;
}

SHIM_EXPORT int wrap_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				  void **context) __asm__("ibv_get_cq_event");
SHIM_EXPORT void wrap_ack_cq_events(struct ibv_cq *cq, unsigned int n) __asm__("ibv_ack_cq_events");

int wrap_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	struct tap_cqop p = { .what = TAP_CQ_EVENT, .channel = channel, .n = 1 };
	static void *slot;
	__typeof__(&wrap_get_cq_event) lower;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_get_cq_event");
	if (!lower) {
		errno = ENOSYS;
		return -1;
	}
	if (!tap_enter())
		return lower(channel, cq, context);
	do {
		p.again = false;
		p.err = errno;
		if (TAP_BEGIN(cq_begin, &p)) {
			errno = p.err;
			p.ret = lower(channel, &p.cq, &p.cq_context);
			p.err = errno;
		}
		TAP_END(cq_end, &p);
	} while (p.again);
	tap_leave();
	if (!p.ret) {
		*cq = p.cq;
		*context = p.cq_context;
	}
	errno = p.err;
	return p.ret;
}

void wrap_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	struct tap_cqop p = { .what = TAP_CQ_ACK, .cq = cq, .n = n };
	static void *slot;
	__typeof__(&wrap_ack_cq_events) lower;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_ack_cq_events");
	if (!lower)
		return;
	if (!tap_enter()) {
		lower(cq, n);
		return;
	}
	p.err = errno;
	if (TAP_BEGIN(cq_begin, &p)) {
		errno = p.err;
		lower(cq, n);
		p.err = errno;
	}
	TAP_END(cq_end, &p);
	tap_leave();
	errno = p.err;
}
