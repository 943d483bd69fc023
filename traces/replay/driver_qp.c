/* SPDX-License-Identifier: MIT */
/* See driver_qp.h. */
#include "traces/replay/driver_qp.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <string.h>

#define EFA_LIBRARY "libefa.so.1"

static enum ibv_qp_type driver_qp_type(const struct vcall_parsed *c)
{
	const void *attr = (const void *)(uintptr_t)c->args[1];

	switch (c->call) {
	case VCALL_ibv_create_qp:
		return ((const struct ibv_qp_init_attr *)attr)->qp_type;
	case VCALL_ibv_create_qp_ex:
		return ((const struct ibv_qp_init_attr_ex *)attr)->qp_type;
	default:
		return 0;
	}
}

bool rp_is_driver_qp(const struct vcall_parsed *c, const char *want)
{
	return driver_qp_type(c) == IBV_QPT_DRIVER && strncmp(want, "NULL", 4) != 0;
}

/* On emulated devices, too: the library that is found then is the emulator's. */
static void *efa_function(const char *name)
{
	void *lib = dlopen(EFA_LIBRARY, RTLD_LAZY);
	void *fn = lib ? dlsym(lib, name) : NULL;

	if (!fn)
		errno = EOPNOTSUPP;
	return fn;
}

uint64_t rp_driver_qp_create(const struct vcall_parsed *c)
{
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	void *first = (void *)(uintptr_t)c->args[0], *attr = (void *)(uintptr_t)c->args[1];
	__typeof__(&efadv_create_driver_qp) create;
	__typeof__(&efadv_create_qp_ex) create_ex;

	if (c->call == VCALL_ibv_create_qp) {
		create = (__typeof__(create))efa_function("efadv_create_driver_qp");
		return create ? (uintptr_t)create(first, attr, efa.driver_qp_type) : 0;
	}
	create_ex = (__typeof__(create_ex))efa_function("efadv_create_qp_ex");
	return create_ex ? (uintptr_t)create_ex(first, attr, &efa, sizeof(efa)) : 0;
}
