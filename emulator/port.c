/* SPDX-License-Identifier: MIT */
/**
 * DOC: ports: who has which address, what is counted, and events of a port, which go to every open
 * context of its device.
 *
 * A context is known to the HCA by a reference of kind REF_CONTEXT, so that the events find its
 * channel and that it goes with its process.
 */
#include "emulator/model.h"

static bool port_has_gid(const struct hca_port *p, const u8 gid[16])
{
	u32 g;

	for (g = 0; g < HCA_GIDS; g++)
		if (p->gid[g].valid && !memcmp(p->gid[g].raw, gid, 16))
			return true;
	return false;
}

int hca_find_gid(const struct hca *hca, const u8 gid[16], u8 *port)
{
	u32 d, p;

	for (d = 0; d < hca->n_devs && d < HCA_MAX_DEVS; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (port_has_gid(&hca->dev[d].port[p], gid)) {
				*port = (u8)p;
				return (int)d;
			}
	return -1;
}

int hca_find_lid(const struct hca *hca, u32 lid, u8 *port)
{
	u32 d, p;

	for (d = 0; d < hca->n_devs && d < HCA_MAX_DEVS; d++)
		for (p = 1; lid && p <= hca->dev[d].n_ports; p++)
			if (hca->dev[d].port[p].lid == lid) {
				*port = (u8)p;
				return (int)d;
			}
	return -1;
}

int cmd_open_dev(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct cmd_dev *c = &cmd->open;
	int i;

	if (c->async_chan >= SEG_MAX_CHANS)
		return -EINVAL;
	i = ref_new(e->hca, client, c->dev, REF_CONTEXT, c->dev, c->async_chan);
	if (i < 0)
		return i;
	cmd->handle = (u32)i;
	return 0;
}

int cmd_close_dev(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	if (!ref_target(e->hca, client, cmd->handle, REF_CONTEXT))
		return -EINVAL;
	tab_free(e->hca, TAB_REF, cmd->handle);
	return 0;
}

void port_event(struct engine *e, u32 dev, u32 port, u32 event)
{
	struct chan_event ev = { .type = event, .kind = ELEM_PORT, .handle = port };
	const struct hca *hca = e->hca;
	const struct hca_ref *r;
	u32 i;

	for (i = 1; i < hca->tab[TAB_REF].high; i++) {
		r = &hca->ref[i];
		if (r->client && r->kind == REF_CONTEXT && r->index == dev)
			chan_push(e, r->client, r->async_chan, &ev);
	}
}

void hca_count_down(struct hca *hca)
{
	u32 d, p, n = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			n += hca->dev[d].port[p].state != PORT_ACTIVE;
	store_relaxed(&hca->ports_down, n);
}

void port_set_state(struct engine *e, u32 dev, u32 port, u32 state)
{
	struct hca_port *p = port_of(e->hca, dev, port);

	if (!p || p->state == state)
		return;
	store_relaxed(&p->state, state);
	hca_count_down(e->hca);
	if (state != PORT_ACTIVE)
		p->counters[CNT_LINK_DOWNED]++;
	port_event(e, dev, port, state == PORT_ACTIVE ? EV_PORT_ACTIVE : EV_PORT_ERR);
}

void port_set_pkey(struct engine *e, u32 dev, u32 port, u32 index, u16 pkey)
{
	struct hca_port *p = port_of(e->hca, dev, port);
	u32 i;

	if (!p || index >= LIM_PKEYS || p->pkey[index] == pkey)
		return;
	store_relaxed(&p->pkey[index], pkey);
	for (i = 0; i < e->hca->tab[TAB_QP].high; i++)
		if (e->hca->qp[i].client && e->hca->qp[i].dev == dev)
			qp_take_path(e->hca, &e->hca->qp[i]);
	port_event(e, dev, port, EV_PKEY_CHANGE);
}

/* The subnet manager's routes: the old LID leads nowhere, the new one to this port. */
static void reroute(const struct hca *hca, struct hca_av *av, u32 from)
{
	int dst;

	if (av->dlid != from || !av->port_num)
		return;
	dst = hca_find_lid(hca, from, &av->dst_port);
	av->dst_dev = dst < 0 ? ~0u : (u32)dst;
}

void port_set_lid(struct engine *e, u32 dev, u32 port, u32 lid)
{
	struct hca_port *p = port_of(e->hca, dev, port);
	struct hca *hca = e->hca;
	u32 was[2], i, n;

	if (!p || hca->dev[dev].link_layer != LINK_INFINIBAND || p->lid == lid)
		return;
	was[0] = p->lid;
	was[1] = lid;
	store_relaxed(&p->lid, lid);
	for (n = 0; n < 2; n++) {
		for (i = 0; i < hca->tab[TAB_QP].high; i++)
			if (hca->qp[i].client) {
				reroute(hca, &hca->qp[i].attr.av, was[n]);
				qp_take_path(hca, &hca->qp[i]);
			}
		for (i = 0; i < hca->tab[TAB_AH].high; i++)
			if (hca->ah[i].client)
				reroute(hca, &hca->ah[i].av, was[n]);
	}
	port_event(e, dev, port, EV_LID_CHANGE);
}

bool port_set_gid(struct hca_gid *g, const struct hca_gid *gid)
{
	if (g->valid == gid->valid && !memcmp(g->raw, gid->raw, sizeof(g->raw)) &&
	    g->ifindex == gid->ifindex)
		return false;
	store_release(&g->valid, 0);
	memcpy(g->raw, gid->raw, sizeof(g->raw));
	memcpy(g->ndev, gid->ndev, sizeof(g->ndev));
	g->ifindex = gid->ifindex;
	g->type = gid->type;
	store_release(&g->valid, gid->valid);
	return true;
}
