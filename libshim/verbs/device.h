/* SPDX-License-Identifier: MIT */
/**
 * DOC: devices and contexts: what they are, and what is asked of them.
 */
#ifndef LIBSHIM_VERBS_DEVICE_H
#define LIBSHIM_VERBS_DEVICE_H

#include "libshim/verbs/objects.h"

/* --- device.c ------------------------------------------------------------------------------- */

/**
 * shim_device_now() - a device as it is now; as it was when it was listed, where nobody can tell.
 * @buf: may be used for it
 * Return: the HCA's own memory, which goes on changing, or @buf.
 */
const struct hca_dev *shim_device_now(const struct shim_context *ctx, struct hca_dev *buf);
/** shim_limits_now() - its limits, which rules may have shrunk. */
static inline const struct hca_limits *shim_limits_now(const struct shim_context *ctx,
						       struct hca_dev *buf)
{
	return &shim_device_now(ctx, buf)->lim;
}
/** shim_device_port() - port @port of a device that shim_device_now() gave, or NULL. */
static inline const struct hca_port *shim_device_port(const struct hca_dev *d, u32 port)
{
	return port && port <= d->n_ports && port <= HCA_MAX_PORTS ? &d->port[port] : NULL;
}
/** shim_device_by_index() - the device with that index in the HCA, or NULL with errno. */
struct shim_device *shim_device_by_index(u32 index);

/** shim_devices_forget() - in a forked child: list them anew at next use. */
void shim_devices_forget(void);

/* --- context.c ------------------------------------------------------------------------------ */

/**
 * shim_context_new() - a context of @dev; takes over the descriptor @cmd_fd of context number @id.
 * Return: NULL with errno, the descriptor then closed.
 */
struct ibv_context *shim_context_new(struct shim_device *dev, int cmd_fd, u64 id);
/** shim_context_set_dead() - replace the operations by ones that fail without touching anything. */
void shim_context_set_dead(struct shim_context *ctx);

/* --- query.c -------------------------------------------------------------------------------- */

int shim_query_port(struct ibv_context *ibctx, uint8_t port, struct ibv_port_attr *attr,
		    size_t len);
int shim_query_device_ex(struct ibv_context *ibctx, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int shim_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);

#endif
