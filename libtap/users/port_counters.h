/* SPDX-License-Identifier: MIT */
/**
 * DOC: the counters of a device's ports that tell of retries, NAKs and drops:
 * /sys/class/infiniband/DEVICE/ports/N/hw_counters. The journal shows by how much they have grown
 * when a work request fails.
 */
#ifndef LIBTAP_USERS_PORT_COUNTERS_H
#define LIBTAP_USERS_PORT_COUNTERS_H

#include "libtap/tap.h"

/** port_counters_start() - the process begins. */
void port_counters_start(void);
/** port_counters_open() - a device was opened: read its counters, if it is the first time. */
void port_counters_open(const struct ibv_device *device);
/**
 * port_counters_text() - which counters have grown since this was asked last, or since the device
 * was opened, as "retry_exceeded_err +1"; "port 2 " precedes those of other ports than the first.
 */
void port_counters_text(const struct ibv_device *device, char *text, size_t size);

#endif
