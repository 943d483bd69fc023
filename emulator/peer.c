/* SPDX-License-Identifier: MIT */
/** DOC: hosts outside of the fabric: see peer.h. */
#include "emulator/hca.h"

bool hca_dev_is_peer(const struct hca *hca, u32 dev)
{
	return dev - hca->wires.first_peer < hca->wires.n_peers;
}

bool hca_wire_port_is_taken(const struct hca_wires *w, u16 port)
{
	u32 i;

	for (i = 0; i < w->n_taken && i < HCA_WIRE_PORTS_TAKEN; i++)
		if (w->taken[i] == port)
			return true;
	return false;
}

int hca_peer_add(struct hca *hca, const u8 gid[16])
{
	struct hca_wires *w = &hca->wires;
	u32 dev = w->first_peer + w->n_used;
	struct hca_gid g = { .valid = 1 };

	if (w->n_used >= w->n_peers)
		return -1;
	memcpy(g.raw, gid, sizeof(g.raw));
	g.type = hca->dev[0].port[1].gid[0].type;
	hca_port_set_gid(hca, dev, 1, false, 0, &g);
	/* A holder that dies before this leaves an address that the next one replaces. */
	store_relaxed(&w->n_used, w->n_used + 1);
	return (int)dev;
}

int hca_peer_route(struct hca *hca, const u8 sgid[16], const u8 dgid[16], u8 *port)
{
	u32 i;

	for (i = 0; i < hca->wires.n && i < HCA_WIRES; i++)
		if (!memcmp(hca->wires.gid[i], sgid, 16)) {
			*port = 1;
			return hca_peer_add(hca, dgid);
		}
	return -1;
}
