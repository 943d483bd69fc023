/* SPDX-License-Identifier: MIT */
/**
 * DOC: devices and contexts.
 */
#ifndef LIBSHIM_VERBS_DEVICE_H
#define LIBSHIM_VERBS_DEVICE_H

#include "libshim/verbs/objects.h"

/** struct shim_device - libmlx5 and others read a word at offset 664, after struct ibv_device. */
struct shim_device {
	union {
		struct ibv_device dev;
		u8 room[1024];
	};
	u32 magic;
	struct hca_dev info; /* the fabric's description when the list was made */
};

/**
 * struct shim_context - an open device. @verbs grows at its front, so the room precedes it.
 * @refs: 1 for the open device, 1 per object
 * @id: identifies the context to processes that share its descriptor; see struct hca_pd
 */
struct shim_context {
	u8 room[512];
	struct verbs_context verbs;
	u32 magic;
	bool dead; /* inherited by a forked child */
	bool closed;
	u32 async_chan;
	int async_fd; /* of the channel; the program may have another one */
	u32 handle; /* in the HCA, for events of ports */
	u32 refs;
	u64 id;
	struct shim_device *dev;
	struct shim_ahn_table *ahn; /* of an EFA device: ahn.c */
	struct shim_context *next; /* list of contexts, under objs_lock */
};
_Static_assert(offsetof(struct shim_context, verbs) % _Alignof(struct verbs_context) == 0, "room");

/* --- device.c --- */

/**
 * shim_device_now() - the current description of a device, or else the one of the device list.
 * @buf: may be used for it
 * Return: HCA memory, which may change at any time, or @buf, or the list's.
 */
const struct hca_dev *shim_device_now(const struct shim_context *ctx, struct hca_dev *buf);
/** shim_device_by_index() - the device with that index in the HCA, or NULL with errno. */
struct shim_device *shim_device_by_index(u32 index);
/**
 * rdmaemu_qp_cache() - how many queue pairs a device can use at once at full speed, as its profile
 * says, for the checker. Return: 0: that is not known, or it is no device of the fabric
 */
SHIM_EXPORT u32 rdmaemu_qp_cache(const struct ibv_device *device);
/** shim_devices_forget() - in a forked child: list the devices again at next use. */
void shim_devices_forget(void);

/** shim_limits_now() - a device's current limits, which rules may have reduced. */
static inline const struct hca_limits *shim_limits_now(const struct shim_context *ctx,
						       struct hca_dev *buf)
{
	return &shim_device_now(ctx, buf)->lim;
}

/** shim_device_port() - port @port of a device that shim_device_now() returned, or NULL. */
static inline const struct hca_port *shim_device_port(const struct hca_dev *d, u32 port)
{
	return port && port <= d->n_ports && port <= HCA_MAX_PORTS ? &d->port[port] : NULL;
}

/* --- context.c --- */

/**
 * shim_context_new() - a context of @dev; takes over the descriptor @cmd_fd of context number @id.
 * Return: NULL with errno; the descriptor is closed then.
 */
struct ibv_context *shim_context_new(struct shim_device *dev, int cmd_fd, u64 id);

/* --- context_file.c --- */

/**
 * shim_context_fd_make() - the descriptor of a new context of device @dev; its number goes to *id.
 */
int shim_context_fd_make(u32 dev, u64 *id);
/** shim_context_fd_read() - the context that a descriptor stands for. Return: 0 or -errno. */
int shim_context_fd_read(int cmd_fd, struct shim_device **dev, u64 *id);

/* --- context_ops.c --- */

/** shim_context_set_ops() - set the operations of a new context. */
void shim_context_set_ops(struct shim_context *ctx);
/** shim_context_set_dead() - replace the operations by ones that fail and touch nothing. */
void shim_context_set_dead(struct shim_context *ctx);

/* --- query.c --- */

int shim_query_port(struct ibv_context *ibctx, uint8_t port, struct ibv_port_attr *attr,
		    size_t len);
int shim_query_device_ex(struct ibv_context *ibctx, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int shim_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);

#endif
