/* SPDX-License-Identifier: MIT */
/*
 * rdma_getaddrinfo(3): the real library answers, and the emulator's if that one knows no such name,
 * such as the name of a fabric's node. Results go back to the library that has allocated them.
 */
#include "libdispatch/cm/cm.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>

CM_EXPORT(int, rdma_getaddrinfo, const char *node, const char *service,
	  const struct rdma_addrinfo *hints, struct rdma_addrinfo **res);
CM_EXPORT(void, rdma_freeaddrinfo, struct rdma_addrinfo *res);

/* Results of the emulator's library, which the program has not freed. */
struct emulated_result {
	struct emulated_result *next;
	const struct rdma_addrinfo *info;
};

static struct emulated_result *results;
static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;

static bool result_note(const struct rdma_addrinfo *info)
{
	struct emulated_result *r = malloc(sizeof(*r));

	if (!r)
		return false;
	r->info = info;
	pthread_mutex_lock(&results_lock);
	r->next = results;
	results = r;
	pthread_mutex_unlock(&results_lock);
	return true;
}

static bool result_forget(const struct rdma_addrinfo *info)
{
	struct emulated_result **at, *r;

	pthread_mutex_lock(&results_lock);
	for (at = &results; *at && (*at)->info != info; at = &(*at)->next)
		;
	r = *at;
	if (r)
		*at = r->next;
	pthread_mutex_unlock(&results_lock);
	free(r);
	return r;
}

/**
 * rdma_getaddrinfo() - rdma_getaddrinfo(3).
 * Return: 0; an EAI_ number; -1 with errno
 */
int both_rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			  struct rdma_addrinfo **res)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));
	int ret, err;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_getaddrinfo, node, service, hints, res);
	ret = CM_SIDE_CALL(SIDE_REAL, rdma_getaddrinfo, node, service, hints, res);
	if (!ret)
		return 0;
	err = errno;
	if (CM_SIDE_CALL(SIDE_EMULATED, rdma_getaddrinfo, node, service, hints, res)) {
		errno = err;
		return ret;
	}
	if (result_note(*res))
		return 0;
	CM_SIDE_DO(SIDE_EMULATED, rdma_freeaddrinfo, *res);
	return EAI_MEMORY;
}

/** rdma_freeaddrinfo() - rdma_freeaddrinfo(3). */
void both_rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));

	if (within == SIDE_NONE)
		within = result_forget(res) ? SIDE_EMULATED : SIDE_REAL;
	CM_SIDE_DO(within, rdma_freeaddrinfo, res);
}
