/* SPDX-License-Identifier: MIT */
/* Options of identifiers, rdma_set_option(3): valid states and QP types as in the kernel. */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

/* Numbers of rdma_cma.h. */
enum { LEVEL_ID, LEVEL_IB };
enum { ID_TOS, ID_REUSEADDR, ID_AFONLY, ID_ACK_TIMEOUT };
enum { IB_PATH = 1 };

static void cm_option_set_bit(struct hca_cmid *id, u32 bit, bool on)
{
	id->opt = on ? id->opt | bit : id->opt & ~bit;
}

static int cm_option_set_reuseaddr(struct hca_cmid *id, bool on)
{
	if (id->state != CM_IDLE && (!on || id->state == CM_LISTEN))
		return -EINVAL;
	cm_option_set_bit(id, CM_OPT_REUSEADDR, on);
	return 0;
}

static int cm_option_set_afonly(struct hca_cmid *id, bool on)
{
	if (id->state != CM_IDLE && id->state != CM_ADDR_BOUND)
		return -EINVAL;
	cm_option_set_bit(id, CM_OPT_AFONLY, on);
	cm_option_set_bit(id, CM_OPT_AFONLY_SET, true);
	return 0;
}

static int cm_option_set_id(struct hca_cmid *id, u32 name, const u8 *value, u32 len)
{
	bool flag = name == ID_REUSEADDR || name == ID_AFONLY;
	s32 on;

	if (name > ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (len != (flag ? sizeof(on) : 1))
		return -EINVAL;
	memcpy(&on, value, sizeof(on));
	switch (name) {
	case ID_TOS:
		id->tos = *value;
		cm_option_set_bit(id, CM_OPT_TOS_SET, true);
		return 0;
	case ID_REUSEADDR:
		return cm_option_set_reuseaddr(id, on);
	case ID_AFONLY:
		return cm_option_set_afonly(id, on);
	}
	if (id->qp_type != QPT_RC && id->qp_type != QPT_XRC_SEND)
		return -EINVAL;
	id->ack_timeout = *value;
	cm_option_set_bit(id, CM_OPT_ACK_TIMEOUT_SET, true);
	return 0;
}

int cmd_cm_set_option(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	const struct cmd_cm *c = &cmd->cm;

	if (!id || c->optlen > sizeof(c->opt))
		return -EINVAL;
	if (c->level == LEVEL_ID)
		return cm_option_set_id(id, c->optname, c->opt, c->optlen);
	if (c->level == LEVEL_IB && c->optname == IB_PATH)
		return cm_path_set(e, id, c->opt, c->optlen);
	return -ENOSYS;
}
