/* SPDX-License-Identifier: MIT */
/**
 * DOC: what programs on real devices have, for a status.
 *
 * The process of a program writes struct real_objects, into its own segment: numbers are printed
 * as they are, names are checked.
 */
#include "fabric/common/json.h"
#include "fabric/core/fabric.h"
#include "fabric/proto/real_objects.h"
#include "fabric/server/status.h"

#include <ctype.h>
#include <string.h>

/* A copy, which does not change any more, and can be printed. */
static void real_device_name(const struct real_device *d, char name[REAL_DEVICE_NAME])
{
	u32 i;

	memcpy(name, d->name, REAL_DEVICE_NAME);
	name[REAL_DEVICE_NAME - 1] = '\0';
	for (i = 0; name[i]; i++)
		if (!isgraph((unsigned char)name[i]))
			name[i] = '?';
}

const struct real_objects *status_real_objects(const struct fabric *f, const struct client *cl)
{
	if (!f->real || !cl->seg)
		return NULL;
	return (const struct real_objects *)((const char *)cl->seg + REAL_OBJECTS_OFF);
}

void status_real_add(struct json_object *o, const struct real_objects *r)
{
	struct json_object *devices = json_object_new_array();
	char name[REAL_DEVICE_NAME];
	u32 i;

	for (i = 0; i < REAL_DEVICES; i++) {
		if (!load_acquire(&r->device[i].contexts))
			continue;
		real_device_name(&r->device[i], name);
		json_append(devices, json_object_new_string(name));
	}
	json_add(o, "real", json_object_new_boolean(true));
	json_add(o, "devices", devices);
	json_add_int(o, "qps", load_relaxed(&r->qps));
	json_add_int(o, "cqs", load_relaxed(&r->cqs));
	json_add_int(o, "mrs", load_relaxed(&r->mrs));
	json_add_int(o, "mr_bytes", load_relaxed(&r->mr_bytes));
	json_add_int(o, "pds", load_relaxed(&r->pds));
	json_add_int(o, "objects", load_relaxed(&r->objects));
}

static struct json_object *status_real_qp(const struct real_objects *r, const struct real_qp *qp)
{
	struct json_object *o = json_object_new_object();
	const u32 device = load_relaxed(&qp->device), peer = load_relaxed(&qp->peer);
	const u32 state = load_relaxed(&qp->state);
	char name[REAL_DEVICE_NAME] = "?";

	if (device && device <= REAL_DEVICES)
		real_device_name(&r->device[device - 1], name);
	json_add_int(o, "qpn", load_relaxed(&qp->qpn));
	json_add(o, "real", json_object_new_boolean(true));
	json_add_str(o, "type", ib_qp_type_name(load_relaxed(&qp->type)));
	json_add_str(o, "state", ib_qp_state_name(state));
	json_add_str(o, "device", name);
	if (load_relaxed(&qp->unseen))
		json_add(o, "unseen", json_object_new_boolean(true));
	if (peer && state >= QPS_RTR)
		json_add_int(o, "peer_qpn", peer);
	return o;
}

/* The queue pairs of one program. */
static void status_add_real_qps(struct json_object *all, const struct real_objects *r, u32 client,
				const struct hca_client *h)
{
	struct json_object *o;
	u32 i;

	for (i = 0; i < REAL_QPS; i++) {
		if (!load_acquire(&r->qp[i].used))
			continue;
		o = status_real_qp(r, &r->qp[i]);
		json_add_int(o, "client", client);
		json_add_int(o, "pid", (u64)h->pid);
		json_add_str(o, "name", h->name);
		json_append(all, o);
	}
}

void status_real_qps(struct json_object *all, const struct fabric *f)
{
	const struct real_objects *r;
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next) {
		r = cl->freed ? NULL : status_real_objects(f, cl);
		if (r)
			status_add_real_qps(all, r, cl->id, &f->hca->client[cl->id]);
	}
}

void status_place(struct json_object *o, char *text, size_t size)
{
	struct json_object *devices = json_object_object_get(o, "devices");
	const size_t n = json_length(devices);
	size_t i, used;

	if (!json_object_object_get_ex(o, "real", NULL)) {
		snprintf(text, size, "node %s", json_get_str(o, "node"));
		return;
	}
	snprintf(text, size, "%s", n == 1 ? "real device" : n ? "real devices" : "no real device");
	for (i = 0; i < n; i++) {
		used = strlen(text);
		snprintf(text + used, size - used, "%s %s", i ? "," : "",
			 json_object_get_string(json_object_array_get_idx(devices, i)));
	}
}
