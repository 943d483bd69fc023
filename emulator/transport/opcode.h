/* SPDX-License-Identifier: MIT */
/**
 * DOC: the opcodes of work requests by QP type: wqe_ops[] in wqe.c, as a mask.
 *
 * The shim refuses posts that the type of a QP does not allow, the engine those that its device
 * does not.
 */
#ifndef EMULATOR_TRANSPORT_OPCODE_H
#define EMULATOR_TRANSPORT_OPCODE_H

#include "emulator/types.h"

/* --- wqe.c --- */

/** wqe_type_mask() - the opcodes that QPs of the type allow (ibv_post_send(3)), a bit each. */
u32 wqe_type_mask(u32 qp_type);

#endif
