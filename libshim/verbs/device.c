/* SPDX-License-Identifier: MIT */
/**
 * DOC: the device list. Devices live as long as the process, so that pointers to them stay valid
 * after ibv_free_device_list(3).
 */
#include "libshim/verbs/device.h"

#include "emulator/hca_port.h"
#include "emulator/limits.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/rpc.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_device *devices[PROTO_MAX_DEVS];
static u32 n_devices;

void shim_devices_forget(void)
{
	/* Only the forking thread exists in the child, and it does not hold the lock. */
	devices_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(devices, 0, sizeof(devices));
	n_devices = 0;
}

/* Ask the fabric process. Return: 0 or -errno. */
static int device_query(u32 number, struct hca_dev *info)
{
	struct proto_msg m = { .op = PROTO_DEV, .ask.number = number };
	int ret = shim_rpc_call(&m, -1, NULL, 0);
	u32 p, g;

	if (ret < 0)
		return ret;
	*info = m.dev;
	info->index = shim.welcome.first_dev + number;
	info->number = number;
	info->n_ports = min_u32(info->n_ports, HCA_MAX_PORTS);
	info->lim.pkeys = min_u32(info->lim.pkeys, LIM_PKEYS);
	info->name[sizeof(info->name) - 1] = 0;
	for (p = 0; p <= HCA_MAX_PORTS; p++)
		for (g = 0; g < HCA_GIDS; g++)
			info->port[p].gid[g].ndev[sizeof(info->port[p].gid[g].ndev) - 1] = 0;
	return 0;
}

const struct hca_dev *shim_device_now(const struct shim_context *ctx, struct hca_dev *buf)
{
	if (ctx->dead || load_relaxed(&shim.fatal))
		return &ctx->dev->info;
	if (shim.hca)
		return &shim.hca->dev[ctx->dev->info.index];
	return device_query(ctx->dev->info.number, buf) ? &ctx->dev->info : buf;
}

/* Return: 0 or -errno. */
static int device_new(u32 number, struct shim_device **dev)
{
	struct shim_device *d = shim_obj_alloc(sizeof(*d));
	int ret = d ? device_query(number, &d->info) : -ENOMEM;

	if (ret) {
		free(d);
		return ret;
	}
	d->magic = MAGIC_DEVICE;
	d->dev.node_type = lim_is_efa(&d->info.lim) ? IBV_NODE_UNSPECIFIED : IBV_NODE_CA;
	d->dev.transport_type =
		lim_is_efa(&d->info.lim) ? IBV_TRANSPORT_UNSPECIFIED : IBV_TRANSPORT_IB;
	snprintf(d->dev.name, sizeof(d->dev.name), "%s", d->info.name);
	snprintf(d->dev.dev_name, sizeof(d->dev.dev_name), "uverbs%u", number);
	snprintf(d->dev.dev_path, sizeof(d->dev.dev_path), "/sys/class/infiniband_verbs/uverbs%u",
		 number);
	snprintf(d->dev.ibdev_path, sizeof(d->dev.ibdev_path), "/sys/class/infiniband/%s",
		 d->info.name);
	*dev = d;
	return 0;
}

/* Make the devices that the fabric process has announced. Return: 0 or -errno. */
static int devices_make(void)
{
	u32 n = min_u32(shim.welcome.n_devs, PROTO_MAX_DEVS);
	int ret = 0;

	pthread_mutex_lock(&devices_lock);
	while (!ret && n_devices < n) {
		ret = device_new(n_devices, &devices[n_devices]);
		if (!ret)
			n_devices++;
	}
	pthread_mutex_unlock(&devices_lock);
	return ret;
}

struct shim_device *shim_device_by_index(u32 index)
{
	int ret = shim_client_connect();
	u32 i;

	if (!ret)
		ret = devices_make();
	if (ret)
		return fail_null(ret);
	for (i = 0; i < n_devices; i++)
		if (devices[i]->info.index == index)
			return devices[i];
	return fail_null(-ENODEV);
}

/**
 * ibv_get_device_list() - ibv_get_device_list(3).
 * Return: NULL-terminated array, or NULL with errno ENOSYS (no fabric), EPERM or ENOMEM.
 */
SHIM_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	int ret;
	u32 i;

	if (call_fails_early(CALL_ibv_get_device_list))
		return NULL;
	if (num_devices)
		*num_devices = 0;
	ret = shim_client_connect();
	if (!ret)
		ret = devices_make();
	if (ret)
		return fail_null(ret);
	list = calloc(n_devices + 1, sizeof(*list));
	if (!list)
		return fail_null(-ENOMEM);
	for (i = 0; i < n_devices; i++)
		list[i] = &devices[i]->dev;
	if (num_devices)
		*num_devices = (int)n_devices;
	return list;
}

/** ibv_free_device_list() - ibv_free_device_list(3). */
SHIM_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

/** ibv_get_device_name() - ibv_get_device_name(3). */
SHIM_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

u32 rdmaemu_qp_cache(const struct ibv_device *device)
{
	u32 i, figure = 0;

	pthread_mutex_lock(&devices_lock);
	for (i = 0; i < n_devices; i++)
		if (devices[i] && device == &devices[i]->dev)
			figure = devices[i]->info.lim.qp_cache;
	pthread_mutex_unlock(&devices_lock);
	return figure;
}

static const struct shim_device *shim_device_of(const struct ibv_device *device)
{
	const struct shim_device *d = (const struct shim_device *)device;

	return d && d->magic == MAGIC_DEVICE ? d : NULL;
}

/** ibv_get_device_guid() - ibv_get_device_guid(3). Return: node GUID in network byte order. */
SHIM_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	const struct shim_device *d = shim_device_of(device);

	return d ? htobe64(d->info.guid) : 0;
}

/** ibv_get_device_index() - ibv_get_device_index(3). Return: index or -1. */
SHIM_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	const struct shim_device *d = shim_device_of(device);

	return d ? (int)d->info.number : -1;
}
