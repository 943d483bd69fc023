/* SPDX-License-Identifier: MIT */
/**
 * DOC: the list of commands: X(OP, function) for each, so that every command has a function.
 *
 * CMD_@OP is the command of a client, cmd_@function() executes it; struct hca_cmd has its
 * arguments.
 */
#ifndef EMULATOR_VERBS_CMD_LIST_H
#define EMULATOR_VERBS_CMD_LIST_H

#define HCA_COMMANDS(X)                                                                            \
	X(OPEN_DEV, open_dev) /* a context: receives port events */                                \
	X(CLOSE_DEV, close_dev)                                                                    \
	X(ALLOC_PD, alloc_pd)                                                                      \
	X(DEALLOC_PD, dealloc_pd) /* EBUSY while used */                                           \
	X(REG_MR, reg_mr)                                                                          \
	X(REREG_MR, rereg_mr)                                                                      \
	X(DEREG_MR, dereg_mr) /* EBUSY while windows are bound to it */                            \
	X(ALLOC_MW, alloc_mw)                                                                      \
	X(DEALLOC_MW, dealloc_mw)                                                                  \
	X(CREATE_CQ, create_cq)                                                                    \
	X(RESIZE_CQ, resize_cq) /* EINVAL if the queued entries do not fit */                      \
	X(MODIFY_CQ, modify_cq)                                                                    \
	X(NOTIFY_CQ, notify_cq) /* after arming: the event of entries that are there already */    \
	X(DESTROY_CQ, destroy_cq) /* EBUSY while used */                                           \
	X(CREATE_SRQ, create_srq)                                                                  \
	X(MODIFY_SRQ, modify_srq)                                                                  \
	X(QUERY_SRQ, query_srq)                                                                    \
	X(DESTROY_SRQ, destroy_srq) /* EBUSY while used */                                         \
	X(SRQ_OPS, srq_ops) /* tag matching */                                                     \
	X(CREATE_QP, create_qp)                                                                    \
	X(OPEN_QP, open_qp)                                                                        \
	X(MODIFY_QP, modify_qp)                                                                    \
	X(QUERY_QP, query_qp)                                                                      \
	X(DESTROY_QP, destroy_qp) /* EBUSY while flows or groups use it */                         \
	X(CREATE_AH, create_ah)                                                                    \
	X(DESTROY_AH, destroy_ah)                                                                  \
	X(ATTACH_MCAST, attach_mcast)                                                              \
	X(DETACH_MCAST, detach_mcast)                                                              \
	X(OPEN_XRCD, open_xrcd)                                                                    \
	X(CLOSE_XRCD, close_xrcd) /* EBUSY while used */                                           \
	X(CREATE_WQ, create_wq)                                                                    \
	X(MODIFY_WQ, modify_wq)                                                                    \
	X(DESTROY_WQ, destroy_wq)                                                                  \
	X(CREATE_IND, create_ind)                                                                  \
	X(DESTROY_IND, destroy_ind)                                                                \
	X(CREATE_FLOW, create_flow)                                                                \
	X(DESTROY_FLOW, destroy_flow)                                                              \
	X(CREATE_COUNTERS, create_counters)                                                        \
	X(DESTROY_COUNTERS, destroy_counters)                                                      \
	X(ATTACH_COUNTERS, attach_counters)                                                        \
	X(READ_COUNTERS, read_counters)                                                            \
	X(ALLOC_DM, alloc_dm)                                                                      \
	X(FREE_DM, free_dm) /* EBUSY while MRs use it */                                           \
	X(IMPORT, import) /* an object of another context */                                       \
	X(UNIMPORT, unimport) /* a PD */                                                           \
	X(CM_OPEN_CHAN, cm_open_chan)                                                              \
	X(CM_CLOSE_CHAN, cm_close_chan) /* EBUSY while used */                                     \
	X(CM_GET_EVENT, cm_get_event) /* handle: a channel's; EAGAIN when there is none */         \
	X(CM_CREATE_ID, cm_create_id)                                                              \
	X(CM_DESTROY_ID, cm_destroy_id)                                                            \
	X(CM_MIGRATE_ID, cm_migrate_id)                                                            \
	X(CM_BIND, cm_bind)                                                                        \
	X(CM_RESOLVE_ADDR, cm_resolve_addr)                                                        \
	X(CM_RESOLVE_ROUTE, cm_resolve_route)                                                      \
	X(CM_QUERY, cm_query)                                                                      \
	X(CM_SET_OPTION, cm_set_option)                                                            \
	X(CM_LISTEN, cm_listen)                                                                    \
	X(CM_CONNECT, cm_connect)                                                                  \
	X(CM_ACCEPT, cm_accept) /* also sends the RTU: rdma_establish(3) */                        \
	X(CM_REJECT, cm_reject)                                                                    \
	X(CM_DISCONNECT, cm_disconnect)                                                            \
	X(CM_NOTIFY, cm_notify)                                                                    \
	X(CM_INIT_QP_ATTR, cm_init_qp_attr)                                                        \
	X(CM_JOIN, cm_join)                                                                        \
	X(CM_LEAVE, cm_leave)                                                                      \
	X(CM_FIND_ADDR, cm_find_addr)

#endif
