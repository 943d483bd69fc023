/* SPDX-License-Identifier: MIT */
/**
 * DOC: describes devices, as libibverbs reports them, in the format of traces/vtrace/devices.h. The
 * recorder writes the description, and a replay compares it with the local devices.
 */
#ifndef TRACES_CALLS_DEVICES_H
#define TRACES_CALLS_DEVICES_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/**
 * struct vdev_api - functions of the library, as the caller has found them; NULL where one is
 * missing.
 */
struct vdev_api {
	struct ibv_device **(*list)(int *n);
	void (*free_list)(struct ibv_device **list);
	__be64 (*guid)(struct ibv_device *dev);
	int (*device)(struct ibv_context *ctx, struct ibv_device_attr *attr);
	int (*port)(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr);
	int (*gid)(struct ibv_context *ctx, uint32_t port, uint32_t index,
		   struct ibv_gid_entry *entry, uint32_t flags, size_t size);
};

/**
 * struct vdev_text - text under construction, @cap bytes at most. A line that does not fit is left
 * out.
 */
struct vdev_text {
	char *text;
	size_t len;
	size_t cap;
};

/** vdev_put_list() - write a line for each device of the list. */
void vdev_put_list(struct vdev_text *t, const struct vdev_api *api, struct ibv_device **list);
/**
 * vdev_put_context() - describe an open device. @nr: its index in the list. Queries that fail are
 * left out.
 */
void vdev_put_context(struct vdev_text *t, const struct vdev_api *api, struct ibv_context *ctx,
		      uint32_t nr);
/**
 * vdev_put_address() - write an IP address of a port.
 * Return: false: @sa is no address, or one that names the host itself; nothing is written.
 */
bool vdev_put_address(struct vdev_text *t, uint32_t nr, uint32_t port, const struct sockaddr *sa);

#endif
