/* SPDX-License-Identifier: MIT */
/** DOC: lists of devices, as the users leave them. */
#ifndef LIBTAP_DEVICES_H
#define LIBTAP_DEVICES_H

#include "libtap/tap.h"

/** tap_device_list() - as ibv_get_device_list(), for users. */
struct ibv_device **tap_device_list(int *num_devices);
/** tap_device_list_free() - as ibv_free_device_list(). */
void tap_device_list_free(struct ibv_device **list);

#endif
