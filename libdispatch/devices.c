/* SPDX-License-Identifier: MIT */
/*
 * One list with the devices of both libraries, the real ones first.
 *
 * The list keeps those that it was made of, because the libraries count references to the devices
 * of their lists. A library that lists devices for itself, as librdmacm does, gets the real ones:
 * it opens each of them. A device that cannot be remembered is left out, since its calls would
 * go to the other library.
 */
#include "libdispatch/emulated.h"
#include "libshim/interpose/export.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct ibv_device **(*list_get_fn)(int *num_devices);
typedef void (*list_free_fn)(struct ibv_device **list);

/** struct side_list - a list of a program, @all, and the two that it was made of. */
struct side_list {
	struct side_list *next;
	struct ibv_device **real;
	struct ibv_device **emulated;
	struct ibv_device *all[];
};

static struct side_list *lists;
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;

SHIM_EXPORT struct ibv_device **list_get(int *num_devices) __asm__("ibv_get_device_list");
SHIM_EXPORT void list_free(struct ibv_device **list) __asm__("ibv_free_device_list");

static struct ibv_device **real_list_get(int *n)
{
	static void *slot;
	list_get_fn get = (list_get_fn)real_symbol_next(&slot, "ibv_get_device_list");

	*n = 0;
	if (get)
		return get(n);
	errno = ENOSYS;
	return NULL;
}

static void real_list_free(struct ibv_device **list)
{
	static void *slot;
	list_free_fn free_list = (list_free_fn)real_symbol_next(&slot, "ibv_free_device_list");

	if (list && free_list)
		free_list(list);
}

static struct ibv_device **emulated_list_get(int *n)
{
	static void *slot;
	list_get_fn get = (list_get_fn)emulated_symbol(&slot, "ibv_get_device_list");
	struct ibv_device **list;

	*n = 0;
	list = get ? get(n) : NULL;
	if (list)
		emulated_devices_add(list);
	return list;
}

static void emulated_list_free(struct ibv_device **list)
{
	static void *slot;
	list_free_fn free_list = (list_free_fn)emulated_symbol(&slot, "ibv_free_device_list");

	if (list && free_list)
		free_list(list);
}

static bool list_has_name(struct ibv_device *const *list, int n, const char *name)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i]->name, name))
			return true;
	return false;
}

static void print_same_name(const char *name)
{
	static bool printed;

	if (!exchange(&printed, true))
		dprintf(STDERR_FILENO,
			"rdmaemu: %s: real and emulated devices are both called %s: only the real "
			"one is used; 'name' in a profile gives the others another name\n",
			program_invocation_short_name, name);
}

/* Return: the number of devices in @l->all. */
static int list_merge(struct side_list *l, int n_real, int n_emulated)
{
	int i, n = 0;

	for (i = 0; i < n_real; i++)
		l->all[n++] = l->real[i];
	for (i = 0; i < n_emulated; i++) {
		if (list_has_name(l->real, n_real, l->emulated[i]->name))
			print_same_name(l->emulated[i]->name);
		else if (is_emulated_device(l->emulated[i]))
			l->all[n++] = l->emulated[i];
	}
	l->all[n] = NULL;
	return n;
}

struct ibv_device **list_get(int *num_devices)
{
	int n_real, n_emulated, n, err;
	struct ibv_device **real, **emulated;
	struct side_list *l;

	real = real_list_get(&n_real);
	if (is_real_library(__builtin_return_address(0))) {
		if (num_devices)
			*num_devices = n_real;
		return real;
	}
	err = errno;
	emulated = emulated_list_get(&n_emulated);
	l = malloc(sizeof(*l) + (size_t)(n_real + n_emulated + 1) * sizeof(l->all[0]));
	if (!l || (!real && !emulated)) {
		errno = l ? err : ENOMEM;
		free(l);
		real_list_free(real);
		emulated_list_free(emulated);
		return NULL;
	}
	l->real = real;
	l->emulated = emulated;
	n = list_merge(l, n_real, n_emulated);
	pthread_mutex_lock(&lists_lock);
	l->next = lists;
	lists = l;
	pthread_mutex_unlock(&lists_lock);
	if (num_devices)
		*num_devices = n;
	return l->all;
}

void list_free(struct ibv_device **list)
{
	struct side_list **at, *l;

	pthread_mutex_lock(&lists_lock);
	for (at = &lists; *at && (*at)->all != list; at = &(*at)->next)
		;
	l = *at;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&lists_lock);
	if (!l) {
		real_list_free(list);
		return;
	}
	real_list_free(l->real);
	emulated_list_free(l->emulated);
	free(l);
}
