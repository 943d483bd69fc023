/* SPDX-License-Identifier: MIT */
/**
 * DOC: where MADs for QP 1 enter connection management: what struct engine.gsi_input points at.
 */
#ifndef EMULATOR_CM_INPUT_H
#define EMULATOR_CM_INPUT_H

#include "emulator/engine.h"

/* --- input.c --- */

/** cm_input() - handle a MAD that arrives at QP 1. Return: as hca_input(). */
int cm_input(struct engine *e, const struct burst *b);

#endif
