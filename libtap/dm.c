/* SPDX-License-Identifier: MIT */
/* Copies to and from device memory, through function pointers in a DM. */
#include "libtap/dm.h"
#include "libtap/process.h"

static int tap_dm_copy_low(const struct tap_dm *d)
{
	__typeof__(d->dm->memcpy_to_dm) to = (__typeof__(to))d->obj->low[0];
	__typeof__(d->dm->memcpy_from_dm) from = (__typeof__(from))d->obj->low[1];

	return d->to ? to(d->dm, d->off, d->host, d->len) : from(d->host, d->dm, d->off, d->len);
}

/* The caller has set what the users see. */
static int tap_dm_copy_run(struct tap_dm *d)
{
	int saved = errno;
	bool carry_out;

	if (!tap_enter())
		return tap_dm_copy_low(d);
	carry_out = TAP_BEGIN(dm_begin, d);
	if (carry_out) {
		errno = saved;
		d->ret = tap_dm_copy_low(d);
	}
	saved = errno;
	TAP_END(dm_end, d);
	tap_leave();
	errno = saved;
	return d->ret;
}

static int tap_dm_copy_to(struct ibv_dm *dm, uint64_t offset, const void *host, size_t length)
{
	struct tap_dm d = {
		.obj = tap_obj_find(VOBJ_DM, dm),
		.dm = dm,
		.to = true,
		.off = offset,
		.host = (void *)(uintptr_t)host,
		.len = length,
	};

	return tap_dm_copy_run(&d);
}

static int tap_dm_copy_from(void *host, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	struct tap_dm d = {
		.obj = tap_obj_find(VOBJ_DM, dm),
		.dm = dm,
		.off = offset,
		.host = host,
		.len = length,
	};

	return tap_dm_copy_run(&d);
}

void tap_dm_attach(struct tap_obj *o, struct ibv_dm *dm)
{
	o->low[0] = (void *)dm->memcpy_to_dm;
	o->low[1] = (void *)dm->memcpy_from_dm;
	dm->memcpy_to_dm = tap_dm_copy_to;
	dm->memcpy_from_dm = tap_dm_copy_from;
}
