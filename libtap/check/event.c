/* SPDX-License-Identifier: MIT */
/*
 * Events.
 *
 * A CQ makes one event for the first completion after it was armed. One that comes between the last
 * poll and the arming makes none: a thread that sleeps then without emptying the CQ may sleep on.
 * The order of calls shows it, whether a completion has come or not. Not suspected is
 *  - the first arming of a CQ before any poll: usually nothing can have completed yet;
 *  - a receive, if the thread has posted sends after the arming: they may be what the peer answers;
 *  - a CQ that another thread has armed, and may be about to poll;
 *  - reading a channel with O_NONBLOCK, which programs empty between arming and polling; wait.c
 *    finds those that wait by poll(2).
 */
#include "libtap/check/checks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENT_WAIT_NS  1000000000ull /* until another thread has acknowledged */
#define EVENT_SLEEP_US 10000u

/* Sends that this poll or arming has not seen, and how many posts there were before it. */
static void event_note_work(struct check_obj *c)
{
	c->cq.arm_sends = __atomic_load_n(&c->cq.sends, __ATOMIC_RELAXED);
	c->cq.arm_posted = check_post_sends_of_thread();
}

/* Receives of an SRQ belong to no queue pair: there may be some. */
static bool event_may_complete(const struct check_obj *c)
{
	return __atomic_load_n(&c->cq.outstanding, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&c->cq.shared, __ATOMIC_RELAXED);
}

void check_cq_polled(const struct tap_obj *cq, bool emptied)
{
	struct check_obj *c = check_obj_of(cq);

	if (!c)
		return;
	c->cq.polled = true;
	/* A full array may have had all that was outstanding. */
	if (emptied || !event_may_complete(c))
		c->cq.armed = 0;
	else if (c->cq.armed == check_thread_self())
		event_note_work(c);
}

static void event_cq_armed(struct check_obj *c)
{
	c->cq.was_armed = true;
	if (!c->cq.polled || !event_may_complete(c))
		return;
	event_note_work(c);
	c->cq.arm_stack = check_stack_here();
	c->cq.armed = check_thread_self();
}

bool check_cq_is_suspect(const struct check_obj *c)
{
	return c->cq.armed == check_thread_self() && event_may_complete(c) &&
	       (c->cq.arm_sends || c->cq.arm_posted == check_post_sends_of_thread());
}

void check_cq_report_lost(struct check_obj *c)
{
	c->cq.armed = 0;
	check_report(FINDING_CQ_NOTIFY_LOST, (struct check_other){ "armed", c->cq.arm_stack },
		     "cq%u was armed after it was polled, and not emptied since: a completion in "
		     "between makes no event",
		     c->ord);
}

static bool event_find_armed(struct check_obj *c, void *channel)
{
	const struct ibv_cq *cq = (void *)(uintptr_t)c->tap->key;

	if (cq->channel != channel || !check_cq_is_suspect(c))
		return false;
	check_cq_report_lost(c);
	return true;
}

static bool event_channel_blocks(const struct ibv_comp_channel *channel)
{
	int flags = fcntl(channel->fd, F_GETFL);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* --- asynchronous events that nobody reads --- */

static bool event_report_unread(struct check_obj *c, void *arg)
{
	const struct ibv_context *ctx = (void *)(uintptr_t)c->tap->key;
	struct pollfd waiting = { .fd = ctx->async_fd, .events = POLLIN };
	struct timespec now = { 0 };

	(void)arg;
	if (c->ctx.reads_events || syscall(SYS_ppoll, &waiting, 1UL, &now, NULL, 0UL) != 1)
		return false;
	/* Once. */
	c->ctx.reads_events = true;
	check_report(FINDING_DEVICE_EVENT_UNREAD,
		     (struct check_other){ "context opened", c->stack },
		     "ctx%u has asynchronous events, and the program has never read any", c->ord);
	return false;
}

void check_context_ending(const void *ctx)
{
	struct check_obj *c = check_obj_find(VOBJ_CTX, ctx);

	if (c && check_report_is_on(FINDING_DEVICE_EVENT_UNREAD))
		event_report_unread(c, NULL);
}

void check_contexts_ending(void)
{
	if (check_report_is_on(FINDING_DEVICE_EVENT_UNREAD))
		check_obj_for_each(VOBJ_CTX, event_report_unread, NULL);
}

/* --- events of CQs --- */

/* Events are counted before the program sees them: more cannot be acknowledged. */
static void event_cq_acked(struct check_obj *c, u32 n)
{
	u32 left = __atomic_sub_fetch(&c->cq.events, n, __ATOMIC_RELAXED);

	if ((s32)left >= 0)
		return;
	check_report(FINDING_CQ_EVENT_SURPLUS,
		     (struct check_other){ "latest event taken", c->cq.event_stack },
		     "cq%u: %u events are acknowledged that were never taken", c->ord, -left);
}

enum tap_verdict check_cq_begin(struct tap_cqop *p)
{
	struct check_obj *c;

	check_performance_break();
	if (p->what == TAP_CQ_EVENT) {
		if (event_channel_blocks(p->channel))
			check_obj_for_each(VOBJ_CQ, event_find_armed, p->channel);
	} else if (p->what == TAP_CQ_ACK) {
		c = check_obj_find(VOBJ_CQ, p->cq);
		if (c)
			event_cq_acked(c, (u32)p->n);
	}
	return TAP_PASS;
}

void check_cq_end(struct tap_cqop *p)
{
	struct check_obj *c, *channel;

	if (p->ret || p->what == TAP_CQ_ACK)
		return;
	c = check_obj_find(VOBJ_CQ, p->cq);
	if (!c)
		return;
	if (p->what == TAP_CQ_ARM) {
		event_cq_armed(c);
		return;
	}
	c->cq.event_stack = check_stack_here();
	__atomic_fetch_add(&c->cq.events, 1, __ATOMIC_RELAXED);
	channel = check_obj_find(VOBJ_CH, p->channel);
	if (channel)
		channel->channel.is_read = true;
}

/*
 * The calls that destroy an object wait for acknowledgements of other threads, which is legal.
 *
 * @own: events that the call acknowledges itself
 * Return: the events that nobody has acknowledged for a while.
 */
static u32 event_wait_acked(const u32 *events, u32 own)
{
	u64 end = tap_now() + EVENT_WAIT_NS;
	u32 n;

	/* By the clock: where CPUs are scarce, each sleep is longer. */
	do {
		n = __atomic_load_n(events, __ATOMIC_RELAXED);
		if ((s32)(n - own) <= 0)
			return 0;
		usleep(EVENT_SLEEP_US);
	} while (tap_now() < end);
	return n - own;
}

static void event_check_unread(const struct check_obj *c)
{
	const struct ibv_cq *cq = (void *)(uintptr_t)c->tap->key;
	struct check_obj *channel = check_obj_find(VOBJ_CH, cq->channel);
	struct pollfd fd = { .events = POLLIN };

	if (!c->cq.was_armed || !channel || channel->channel.is_read)
		return;
	fd.fd = cq->channel->fd;
	if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN))
		check_report(FINDING_CQ_EVENT_UNREAD,
			     (struct check_other){ "channel created", channel->stack },
			     "cq%u was armed, and ch%u has an event: nobody has ever taken one",
			     c->ord, channel->ord);
}

void check_cq_ending(const void *cq)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);
	u32 n = c ? event_wait_acked(&c->cq.events, 0) : 0;

	if (c && check_report_is_on(FINDING_CQ_EVENT_UNREAD))
		event_check_unread(c);
	if (n)
		check_report(FINDING_CQ_EVENT_UNACKED,
			     (struct check_other){ "latest event taken", c->cq.event_stack },
			     "cq%u is destroyed with %u event%s that nobody acknowledged: "
			     "ibv_destroy_cq() waits for them",
			     c->ord, n, n == 1 ? "" : "s");
}

/* --- asynchronous events, and those of the rdma_cm --- */

void check_srq_limited(const struct tap_call *c)
{
	struct check_obj *srq = check_obj_find(VOBJ_SRQ, (void *)(uintptr_t)c->args[0]);

	if (srq && (c->args[2] & IBV_SRQ_LIMIT))
		srq->srq.has_limit = true;
}

void check_srq_ending(const void *obj)
{
	struct check_obj *srq = check_obj_find(VOBJ_SRQ, obj);

	if (srq && !srq->srq.has_limit)
		check_report(FINDING_SRQ_LIMIT_NEVER, (struct check_other){ "created", srq->stack },
			     "srq%u is destroyed, and its srq_limit was never set", srq->ord);
}

static void event_count(struct check_obj *c, int by)
{
	if (!c)
		return;
	__atomic_fetch_add(&c->events, (u32)by, __ATOMIC_RELAXED);
	if (by > 0)
		c->event_stack = check_stack_here();
}

void check_async_event(const struct ibv_async_event *event, int by)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event_count(check_obj_find(VOBJ_CQ, event->element.cq), by);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event_count(check_obj_find(VOBJ_QP, event->element.qp), by);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event_count(check_obj_find(VOBJ_SRQ, event->element.srq), by);
		break;
	default: /* of a port or a device, which is not destroyed */
		break;
	}
}

void check_cm_event(const struct rdma_cm_event *event, int by)
{
	/* Those of multicast groups belong to the group. */
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		return;
	event_count(check_obj_find(VOBJ_ID, event->listen_id ? event->listen_id : event->id), by);
}

void check_events_ending(enum vobj kind, const void *obj)
{
	struct check_obj *c = check_obj_find(kind, obj), *kept = NULL;
	/* The latest event of a synchronous identifier is the library's. */
	u32 own = c && kind == VOBJ_ID && ((const struct rdma_cm_id *)obj)->event;
	u32 n = c ? event_wait_acked(&c->events, own) : 0;

	if (own)
		kept = check_obj_find(VOBJ_EV, ((const struct rdma_cm_id *)obj)->event);
	if (kept)
		kept->kept = true;
	if (n)
		check_report(FINDING_OBJECT_EVENT_UNACKED,
			     (struct check_other){ "latest event taken", c->event_stack },
			     "%s%u is destroyed with %u event%s that nobody acknowledged: the "
			     "call waits for them",
			     vobj_names[kind], c->ord, n, n == 1 ? "" : "s");
}
