/* SPDX-License-Identifier: MIT */
/**
 * DOC: address vectors: which device and port a GID or LID names.
 */
#include "emulator/av.h"
#include "emulator/port.h"

#define MCAST_LID 0xc000u

/* Hosts are on one link; this is the TTL that Linux uses there. */
#define IP_TTL 64u

/* RoCE v2 groups with IPv4 addresses have mapped GIDs. */
bool gid_is_mcast(const u8 gid[16])
{
	return gid[0] == 0xff || (gid_is_v4(gid) && (gid[12] & 0xf0) == 0xe0);
}

bool av_is_mcast(const struct hca_av *av)
{
	return av->is_global ? gid_is_mcast(av->dgid) : av->dlid >= MCAST_LID;
}

/*
 * Within an InfiniBand subnet the LID is the address; an unknown LID is valid but gets no answer.
 */
static int av_route_lid(struct hca *hca, u32 dev, struct hca_av *av)
{
	int dst = hca_find_lid(hca, av->dlid, &av->dst_port);

	/*
	 * LID addressing on Ethernet: programs that do not know GIDs communicate within their own
	 * port.
	 */
	if (hca->dev[dev].link_layer == LINK_ETHERNET) {
		av->hop_limit = IP_TTL;
		av->dst_port = av->port_num;
		dst = (int)dev;
	}
	av->dst_dev = dst < 0 ? ~0u : (u32)dst;
	return 0;
}

/* Between EFA devices the GID is the address; an unknown one is valid but gets no answer. */
static int av_route_gid(struct hca *hca, struct hca_av *av)
{
	int dst;

	if (!av->is_global)
		return -EINVAL;
	dst = hca_find_gid(hca, av->dgid, &av->dst_port);
	av->dst_dev = dst < 0 ? ~0u : (u32)dst;
	if (dst >= 0)
		av->dlid = (u16)hca->dev[dst].port[av->dst_port].lid;
	return 0;
}

int av_check(struct hca *hca, u32 client, u32 dev_index, struct hca_av *av)
{
	const struct hca_port *port = port_of(hca, dev_index, av->port_num);
	static const u8 zero[16];
	int dst;

	if (!port)
		return -EINVAL;
	if (av->is_global && av->sgid_index >= HCA_GIDS)
		return -EINVAL;
	if (av->is_global && !port->gid[av->sgid_index].valid)
		return -ENODATA;
	if (lim_is_efa(&hca->dev[dev_index].lim))
		return av_route_gid(hca, av);
	if (!av->is_global || hca->dev[dev_index].link_layer == LINK_INFINIBAND)
		return av_route_lid(hca, dev_index, av);
	if (!memcmp(av->dgid, zero, sizeof(zero)))
		return -EINVAL;
	av->dst_dev = ~0u;
	if (av_is_mcast(av))
		return 0;
	/* No route leads from an address of one family to one of the other (rdma_resolve_ip()). */
	if (gid_is_v4(port->gid[av->sgid_index].raw) != gid_is_v4(av->dgid))
		return -EINVAL;
	/*
	 * The kernel takes it from the route, not from the program (ib_resolve_unicast_gid_dmac()).
	 */
	av->hop_limit = IP_TTL;
	dst = hca_find_gid(hca, av->dgid, &av->dst_port);
	if (dst < 0)
		dst = hca_peer_route(hca, client, port->gid[av->sgid_index].raw, av->dgid,
				     &av->dst_port);
	/* The kernel's error when no neighbour has the address, or their table is full. */
	if (dst < 0 || !hca_peer_claim(hca, client, (u32)dst))
		return -ETIMEDOUT;
	av->dst_dev = (u32)dst;
	return 0;
}
