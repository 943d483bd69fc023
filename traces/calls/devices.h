/* SPDX-License-Identifier: MIT */
/**
 * DOC: what devices are, asked of libibverbs and put down as traces/vtrace/devices.h has it: by the recorder, and by a
 * replay that compares it with what there is.
 */
#ifndef TRACES_CALLS_DEVICES_H
#define TRACES_CALLS_DEVICES_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/** struct vdev_api - the library's functions, as the caller has found them. What is not there is NULL. */
struct vdev_api {
	struct ibv_device **(*list)(int *n);
	void (*free_list)(struct ibv_device **list);
	__be64 (*guid)(struct ibv_device *dev);
	int (*device)(struct ibv_context *ctx, struct ibv_device_attr *attr);
	int (*port)(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr);
	int (*gid)(struct ibv_context *ctx, uint32_t port, uint32_t index,
		   struct ibv_gid_entry *entry, uint32_t flags, size_t size);
};

/** struct vdev_text - lines under construction, with room for @cap bytes. A line that has no room is left out. */
struct vdev_text {
	char *text;
	size_t len;
	size_t cap;
};

/** vdev_put_list() - a line for each device of the list. */
void vdev_put_list(struct vdev_text *t, const struct vdev_api *api, struct ibv_device **list);
/** vdev_put_context() - what one that is open says of itself. @nr: its number in the list. What fails is left out. */
void vdev_put_context(struct vdev_text *t, const struct vdev_api *api, struct ibv_context *ctx,
		      uint32_t nr);
/** vdev_put_address() - an IP address of a port. Return: false: it is none, or this host's for itself; nothing is put. */
bool vdev_put_address(struct vdev_text *t, uint32_t nr, uint32_t port, const struct sockaddr *sa);

#endif
