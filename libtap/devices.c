/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the lists of devices. A device that a user hides from the program is hidden from
 * librdmacm, too, so these hooks run for calls of libraries as well.
 */
#include "libtap/devices.h"
#include "libtap/call.h"
#include "libtap/next_symbol.h"
#include "libtap/wrap.h"

SHIM_EXPORT struct ibv_device **
wrap_get_device_list(int *num_devices) __asm__("ibv_get_device_list");
SHIM_EXPORT void wrap_free_device_list(struct ibv_device **list) __asm__("ibv_free_device_list");
SHIM_EXPORT struct ibv_context **wrap_get_contexts(int *num_devices) __asm__("rdma_get_devices");

struct ibv_device **tap_device_list(int *num_devices)
{
	static void *slot;
	__typeof__(&tap_device_list) lower;
	struct ibv_device **list;
	int n = 0;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_get_device_list");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	list = lower(&n);
	if (list && tap_start())
		TAP_EACH(devices, list, &n);
	if (num_devices)
		*num_devices = n;
	return list;
}

void tap_device_list_free(struct ibv_device **list)
{
	static void *slot;
	__typeof__(&tap_device_list_free) lower;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_free_device_list");
	if (tap_start())
		TAP_EACH(devices_free, list);
	if (lower)
		lower(list);
}

static struct ibv_context **context_list(int *num_devices)
{
	static void *slot;
	__typeof__(&context_list) lower;
	struct ibv_context **list;
	int n = 0;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "rdma_get_devices");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	list = lower(&n);
	if (list && tap_start())
		TAP_EACH(contexts, list, &n);
	if (num_devices)
		*num_devices = n;
	return list;
}

struct ibv_device **wrap_get_device_list(int *num_devices)
{
	TAP_BODY(ibv_get_device_list, devs, tap_device_list, (out_int, num_devices))
}

void wrap_free_device_list(struct ibv_device **list)
{
	tap_device_list_free(list);
}

struct ibv_context **wrap_get_contexts(int *num_devices)
{
	TAP_BODY(rdma_get_devices, ctxs, context_list, (out_int, num_devices))
}
