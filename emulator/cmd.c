/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command dispatcher.
 */
#include "emulator/cm_model.h"

typedef int (*cmd_fn)(struct engine *e, u32 client, struct hca_cmd *cmd);

static const cmd_fn commands[CMD_COUNT] = {
	[CMD_OPEN_DEV] = cmd_open_dev,
	[CMD_CLOSE_DEV] = cmd_close_dev,
	[CMD_ALLOC_PD] = cmd_alloc_pd,
	[CMD_DEALLOC_PD] = cmd_dealloc_pd,
	[CMD_REG_MR] = cmd_reg_mr,
	[CMD_REREG_MR] = cmd_rereg_mr,
	[CMD_DEREG_MR] = cmd_dereg_mr,
	[CMD_ALLOC_MW] = cmd_alloc_mw,
	[CMD_DEALLOC_MW] = cmd_dealloc_mw,
	[CMD_CREATE_CQ] = cmd_create_cq,
	[CMD_RESIZE_CQ] = cmd_resize_cq,
	[CMD_MODIFY_CQ] = cmd_modify_cq,
	[CMD_DESTROY_CQ] = cmd_destroy_cq,
	[CMD_CREATE_SRQ] = cmd_create_srq,
	[CMD_MODIFY_SRQ] = cmd_modify_srq,
	[CMD_QUERY_SRQ] = cmd_query_srq,
	[CMD_DESTROY_SRQ] = cmd_destroy_srq,
	[CMD_SRQ_OPS] = cmd_srq_ops,
	[CMD_CREATE_QP] = cmd_create_qp,
	[CMD_OPEN_QP] = cmd_open_qp,
	[CMD_MODIFY_QP] = cmd_modify_qp,
	[CMD_QUERY_QP] = cmd_query_qp,
	[CMD_DESTROY_QP] = cmd_destroy_qp,
	[CMD_CREATE_AH] = cmd_create_ah,
	[CMD_DESTROY_AH] = cmd_destroy_ah,
	[CMD_ATTACH_MCAST] = cmd_attach_mcast,
	[CMD_DETACH_MCAST] = cmd_detach_mcast,
	[CMD_OPEN_XRCD] = cmd_open_xrcd,
	[CMD_CLOSE_XRCD] = cmd_close_xrcd,
	[CMD_CREATE_WQ] = cmd_create_wq,
	[CMD_MODIFY_WQ] = cmd_modify_wq,
	[CMD_DESTROY_WQ] = cmd_destroy_wq,
	[CMD_CREATE_IND] = cmd_create_ind,
	[CMD_DESTROY_IND] = cmd_destroy_ind,
	[CMD_CREATE_FLOW] = cmd_create_flow,
	[CMD_DESTROY_FLOW] = cmd_destroy_flow,
	[CMD_CREATE_COUNTERS] = cmd_create_counters,
	[CMD_DESTROY_COUNTERS] = cmd_destroy_counters,
	[CMD_ATTACH_COUNTERS] = cmd_attach_counters,
	[CMD_READ_COUNTERS] = cmd_read_counters,
	[CMD_ALLOC_DM] = cmd_alloc_dm,
	[CMD_FREE_DM] = cmd_free_dm,
	[CMD_IMPORT] = cmd_import,
	[CMD_UNIMPORT] = cmd_unimport,
	[CMD_CM_OPEN_CHAN] = cmd_cm_open_chan,
	[CMD_CM_CLOSE_CHAN] = cmd_cm_close_chan,
	[CMD_CM_GET_EVENT] = cmd_cm_get_event,
	[CMD_CM_CREATE_ID] = cmd_cm_create_id,
	[CMD_CM_DESTROY_ID] = cmd_cm_destroy_id,
	[CMD_CM_MIGRATE_ID] = cmd_cm_migrate_id,
	[CMD_CM_BIND] = cmd_cm_bind,
	[CMD_CM_RESOLVE_ADDR] = cmd_cm_resolve_addr,
	[CMD_CM_RESOLVE_ROUTE] = cmd_cm_resolve_route,
	[CMD_CM_QUERY] = cmd_cm_query,
	[CMD_CM_SET_OPTION] = cmd_cm_set_option,
	[CMD_CM_LISTEN] = cmd_cm_listen,
	[CMD_CM_CONNECT] = cmd_cm_connect,
	[CMD_CM_ACCEPT] = cmd_cm_accept,
	[CMD_CM_REJECT] = cmd_cm_reject,
	[CMD_CM_DISCONNECT] = cmd_cm_disconnect,
	[CMD_CM_NOTIFY] = cmd_cm_notify,
	[CMD_CM_INIT_QP_ATTR] = cmd_cm_init_qp_attr,
	[CMD_CM_JOIN] = cmd_cm_join,
	[CMD_CM_LEAVE] = cmd_cm_leave,
};

int hca_cmd_exec(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	if (client >= HCA_MAX_CLIENTS || e->hca->client[client].state != CLIENT_LIVE)
		cmd->ret = -EIO;
	else if (cmd->op >= ARRAY_SIZE(commands) || !commands[cmd->op])
		cmd->ret = -EOPNOTSUPP;
	else
		cmd->ret = commands[cmd->op](e, client, cmd);
	return cmd->ret;
}
