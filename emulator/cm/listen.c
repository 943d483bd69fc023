/* SPDX-License-Identifier: MIT */
/**
 * DOC: listening, and lookup of the listener that a request is for.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define MAX_BACKLOG 16384u /* as if net.rdma_ucm.max_backlog had this value */

static bool cmid_is_listening(const struct hca *hca, const struct hca_cmid *id, u32 dev, u32 port)
{
	return id->state == CM_LISTEN && cmid_has_port(id, hca->dev[dev].node, port) &&
	       (!id->bound || id->bound == dev + 1);
}

/* Index + 1 of the first identifier in the chain of a port number of the device's node. */
static u32 cm_port_first(const struct hca *hca, u32 space, u32 dev, u32 port)
{
	return hca->cm_port[space][cm_port_slot(hca->dev[dev].node, port)];
}

bool cm_port_has_listener(const struct hca *hca, u32 dev, u32 ps, u16 port)
{
	u32 space = cm_port_space_index(ps), at;

	if (space == CM_PORT_SPACES || dev >= hca->n_devs)
		return false;
	for (at = cm_port_first(hca, space, dev, port); at; at = hca->cmid[at - 1].next)
		if (cmid_is_listening(hca, &hca->cmid[at - 1], dev, port))
			return true;
	return false;
}

struct hca_cmid *cm_listener_find(struct hca *hca, u32 dev, u32 ps, const struct cm_addr *dst)
{
	struct hca_cmid *id, *any = NULL;
	u32 space = cm_port_space_index(ps), at;

	if (space == CM_PORT_SPACES || dev >= hca->n_devs)
		return NULL;
	for (at = cm_port_first(hca, space, dev, dst->port); at; at = id->next) {
		id = &hca->cmid[at - 1];
		if (!cmid_is_listening(hca, id, dev, dst->port))
			continue;
		if (!cm_addr_is_any(&id->src)) {
			/* The peer's message does not name the interface. */
			if (id->src.family == dst->family &&
			    !memcmp(id->src.ip, dst->ip, sizeof(dst->ip)))
				return id;
		} else if (id->src.family == dst->family || !(id->opt & CM_OPT_AFONLY)) {
			any = id;
		}
	}
	return any;
}

int cmd_cm_listen(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	static const struct cm_addr any4 = { .family = CM_AF_INET,
					     .ip = { [10] = 0xff, [11] = 0xff } };
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	s32 backlog = (s32)cmd->cm.backlog;
	int ret;

	if (!id)
		return -EINVAL;
	if (id->state == CM_IDLE) {
		ret = cm_bind_addr(hca, id, &any4, NULL);
		if (ret)
			return ret;
	}
	if (id->state != CM_ADDR_BOUND)
		return -EINVAL;
	/* A listener must not share its number. */
	if (id->opt & CM_OPT_REUSEADDR) {
		ret = cm_port_check_share(hca, id, id->src.port, false);
		if (ret)
			return ret;
		id->opt &= ~(u32)CM_OPT_REUSEADDR;
	}
	id->backlog = backlog > 0 && (u32)backlog < MAX_BACKLOG ? (u32)backlog : MAX_BACKLOG;
	id->service_id = (u64)id->ps << 16 | id->src.port;
	cmid_set_states(id, CM_LISTEN, CMP_LISTEN);
	return 0;
}
