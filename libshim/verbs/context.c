/* SPDX-License-Identifier: MIT */
/**
 * DOC: open devices: the context and its tables of operations.
 */
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/flow.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queues.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/** ops_padding() - block for verbs_context.priv, see the interposition's own description. */
extern void *ops_padding(void);

static const struct ibv_context_ops live_ops = {
	.alloc_mw = shim_alloc_mw,
	.bind_mw = shim_bind_mw,
	.dealloc_mw = shim_dealloc_mw,
	.poll_cq = shim_poll_cq,
	.req_notify_cq = shim_req_notify_cq,
	.post_srq_recv = shim_post_srq_recv,
	.post_send = shim_post_send,
	.post_recv = shim_post_recv,
};

static int dead_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return -EIO;
}

static int dead_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return EIO;
}

static int dead_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EIO;
}

void shim_context_set_dead(struct shim_context *ctx)
{
	struct ibv_context_ops *ops = &ctx->verbs.context.ops;

	ctx->dead = true;
	ops->poll_cq = dead_poll_cq;
	ops->req_notify_cq = dead_req_notify_cq;
	ops->post_send = dead_post_send;
	ops->post_recv = dead_post_recv;
	ops->post_srq_recv = dead_post_srq_recv;
	ops->bind_mw = dead_bind_mw;
}

static void context_init(struct shim_context *ctx, struct shim_device *dev, u32 chan, int fd,
			 int cmd_fd)
{
	struct verbs_context *v = &ctx->verbs;

	ctx->magic = MAGIC_CONTEXT;
	ctx->refs = 1;
	ctx->dev = dev;
	ctx->async_chan = chan;
	v->sz = sizeof(*v);
	v->priv = ops_padding();
	v->query_port = shim_query_port;
	v->query_device_ex = shim_query_device_ex;
	v->query_rt_values = shim_query_rt_values;
	v->advise_mr = shim_advise_mr;
	v->create_cq_ex = shim_create_cq_ex;
	v->create_qp_ex = shim_create_qp_ex;
	v->open_qp = shim_open_qp;
	v->create_srq_ex = shim_create_srq_ex;
	v->get_srq_num = shim_get_srq_num;
	v->post_srq_ops = shim_post_srq_ops;
	v->open_xrcd = shim_open_xrcd;
	v->close_xrcd = shim_close_xrcd;
	v->alloc_null_mr = shim_alloc_null_mr;
	v->alloc_dm = shim_alloc_dm;
	v->free_dm = shim_free_dm;
	v->reg_dm_mr = shim_reg_dm_mr;
	v->create_wq = shim_create_wq;
	v->modify_wq = shim_modify_wq;
	v->destroy_wq = shim_destroy_wq;
	v->create_rwq_ind_table = shim_create_rwq_ind_table;
	v->destroy_rwq_ind_table = shim_destroy_rwq_ind_table;
	v->ibv_create_flow = shim_create_flow;
	v->ibv_destroy_flow = shim_destroy_flow;
	v->create_counters = shim_create_counters;
	v->destroy_counters = shim_destroy_counters;
	v->attach_counters_point_flow = shim_attach_counters_point_flow;
	v->read_counters = shim_read_counters;
	v->alloc_td = shim_alloc_td;
	v->dealloc_td = shim_dealloc_td;
	v->alloc_parent_domain = shim_alloc_parent_domain;
	v->modify_cq = shim_modify_cq;
	v->modify_qp_rate_limit = shim_modify_qp_rate_limit;
	v->context.device = &dev->dev;
	v->context.ops = live_ops;
	v->context.cmd_fd = cmd_fd;
	v->context.async_fd = fd;
	v->context.num_comp_vectors = (int)dev->info.lim.comp_vectors;
	v->context.abi_compat = (void *)-1;
	pthread_mutex_init(&v->context.mutex, NULL);
}

struct ibv_context *shim_context_new(struct shim_device *dev, int cmd_fd, u64 id)
{
	struct hca_cmd cmd = { .op = CMD_OPEN_DEV };
	struct shim_context *ctx = NULL;
	int fd = -1, chan = 0, ret;

	ret = shim_objs_init();
	if (!ret)
		ret = shim_client_start();
	if (!ret)
		ctx = shim_obj_alloc(sizeof(*ctx));
	if (!ret && !ctx)
		ret = -ENOMEM;
	if (!ret) {
		chan = shim_chan_new(&fd);
		ret = chan < 0 ? chan : 0;
	}
	if (!ret) {
		cmd.open.dev = dev->info.index;
		cmd.open.async_chan = (u32)chan;
		ret = shim_cmd_exec(&cmd);
		if (ret)
			shim_chan_free((u32)chan, fd);
	}
	if (ret) {
		syscall(SYS_close, cmd_fd);
		free(ctx);
		return fail_null(ret);
	}
	context_init(ctx, dev, (u32)chan, fd, cmd_fd);
	ctx->id = id;
	ctx->handle = cmd.handle;
	pthread_mutex_lock(&objs_lock);
	ctx->next = contexts;
	contexts = ctx;
	pthread_mutex_unlock(&objs_lock);
	return &ctx->verbs.context;
}

/** ibv_open_device() - ibv_open_device(3). Return: context, or NULL with errno. */
SHIM_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct shim_device *dev = (struct shim_device *)device;
	int ret, fd;
	u64 id;

	if (call_fails(CALL_ibv_open_device))
		return NULL;
	if (!dev || dev->magic != MAGIC_DEVICE)
		return fail_null(-EINVAL);
	ret = shim_client_connect();
	if (ret)
		return fail_null(ret);
	fd = shim_context_fd_make(dev->info.index, &id);
	return fd < 0 ? fail_null(fd) : shim_context_new(dev, fd, id);
}

/**
 * ibv_close_device() - ibv_close_device(3). What the program did not destroy before stays until it
 * exits, and may still be destroyed.
 * Return: 0, or -1 with errno.
 */
SHIM_EXPORT int ibv_close_device(struct ibv_context *ibctx)
{
	struct shim_context *ctx = shim_context_of(ibctx);

	if (call_fails(CALL_ibv_close_device))
		return -1;
	if (!ctx)
		return -1;
	pthread_mutex_lock(&objs_lock);
	ctx->closed = true;
	pthread_mutex_unlock(&objs_lock);
	syscall(SYS_close, ctx->verbs.context.cmd_fd);
	/* It fails where there is nobody any more who could raise an event. */
	shim_obj_destroy_cmd(ctx, CMD_CLOSE_DEV, ctx->handle);
	if (ctx->dead)
		syscall(SYS_close, ctx->verbs.context.async_fd);
	else
		shim_chan_free(ctx->async_chan, ctx->verbs.context.async_fd);
	shim_context_put(ctx);
	return 0;
}
