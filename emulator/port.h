/* SPDX-License-Identifier: MIT */
/**
 * DOC: ports: lookups by address, and whether they are up.
 */
#ifndef EMULATOR_PORT_H
#define EMULATOR_PORT_H

#include "emulator/hca.h"

/** port_of() - a port that exists, or NULL. */
static inline struct hca_port *port_of(struct hca *hca, u32 dev, u32 port)
{
	if (dev >= hca->n_devs || !port || port > hca->dev[dev].n_ports)
		return NULL;
	return &hca->dev[dev].port[port];
}

/** port_is_down() - ports are up, but for rare moments: one word that all share says so. */
static inline bool port_is_down(struct hca *hca, u32 dev, u32 port)
{
	struct hca_port *p;

	if (likely(!hca->watched) || !hca->ports_down)
		return false;
	p = port_of(hca, dev, port);
	return !p || p->state != PORT_ACTIVE;
}

/* --- port.c --- */

/** hca_find_gid() - the device with a port that has a GID, and the port; or -1. */
int hca_find_gid(const struct hca *hca, const u8 gid[16], u8 *port);
/** hca_find_lid() - the device with a port that has a LID, and the port; or -1. */
int hca_find_lid(const struct hca *hca, u32 lid, u8 *port);
/** hca_update_watched() - ports or captures have changed: update hca.watched. */
void hca_update_watched(struct hca *hca);
/** hca_count_ports_down() - devices were added, or a port has changed its state. */
void hca_count_ports_down(struct hca *hca);

#endif
