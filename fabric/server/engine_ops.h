/* SPDX-License-Identifier: MIT */
/** DOC: what the engine calls in the fabric process. */
#ifndef FABRIC_SERVER_ENGINE_OPS_H
#define FABRIC_SERVER_ENGINE_OPS_H

#include "emulator/engine.h"

/** fabric_ops - the engine's callbacks; their context is the struct fabric. */
extern const struct engine_ops fabric_ops;

#endif
