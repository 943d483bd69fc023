/* SPDX-License-Identifier: MIT */
/**
 * DOC: contexts and ports: state, LID and P_Keys of a port, and port events, which go to every open
 * context of the device.
 *
 * A context is known to the HCA by a reference of kind REF_CONTEXT, which holds the channel for its
 * events and goes with its process.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/queue/event.h"
#include "emulator/tab.h"
#include "emulator/transport/path.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/port.h"
#include "emulator/verbs/verbs.h"

int cmd_open_dev(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct cmd_dev *c = &cmd->open;
	int i;

	if (c->async_chan >= SEG_MAX_CHANS || !own_dev(e->hca, client, c->dev))
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

	journal_port(e, dev, port, event);
	for (i = 1; i < hca->tab[TAB_REF].high; i++) {
		r = &hca->ref[i];
		if (r->client && r->kind == REF_CONTEXT && r->index == dev)
			chan_push(e, r->client, r->async_chan, &ev);
	}
}

void port_set_state(struct engine *e, u32 dev, u32 port, u32 state)
{
	struct hca_port *p = port_of(e->hca, dev, port);

	if (!p || p->state == state)
		return;
	store_relaxed(&p->state, state);
	hca_count_ports_down(e->hca);
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
			qp_path_update(e->hca, &e->hca->qp[i]);
	port_event(e, dev, port, EV_PKEY_CHANGE);
}

/* As the subnet manager would: the old LID leads nowhere, the new one to this port. */
static void port_reroute_av(const struct hca *hca, struct hca_av *av, u32 from)
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
	hca_lid_release(hca, dev, port);
	store_relaxed(&p->lid, lid);
	hca_lid_index(hca, dev, port);
	for (n = 0; n < 2; n++) {
		for (i = 0; i < hca->tab[TAB_QP].high; i++)
			if (hca->qp[i].client) {
				port_reroute_av(hca, &hca->qp[i].attr.av, was[n]);
				qp_path_update(hca, &hca->qp[i]);
			}
		for (i = 0; i < hca->tab[TAB_AH].high; i++)
			if (hca->ah[i].client)
				port_reroute_av(hca, &hca->ah[i].av, was[n]);
	}
	port_event(e, dev, port, EV_LID_CHANGE);
}
