/* SPDX-License-Identifier: MIT */
#ifndef FABRIC_PROTO_PORT_COUNTERS_H
#define FABRIC_PROTO_PORT_COUNTERS_H

#include "emulator/types.h"

/** counter_name() - of an enum hca_counter, as `rdmaemu status` has it; NULL: there is none. */
const char *counter_name(u32 counter);

#endif
