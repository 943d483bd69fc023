/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast groups of identifiers: the GID that an address stands for and, on InfiniBand, the
 * LID that the subnet manager has given the group.
 *
 * Packets are delivered through the memberships of queue pairs (verbs/mcast.c), which the program's
 * side creates when it reads the event. This file remembers what the kernel remembers: which groups
 * were joined, so that they can be left, and how many events were taken.
 *
 * The kernel refuses groups of IPv6 addresses on RoCE v2, because it cannot join them at the
 * switch. The emulated switch has no such limit: these groups are their own GIDs, as on devices
 * that support them.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define FIRST_MLID 0xc001u /* after that of IPoIB's broadcast group */
#define LAST_MLID  0xfffeu

#define UDP_QKEY   0x01234567u /* RDMA_UDP_QKEY */
#define IPOIB_QKEY 0x0b1bu

/* The LID of the group, or a new one. Return: 0 when none is left. */
static u32 cm_mcast_lid(const struct hca *hca, const u8 mgid[16])
{
	u32 i, lid, top = FIRST_MLID - 1;
	bool used;

	for (i = 0; i < hca->tab[TAB_CMMC].high; i++) {
		const struct hca_cmmc *mc = &hca->cmmc[i];

		if (!mc->client || !mc->mlid)
			continue;
		if (!memcmp(mc->mgid, mgid, 16))
			return mc->mlid;
		top = max_u32(top, mc->mlid);
	}
	if (top < LAST_MLID)
		return top + 1;
	for (lid = FIRST_MLID; lid <= LAST_MLID; lid++) {
		used = false;
		for (i = 0; i < hca->tab[TAB_CMMC].high && !used; i++)
			used = hca->cmmc[i].client && hca->cmmc[i].mlid == lid;
		if (!used)
			return lid;
	}
	return 0;
}

static void cm_mcast_default_qkey(const struct hca *hca, struct hca_cmid *id)
{
	if (id->qkey)
		return;
	if (id->ps == CM_PS_UDP || id->ps == CM_PS_IB)
		id->qkey = UDP_QKEY;
	else if (id->ps == CM_PS_IPOIB && cm_is_ib(hca, id))
		id->qkey = IPOIB_QKEY;
}

/* Report the group's address to its senders or, with @fail, that the join has failed. */
static void cm_mcast_raise_join(struct engine *e, struct hca_cmid *id, struct hca_cmmc *mc,
				s32 fail)
{
	struct cm_event ev = { .type = fail < 0 ? CM_EV_MULTICAST_ERROR : CM_EV_MULTICAST_JOIN,
			       .status = fail < 0 ? fail : 0,
			       .context = mc->context,
			       .ud = 1 };
	bool v4 = mc->addr.family == 2;

	ev.av = (struct hca_av){
		.dst_dev = ~0u,
		.is_global = 1,
		.sgid_index = id->sgid_index,
		.hop_limit = cm_is_ib(e->hca, id) ? 0
			     : v4		  ? 64
						  : 1,
		.traffic_class = id->tos,
		.dlid = (u16)mc->mlid,
		.port_num = id->port,
	};
	if (fail < 0)
		journal_cm_errno(e, id, CM_EV_MULTICAST_ERROR, fail, true);
	memcpy(ev.av.dgid, mc->mgid, 16);
	ev.param.qpn = 0xffffff;
	ev.param.qkey = id->qkey;
	cm_event_raise_mcast(e, id, mc, &ev);
}

/* The checks of the kernel and the subnet manager. */
static int cm_mcast_check_join(const struct hca *hca, const struct hca_cmid *id,
			       const struct cmd_cm *c)
{
	if (c->flags > 1 || !id->bound || id->qp_type != QPT_UD)
		return -EINVAL;
	if (id->state != CM_ADDR_BOUND && id->state != CM_ADDR_RESOLVED)
		return -EINVAL;
	if (c->dst.family != 2 && c->dst.family != 10)
		return -EINVAL;
	return cm_is_ib(hca, id) || cm_addr_is_mcast(&c->dst) ? 0 : -EINVAL;
}

int cmd_cm_join(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	struct hca_cmmc new = { 0 };
	int i, ret;

	if (!id)
		return -EINVAL;
	ret = cm_mcast_check_join(hca, id, &cmd->cm);
	if (ret)
		return ret;
	new.id = cmid_slot(hca, id);
	new.addr = cmd->cm.dst;
	new.context = cmd->cm.context;
	cm_mcast_gid(hca, id, &new.addr, new.mgid);
	new.mlid = cm_is_ib(hca, id) ? cm_mcast_lid(hca, new.mgid) : 0;
	i = tab_find(hca, TAB_CMMC, 0, HCA_MAX_CMMC);
	if (i < 0 || (cm_is_ib(hca, id) && !new.mlid))
		return -ENOMEM;
	cm_mcast_default_qkey(hca, id);
	new.next = id->groups;
	hca->cmmc[i] = new;
	tab_own(hca, TAB_CMMC, (u32)i, client, 0);
	id->groups = (u32)i + 1;
	cm_mcast_raise_join(e, id, &hca->cmmc[i], cmd->cm.fail);
	return 0;
}

int cmd_cm_leave(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	const struct cmd_cm *c = &cmd->cm;
	struct hca_cmmc *mc = NULL;
	u32 *at;

	if (!id)
		return -EINVAL;
	for (at = &id->groups; *at; at = &mc->next) {
		mc = &hca->cmmc[*at - 1];
		if (mc->context == c->context && cm_addr_is_same(&mc->addr, &c->dst))
			break;
	}
	if (!mc || !*at)
		return -EADDRNOTAVAIL;
	cmd->cm.dropped = cm_events_drop(e, id, mc);
	cmd->cm.reported = mc->reported;
	*at = mc->next;
	tab_free(hca, TAB_CMMC, (u32)(mc - hca->cmmc));
	return 0;
}

void cm_mcast_leave_all(struct hca *hca, struct hca_cmid *id)
{
	u32 at;

	for (at = id->groups; at; at = hca->cmmc[at - 1].next)
		tab_free(hca, TAB_CMMC, at - 1);
	id->groups = 0;
}

void cm_mcast_rebuild(struct hca *hca)
{
	struct hca_cmmc *mc;
	u32 i;

	for (i = 0; i < hca->tab[TAB_CMID].high; i++)
		hca->cmid[i].groups = 0;
	for (i = 0; i < hca->tab[TAB_CMMC].high; i++) {
		mc = &hca->cmmc[i];
		if (!mc->client)
			continue;
		mc->next = hca->cmid[mc->id].groups;
		hca->cmid[mc->id].groups = i + 1;
	}
}
