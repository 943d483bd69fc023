/* SPDX-License-Identifier: MIT */
/** DOC: what the engine calls in the fabric process. */
#ifndef FABRIC_SERVER_ENGINE_HOST_H
#define FABRIC_SERVER_ENGINE_HOST_H

#include "emulator/engine.h"

/** fabric_host - the engine's callbacks; their context is the struct fabric. */
extern const struct hca_host fabric_host;

#endif
