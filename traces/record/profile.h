/* SPDX-License-Identifier: MIT */
/** DOC: writes a profile of a device. */
#ifndef TRACES_RECORD_PROFILE_H
#define TRACES_RECORD_PROFILE_H

#include "traces/record/session.h"

/**
 * rec_profile_write() - write a profile for the emulator of a device. @devices: number of devices
 */
void rec_profile_write(struct ibv_context *ctx, u32 devices);

#endif
