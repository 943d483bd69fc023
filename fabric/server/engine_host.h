/* SPDX-License-Identifier: MIT */
/** DOC: the engine's surroundings in the fabric process. */
#ifndef FABRIC_SERVER_ENGINE_HOST_H
#define FABRIC_SERVER_ENGINE_HOST_H

#include "emulator/engine.h"

/** fabric_host - what the engine calls; its context is the struct fabric. */
extern const struct hca_host fabric_host;

#endif
