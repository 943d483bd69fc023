/* SPDX-License-Identifier: MIT */
/** DOC: what the engine calls in the fabric process (struct engine_ops). */
#include "fabric/server/engine_ops.h"
#include "fabric/core/memory.h"
#include "fabric/fault/action.h"
#include "fabric/join/join.h"
#include "fabric/join/proto.h"
#include "fabric/link/chaos.h"
#include "fabric/link/link.h"
#include "fabric/link/queue.h"
#include "fabric/roce/roce.h"
#include "fabric/server/clients.h"
#include "fabric/server/helper.h"
#include "fabric/server/server.h"

static u64 ops_now(void *ctx)
{
	struct fabric *f = ctx;

	return unlikely(f->chaos) ? chaos_now(f) : fabric_ns(f);
}

static u64 ops_wall(void *ctx)
{
	return fabric_wall(ctx);
}

static void *ops_seg(void *ctx, u32 client)
{
	struct fabric *f = ctx;
	struct client *cl;

	if (client == HCA_SELF)
		return f->hca;
	if (client == HCA_LINK)
		return link_mem(f);
	if (client == HCA_JOIN)
		return join_burst_payload(f);
	if (client == HCA_ROCE)
		return roce_datagrams(f);
	cl = client < HCA_MAX_CLIENTS ? f->clients.by_id[client] : NULL;
	return cl ? client_seg(f, cl) : NULL;
}

static int ops_copy(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		    u64 soff, u64 len, u64 key)
{
	struct fabric *f = ctx;
	int ret;

	if (src->client == HCA_JOIN && join_stream_copy(f, dst, doff, src, soff, len, &ret))
		return ret;
	if (memory_needs_helper(f, dst, doff, len) || memory_needs_helper(f, src, soff, len))
		return helper_copy(f, dst, doff, src, soff, len, key);
	return memory_copy(f, dst, doff, src, soff, len);
}

static int ops_atomic(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		      struct atomic_res *res, u64 key)
{
	struct hca_mem word = { .client = client, .kind = MEM_VM, .n = 1, .iov = { { addr, 8 } } };
	struct fabric *f = ctx;
	struct vm_ctx vm = memory_vm_ctx(f);

	if (memory_needs_helper(f, &word, 0, sizeof(u64)))
		return helper_atomic(f, client, addr, op, compare_add, swap, res, key);
	return vm_atomic(&vm, client, addr, op, compare_add, swap, res);
}

static void ops_notify(void *ctx, u32 client, u32 chan)
{
	struct fabric *f = ctx;
	struct client *cl = client < HCA_MAX_CLIENTS ? f->clients.by_id[client] : NULL;
	int ret;

	if (!cl || chan >= SEG_MAX_CHANS || cl->chan_fd[chan] < 0)
		return;
	ret = eventfd_signal(&f->server->signaller, cl->chan_fd[chan]);
	if (ret)
		fabric_note(f, "event channel %u of client %u: %s", chan, client, strerror(-ret));
}

static void ops_kick(void *ctx)
{
	struct fabric *f = ctx;

	f->loop.kicked = true;
}

static int ops_link(void *ctx, const struct burst *b)
{
	return link_send(ctx, b);
}

static bool ops_under_way(void *ctx, struct hca_qp *qp)
{
	return link_under_way(ctx, qp);
}

const struct engine_ops fabric_ops = {
	.now = ops_now,
	.wall = ops_wall,
	.seg = ops_seg,
	.copy = ops_copy,
	.atomic = ops_atomic,
	.notify = ops_notify,
	.late = chaos_delay_event,
	.kick = ops_kick,
	.link = ops_link,
	.under_way = ops_under_way,
	.fault = fault_wr_status,
};
