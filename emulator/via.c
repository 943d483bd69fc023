/* SPDX-License-Identifier: MIT */
/**
 * DOC: which packets have links on their way: the ones of ports that have a delay, a limit of their
 * rate, or whose device is another fabric's.
 *
 * Two ports that have neither are joined by a wire without delay, which any holder of the token is;
 * and what goes from a port to itself stays within its HCA. All else is the fabric process's.
 */
#include "emulator/model.h"

bool port_via(const struct hca_dev *dev, u32 port)
{
	const struct hca_uplink *l = &dev->port[port].link;

	return dev->member || l->delay_ns || l->jitter_ns || l->rate_bps;
}

bool hca_via(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port)
{
	if (likely(!hca->n_via) || src_dev >= hca->n_devs || dst_dev >= hca->n_devs ||
	    src_port > HCA_MAX_PORTS || dst_port > HCA_MAX_PORTS)
		return false;
	if (src_dev == dst_dev && src_port == dst_port)
		return false;
	return port_via(&hca->dev[src_dev], src_port) || port_via(&hca->dev[dst_dev], dst_port);
}

void via_changed(struct hca *hca)
{
	u32 d, p, i, n = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			n += port_via(&hca->dev[d], p);
	store_relaxed(&hca->n_via, n);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client)
			qp_take_path(hca, &hca->qp[i]);
}

void port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link)
{
	struct hca_port *p = port_of(e->hca, dev, port);

	if (!p)
		return;
	if (!p->own_mtu)
		p->own_mtu = p->active_mtu;
	p->link = *link;
	store_relaxed(&p->active_mtu, link->mtu ? min_u32(link->mtu, p->own_mtu) : p->own_mtu);
	via_changed(e->hca);
}
