/* SPDX-License-Identifier: MIT */
/**
 * DOC: the rdma_cm's devices, opened at first need and shared by all identifiers.
 */
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/watch.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

#include <fcntl.h>
#include <stdlib.h>

static pthread_mutex_t devs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ucma_dev devs[PROTO_MAX_DEVS];

static void ucma_forked(void)
{
	/* Only the forking thread exists in the child, and it does not hold the lock. */
	devs_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(devs, 0, sizeof(devs));
	ucma_forget_all();
}

/* Prepare for forks and for the end of the fabric process. Return: 0 or -errno. */
static int ucma_prepare(void)
{
	static bool prepared; /* under devs_lock; true in forked children as well */
	int ret = 0;

	pthread_mutex_lock(&devs_lock);
	if (!prepared)
		ret = pthread_atfork(NULL, NULL, ucma_forked);
	prepared = !ret;
	pthread_mutex_unlock(&devs_lock);
	shim_watch_on_fatal(FATAL_CM, ucma_raise_fatal);
	return -ret;
}

int ucma_init(void)
{
	int ret = shim_client_connect();

	if (!ret && !shim.welcome.n_devs)
		ret = -ENODEV;
	if (!ret)
		ret = shim_verbs_init();
	if (!ret)
		ret = ucma_prepare();
	/* librdmacm's error for any failure to list devices. */
	return ret ? fail_minus(ret == -ENOMEM ? -ENOMEM : -ENODEV) : 0;
}

/* devs_lock held. Return: 0, or -1 with errno. */
static int cm_dev_open(struct ucma_dev *d, u32 index)
{
	struct shim_device *dev;
	struct ibv_device_attr attr;
	int ret;

	if (d->verbs)
		return 0;
	dev = shim_device_by_index(index);
	if (!dev)
		return -1;
	d->verbs = ibv_open_device(&dev->dev);
	if (!d->verbs)
		return -1;
	ret = ibv_query_device(d->verbs, &attr);
	if (ret) {
		ibv_close_device(d->verbs);
		d->verbs = NULL;
		return fail_minus(-ret);
	}
	d->max_qpsize = (u32)attr.max_qp_wr;
	d->max_initiator_depth = (u8)min_u32((u32)attr.max_qp_init_rd_atom, 255);
	d->max_responder_resources = (u8)min_u32((u32)attr.max_qp_rd_atom, 255);
	return 0;
}

struct ucma_dev *ucma_dev_get(u32 index)
{
	struct ucma_dev *d;
	bool ok;

	if (index - shim.welcome.first_dev >= PROTO_MAX_DEVS)
		return fail_null(-ENODEV);
	d = &devs[index - shim.welcome.first_dev];
	pthread_mutex_lock(&devs_lock);
	ok = !cm_dev_open(d, index);
	if (ok && !d->pd)
		d->pd = ibv_alloc_pd(d->verbs);
	ok = ok && d->pd;
	if (ok)
		d->refs++;
	pthread_mutex_unlock(&devs_lock);
	return ok ? d : NULL;
}

void ucma_dev_put(struct ucma_dev *d)
{
	pthread_mutex_lock(&devs_lock);
	if (!--d->refs) {
		/* They stay if a program has left objects in them. */
		if (!ibv_dealloc_pd(d->pd))
			d->pd = NULL;
		if (d->xrcd && !ibv_close_xrcd(d->xrcd))
			d->xrcd = NULL;
	}
	pthread_mutex_unlock(&devs_lock);
}

struct ibv_xrcd *ucma_dev_xrcd(struct ucma_dev *d)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&devs_lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &attr);
	xrcd = d->xrcd;
	pthread_mutex_unlock(&devs_lock);
	return xrcd;
}

/**
 * rdma_get_devices() - rdma_get_devices(3).
 * Return: NULL-terminated array, for rdma_free_devices(); NULL with errno.
 */
SHIM_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	u32 i, n = 0;
	bool ok = true;

	if (call_fails_early(CALL_rdma_get_devices))
		return NULL;
	if (num_devices)
		*num_devices = 0;
	if (ucma_init())
		return NULL;
	n = min_u32(shim.welcome.n_devs, PROTO_MAX_DEVS);
	list = calloc(n + 1, sizeof(struct ibv_context *));
	if (!list)
		return NULL;
	pthread_mutex_lock(&devs_lock);
	for (i = 0; ok && i < n; i++) {
		ok = !cm_dev_open(&devs[i], shim.welcome.first_dev + i);
		list[i] = devs[i].verbs;
	}
	pthread_mutex_unlock(&devs_lock);
	if (!ok) {
		free(list);
		return NULL;
	}
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

/** rdma_free_devices() - rdma_free_devices(3): the devices stay open. */
SHIM_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
