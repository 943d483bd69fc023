/* SPDX-License-Identifier: MIT */
/**
 * DOC: opening and closing devices.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/interpose/export.h"
#include "libshim/lend/region.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void context_init(struct shim_context *ctx, struct shim_device *dev, u32 chan, int fd,
			 int cmd_fd)
{
	struct verbs_context *v = &ctx->verbs;

	ctx->magic = MAGIC_CONTEXT;
	ctx->refs = 1;
	ctx->dev = dev;
	ctx->async_chan = chan;
	ctx->async_fd = fd;
	shim_context_set_ops(ctx);
	v->context.device = &dev->dev;
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

	ret = shim_verbs_init();
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
 * ibv_close_device() - ibv_close_device(3). Objects that the program did not destroy before stay
 * until it exits, and may still be destroyed.
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
	/* It fails if the fabric process has ended, which then raises no events anyway. */
	shim_obj_destroy_cmd(ctx, CMD_CLOSE_DEV, ctx->handle);
	if (ctx->dead)
		syscall(SYS_close, ctx->async_fd);
	else
		shim_chan_free(ctx->async_chan, ctx->async_fd);
	shim_context_put(ctx);
	lend_give_back_idle();
	return 0;
}
