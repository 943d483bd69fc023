/* SPDX-License-Identifier: MIT */
/** DOC: the RDMA devices of the machine, as libibverbs sees them. */
#ifndef FABRIC_CLI_REAL_DEVICES_H
#define FABRIC_CLI_REAL_DEVICES_H

#include "emulator/types.h"

/**
 * struct verbs_calls - functions of a libibverbs, which this command is not linked with.
 */
struct verbs_calls {
	void **(*get_list)(int *n);
	const char *(*get_name)(void *device);
	void *(*open_device)(void *device);
	int (*close_device)(void *context);
};

/** verbs_calls_find() - look them up in a library, by dlsym(3). Return: whether all are there. */
bool verbs_calls_find(struct verbs_calls *c, void *handle);

/** REAL_TEXT - room for names of devices: more are cut off. */
#define REAL_TEXT 4096

/**
 * struct real_devices - the RDMA devices that a program started now would find.
 * @n: how many libibverbs lists and opens, of those that are requested
 * @n_ghosts: how many it lists and does not open
 * @names: of the former, with ", " between
 * @ghosts: the latter: "NAME cannot be opened (REASON)", with ", " between
 * @others: devices that libibverbs lists and nobody requests, likewise
 * @why_none: what libibverbs and sysfs have, if @n is 0
 */
struct real_devices {
	u32 n;
	u32 n_ghosts;
	char names[REAL_TEXT];
	char ghosts[REAL_TEXT];
	char others[REAL_TEXT];
	char why_none[4 * REAL_TEXT];
};

/**
 * real_devices_probe() - list and open the devices in a child process, by the libibverbs that
 * programs get by its name: within `rdmaemu run` it is the emulator's.
 * @names: requested devices, with commas between; "": all
 */
void real_devices_probe(struct real_devices *d, const char *names);

#endif
