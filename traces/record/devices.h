/* SPDX-License-Identifier: MIT */
/** DOC: describes devices in pN/devices. */
#ifndef TRACES_RECORD_DEVICES_H
#define TRACES_RECORD_DEVICES_H

#include "traces/record/session.h"

/**
 * rec_devices_add() - describe the device of a new context, and list all devices, unless the trace
 * has them. Keeps errno.
 */
void rec_devices_add(struct ibv_context *ctx);
/**
 * rec_devices_add_address() - add the IP address of a port that a successful call may have
 * returned.
 */
void rec_devices_add_address(enum vcall call, const u64 *args);
/** rec_devices_reset() - in a child of fork(). */
void rec_devices_reset(void);

#endif
