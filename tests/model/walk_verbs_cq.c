/* SPDX-License-Identifier: MIT */
/* Completion queues and their channel. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>

void vcq_create(struct vobj *o)
{
	struct ibv_comp_channel *ch = vchance(2) ? chan : NULL;
	int cqe = CQ_ROOM + (int)vpick(CQ_ROOM), vector = 0, want = 0;
	struct ibv_device_attr dev;
	struct ibv_cq *cq;

	if (vchance(6)) {
		want = EINVAL;
		if (ibv_query_device(ctx, &dev))
			vfail("ibv_query_device");
		switch (vpick(4)) {
		case 0:
			cqe = -(int)vpick(1000);
			break;
		case 1:
			cqe = dev.max_cqe + 1 + (int)vpick(1000);
			break;
		case 2:
			vector = ctx->num_comp_vectors + (int)vpick(100);
			break;
		default:
			vector = -1;
		}
	}
	errno = 0;
	cq = ibv_create_cq(ctx, cqe, o, ch, vector);
	if (!expect_ptr("ibv_create_cq", cq, want))
		return;
	if (cq->cqe < cqe)
		vfail("ibv_create_cq gives %d entries, not %d", cq->cqe, cqe);
	o->cq = (struct vcq){ .chan = ch };
	vborn(o, cq);
}

static void ack(struct vobj *o)
{
	if (o->cq.unacked)
		ibv_ack_cq_events(o->ptr, o->cq.unacked);
	o->cq.unacked = 0;
}

int vcq_destroy(struct vobj *o)
{
	ack(o);
	return ibv_destroy_cq(o->ptr);
}

static void resize(struct vobj *o)
{
	struct ibv_cq *cq = o->ptr;
	int cqe = CQ_ROOM + (int)vpick(CQ_ROOM);

	if (vchance(4)) {
		expect_ret("ibv_resize_cq", ibv_resize_cq(cq, vchance(2) ? 0 : -5), EINVAL);
		return;
	}
	expect_ret("ibv_resize_cq", ibv_resize_cq(cq, cqe), 0);
	if (cq->cqe < cqe)
		vfail("ibv_resize_cq gives %d entries, not %d", cq->cqe, cqe);
}

void vcq_use(struct vobj *o)
{
	enum varm arm = vchance(2) ? ARM_SOLICITED : ARM_ANY;

	if (vchance(4))
		resize(o);
	if (vchance(4))
		ack(o);
	expect_ret("ibv_req_notify_cq", ibv_req_notify_cq(o->ptr, arm == ARM_SOLICITED), 0);
	/* One for any completion stays until there was one. */
	if (o->cq.chan && arm > o->cq.armed)
		o->cq.armed = arm;
}

void vcq_events(void)
{
	struct vobj *o;
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(chan, &cq, &context)) {
		o = context;
		if (!o->live || o->actor != me || o->ptr != cq || !o->cq.events)
			vfail("unexpected completion event");
		o->cq.events--;
		o->cq.unacked++;
	}
	if (errno != EAGAIN)
		vfail("ibv_get_cq_event: errno %d", errno);
}
