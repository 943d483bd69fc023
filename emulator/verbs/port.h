/* SPDX-License-Identifier: MIT */
/**
 * DOC: changes of ports and their events: for the fabric process, token held.
 */
#ifndef EMULATOR_VERBS_PORT_H
#define EMULATOR_VERBS_PORT_H

#include "emulator/engine.h"

/* --- port.c --- */

/** port_event() - raise an event of a port on every open context of its device. */
void port_event(struct engine *e, u32 dev, u32 port, u32 event);
/** port_set_state() - enum hca_port_state. While it is not active, its packets are dropped. */
void port_set_state(struct engine *e, u32 dev, u32 port, u32 state);
void port_set_pkey(struct engine *e, u32 dev, u32 port, u32 index, u16 pkey);
void port_set_lid(struct engine *e, u32 dev, u32 port, u32 lid);

#endif
