/* SPDX-License-Identifier: MIT */
/*
 * pN/devices: describes the devices when the program, or librdmacm, opens one.
 *
 * The recorder queries the library below. These queries are not calls of the program: a library
 * that counts calls for its fault rules, as the emulator does, exports a function that pauses the
 * counting. Queries that fail are left out.
 */
#include "traces/record/devices.h"
#include "traces/calls/devices.h"
#include "libtap/devices.h"
#include "libtap/next_symbol.h"
#include "traces/record/profile.h"
#include "traces/record/session.h"
#include "traces/vtrace/devices.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_ADDRS 64u
#define ADDR_LINE 96u

/**
 * struct seen - what the file has, @len bytes. @nr: bits of device indexes; @name: their names;
 * @addr: address lines
 */
static struct {
	pthread_mutex_t lock;
	bool list;
	u64 nr;
	char name[VT_MAX_DEVS][VT_DEV_NAME];
	size_t len;
	u32 n_addrs;
	char addr[MAX_ADDRS][ADDR_LINE];
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Static_assert(VT_MAX_DEVS <= 64, "a bit each");

void rec_devices_reset(void)
{
	pthread_mutex_init(&seen.lock, NULL);
	seen.list = false;
	seen.nr = 0;
	seen.n_addrs = 0;
	seen.len = 0;
}

/* Text beyond the reader's bound is left out. */
static bool rec_devices_append_text(const struct vdev_text *t)
{
	if (t->len > VT_DEVICES_TEXT - seen.len)
		return false;
	seen.len += t->len;
	return !vt_writer_add_file(&rec.w, "devices", t->text, t->len);
}

static bool rec_devices_find_api(struct vdev_api *api)
{
	static void *guid, *device, *port, *gid;

	api->list = tap_device_list;
	api->free_list = tap_device_list_free;
	api->guid = (__typeof__(api->guid))tap_next_symbol(&guid, "ibv_get_device_guid");
	api->device = (__typeof__(api->device))tap_next_symbol(&device, "ibv_query_device");
	api->port = (__typeof__(api->port))tap_next_symbol(&port, "ibv_query_port");
	api->gid = (__typeof__(api->gid))tap_next_symbol(&gid, "_ibv_query_gid_ex");
	return api->guid && api->device && api->port;
}

static void rec_devices_pause_counting(bool on)
{
	static void *slot;
	void (*fn)(bool) = (__typeof__(fn))tap_next_symbol_loaded(&slot, "rdmaemu_not_counted");

	if (fn)
		fn(on);
}

/*
 * Returns the device's index in the list, or VT_MAX_DEVS: not found. @n: set to the length of the
 * list.
 */
static u32 rec_devices_number_of(struct ibv_device **list, const struct ibv_context *ctx, u32 *n)
{
	u32 i, nr = VT_MAX_DEVS;

	for (i = 0; list[i]; i++)
		if (i < VT_MAX_DEVS && !strcmp(list[i]->name, ctx->device->name))
			nr = i;
	*n = i;
	return nr;
}

/* The caller holds the lock. */
static void rec_devices_append_device(const struct vdev_api *api, struct ibv_device **list,
				      struct ibv_context *ctx)
{
	struct vdev_text t = { .cap = VT_DEVICES_TEXT / 4 };
	u32 n, nr = rec_devices_number_of(list, ctx, &n);

	if (nr == VT_MAX_DEVS || seen.nr & BIT64(nr))
		return;
	t.text = malloc(t.cap);
	if (!t.text)
		return;
	if (!seen.list)
		vdev_put_list(&t, api, list);
	vdev_put_context(&t, api, ctx, nr);
	if (rec_devices_append_text(&t)) {
		seen.list = true;
		seen.nr |= BIT64(nr);
		snprintf(seen.name[nr], sizeof(seen.name[nr]), "%s", ctx->device->name);
	}
	free(t.text);
	if (rec.real)
		rec_profile_write(ctx, n);
}

void rec_devices_add(struct ibv_context *ctx)
{
	struct ibv_device **list;
	struct vdev_api api;
	int saved = errno;

	pthread_mutex_lock(&seen.lock);
	rec_devices_pause_counting(true);
	list = rec_devices_find_api(&api) ? api.list(NULL) : NULL;
	if (list) {
		rec_devices_append_device(&api, list, ctx);
		api.free_list(list);
	}
	rec_devices_pause_counting(false);
	pthread_mutex_unlock(&seen.lock);
	errno = saved;
}

/* --- addresses --- */

/* Returns the identifier that a call may have bound to a port, or NULL. */
static const struct rdma_cm_id *rec_devices_bound_id(enum vcall call, const u64 *args)
{
	const struct rdma_cm_event *event;

	switch (call) {
	case VCALL_rdma_bind_addr:
	case VCALL_rdma_resolve_addr:
		return (const void *)args[0];
	case VCALL_rdma_create_ep:
		return *(struct rdma_cm_id **)args[0];
	case VCALL_rdma_get_request:
		return *(struct rdma_cm_id **)args[1];
	case VCALL_rdma_get_cm_event:
		event = *(struct rdma_cm_event **)args[1];
		return event->event == RDMA_CM_EVENT_ADDR_RESOLVED ||
				       event->event == RDMA_CM_EVENT_CONNECT_REQUEST
			       ? event->id
			       : NULL;
	default:
		return NULL;
	}
}

/* The caller holds the lock. */
static void rec_devices_append_address(const struct rdma_cm_id *id)
{
	char line[ADDR_LINE];
	struct vdev_text t = { .text = line, .cap = sizeof(line) };
	u32 nr, i;

	for (nr = 0; nr < VT_MAX_DEVS; nr++)
		if (seen.nr & BIT64(nr) && !strcmp(seen.name[nr], id->verbs->device->name))
			break;
	if (nr == VT_MAX_DEVS || seen.n_addrs == MAX_ADDRS ||
	    !vdev_put_address(&t, nr, id->port_num, &id->route.addr.src_addr) || !t.len)
		return;
	for (i = 0; i < seen.n_addrs; i++)
		if (!strcmp(seen.addr[i], line))
			return;
	if (rec_devices_append_text(&t))
		snprintf(seen.addr[seen.n_addrs++], ADDR_LINE, "%s", line);
}

void rec_devices_add_address(enum vcall call, const u64 *args)
{
	const struct rdma_cm_id *id = rec_devices_bound_id(call, args);

	if (!id || !id->verbs || !id->port_num)
		return;
	pthread_mutex_lock(&seen.lock);
	rec_devices_append_address(id);
	pthread_mutex_unlock(&seen.lock);
}
