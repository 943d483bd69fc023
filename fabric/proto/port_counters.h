/* SPDX-License-Identifier: MIT */
#ifndef FABRIC_PROTO_PORT_COUNTERS_H
#define FABRIC_PROTO_PORT_COUNTERS_H

#include "emulator/types.h"

/** counter_name() - the name of an enum hca_counter in `rdmaemu status`; NULL: there is none. */
const char *counter_name(u32 counter);

#endif
