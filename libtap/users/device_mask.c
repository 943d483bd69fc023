/* SPDX-License-Identifier: MIT */
/*
 * Shows a program some of its devices only: those that RDMAEMU_REAL names, separated by commas.
 *
 * A list is shortened in place. The library below counts references to the devices of its lists, so
 * each shortened list gets its devices back before it is freed.
 */
#include "libtap/tap.h"

#include <pthread.h>
#include <stdlib.h>

#define MASK_ENV "RDMAEMU_REAL"

/** struct mask_list - a list that was shortened, and what it had: @all, up to its NULL. */
struct mask_list {
	struct mask_list *next;
	struct ibv_device **list;
	size_t n;
	struct ibv_device *all[];
};

static char *mask_names;
static struct mask_list *mask_lists;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The other values of the variable, which is also a setting of `rdmaemu run`. */
static bool mask_is_setting(const char *value)
{
	static const char *const words[] = {
		"auto", "yes", "no", "true", "false", "on", "off", "1", "0",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(value, words[i]))
			return true;
	return !*value;
}

static bool mask_start(void)
{
	const char *value = getenv(MASK_ENV);

	if (!value || mask_is_setting(value))
		return false;
	free(mask_names);
	mask_names = strdup(value);
	return mask_names;
}

static void mask_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static bool mask_has(const char *device)
{
	size_t len = strlen(device), n;
	const char *at;

	for (at = mask_names; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == len && !memcmp(at, device, n))
			return true;
	}
	return false;
}

/* Keeps what a list has. Without memory for that, hidden devices stay referenced. */
static void mask_list_keep(struct ibv_device **list, size_t n)
{
	struct mask_list *l = malloc(sizeof(*l) + n * sizeof(l->all[0]));

	if (!l)
		return;
	l->list = list;
	l->n = n;
	memcpy(l->all, list, n * sizeof(l->all[0]));
	pthread_mutex_lock(&lock);
	l->next = mask_lists;
	mask_lists = l;
	pthread_mutex_unlock(&lock);
}

static void mask_devices(struct ibv_device **list, int *n)
{
	int i, kept = 0;

	mask_list_keep(list, (size_t)*n + 1);
	for (i = 0; i < *n; i++)
		if (mask_has(list[i]->name))
			list[kept++] = list[i];
	list[kept] = NULL;
	*n = kept;
}

static void mask_devices_free(struct ibv_device **list)
{
	struct mask_list **at, *l;

	pthread_mutex_lock(&lock);
	for (at = &mask_lists; *at && (*at)->list != list; at = &(*at)->next)
		;
	l = *at;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&lock);
	if (l)
		memcpy(list, l->all, l->n * sizeof(l->all[0]));
	free(l);
}

/* The contexts belong to librdmacm; the list has pointers only. */
static void mask_contexts(struct ibv_context **list, int *n)
{
	int i, kept = 0;

	for (i = 0; i < *n; i++)
		if (mask_has(list[i]->device->name))
			list[kept++] = list[i];
	list[kept] = NULL;
	*n = kept;
}

static const struct tap_user mask_user = {
	.slot = TAP_MASK,
	.start = mask_start,
	.fork_child = mask_fork_child,
	.devices = mask_devices,
	.devices_free = mask_devices_free,
	.contexts = mask_contexts,
};

TAP_USER(mask_user);
