/* SPDX-License-Identifier: MIT */
/**
 * DOC: ports: which device has an address, and whether packets need a second look at their ports.
 */
#include "emulator/port.h"

int hca_find_gid(const struct hca *hca, const u8 gid[16], u8 *port)
{
	u32 at = 0, dev, p, index, found = ~0u;
	bool ip;

	/* The first port, if several have the GID. */
	while (hca_addr_next(hca, gid, &at, &dev, &p, &index, &ip))
		if (!ip && (dev << 8 | p) < found)
			found = dev << 8 | p;
	if (found == ~0u)
		return -1;
	*port = (u8)found;
	return (int)(found >> 8);
}

int hca_find_lid(const struct hca *hca, u32 lid, u8 *port)
{
	u32 at = lid < HCA_LIDS ? hca->lid[lid] : 0;

	if (!at)
		return -1;
	*port = (u8)at;
	return (int)(at >> 8);
}

void hca_update_watched(struct hca *hca)
{
	store_relaxed(&hca->watched, hca->ports_down || hca->capture.on);
}

void hca_count_ports_down(struct hca *hca)
{
	u32 d, p, n = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			n += hca->dev[d].port[p].state != PORT_ACTIVE;
	store_relaxed(&hca->ports_down, n);
	hca_update_watched(hca);
}
