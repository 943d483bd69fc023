/* SPDX-License-Identifier: MIT */
/*
 * rdma_get_devices(3): the contexts of both libraries in one list, the real ones first. The list
 * keeps those that it was made of.
 */
#include "libdispatch/cm/cm.h"

#include <stddef.h>
#include <stdlib.h>

CM_EXPORT(struct ibv_context **, rdma_get_devices, int *num_devices);
CM_EXPORT(void, rdma_free_devices, struct ibv_context **list);

/** struct both_contexts - a list of a program, @all, and the two that it was made of. */
struct both_contexts {
	struct ibv_context **side[SIDES];
	struct ibv_context *all[];
};

/* Contexts of a device that cannot be remembered are left out. Return: their number in @to */
static int contexts_add(struct ibv_context **to, struct ibv_context *const *from, enum cm_side side)
{
	struct ibv_device *one[] = { NULL, NULL };
	int n = 0;

	for (; from && *from; from++) {
		one[0] = (*from)->device;
		if (side == SIDE_EMULATED)
			emulated_devices_add(one);
		if (side == SIDE_REAL || is_emulated_device(one[0]))
			to[n++] = *from;
	}
	return n;
}

/**
 * rdma_get_devices() - rdma_get_devices(3).
 * Return: NULL with errno, the real library's
 */
struct ibv_context **both_rdma_get_devices(int *num_devices)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));
	struct ibv_context **real, **emulated;
	int n_real = 0, n_emulated = 0, n, err;
	struct both_contexts *list;

	if (within != SIDE_NONE)
		return CM_SIDE_GET(within, rdma_get_devices, num_devices);
	real = CM_SIDE_GET(SIDE_REAL, rdma_get_devices, &n_real);
	err = errno;
	emulated = CM_SIDE_GET(SIDE_EMULATED, rdma_get_devices, &n_emulated);
	if (!real && !emulated) {
		errno = err;
		return NULL;
	}
	list = calloc(1, sizeof(*list) + (size_t)(n_real + n_emulated + 1) * sizeof(list->all[0]));
	if (!list) {
		CM_SIDE_DO(SIDE_REAL, rdma_free_devices, real);
		CM_SIDE_DO(SIDE_EMULATED, rdma_free_devices, emulated);
		errno = ENOMEM;
		return NULL;
	}
	list->side[SIDE_REAL] = real;
	list->side[SIDE_EMULATED] = emulated;
	n = contexts_add(list->all, real, SIDE_REAL);
	n += contexts_add(list->all + n, emulated, SIDE_EMULATED);
	if (num_devices)
		*num_devices = n;
	/* cppcheck-suppress memleak ; both_rdma_free_devices() finds it by its array */
	return list->all;
}

/** rdma_free_devices() - rdma_free_devices(3). */
void both_rdma_free_devices(struct ibv_context **list)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));
	struct both_contexts *l;
	u32 side;

	if (within != SIDE_NONE) {
		CM_SIDE_DO(within, rdma_free_devices, list);
		return;
	}
	if (!list)
		return;
	l = (struct both_contexts *)((char *)list - offsetof(struct both_contexts, all));
	for (side = 0; side < SIDES; side++)
		if (l->side[side])
			CM_SIDE_DO(side, rdma_free_devices, l->side[side]);
	free(l);
}
