/* SPDX-License-Identifier: MIT */
/**
 * DOC: every call of libibverbs and librdmacm that a trace may contain, as data.
 *
 * Theory of operation
 * -------------------
 * VCALLS(X) has a row for each call of the control path: its name, how it reports success or
 * failure, how programs reach it, and its arguments as (kind, name). Everything else follows from
 * the kinds: the C type (VA_kind), from which the recorder's wrappers and the replayer's calls are
 * generated, and the description (VD_kind), by which one walker (walk.c) writes a call as a line of
 * text and one parser (parse.c) reads it back:
 *
 *	ibv_create_qp pd=pd1 attr.send_cq=cq1 attr.cap.max_send_wr=1 ... = qp1 ...
 *
 * The words before " = " went in; after it stand the result and what came out. Structs are
 * flattened with dots. Fields stand in the order of their table (struct_*.c), and fields that are 0
 * are left out. A field that is valid only with a bit of a mask is read only if the bit is set. A
 * value that differs from run to run is written as "~"; the value itself is a fact (struct
 * vcall_fact), stored outside the line in the order of the "~".
 *
 * All arguments are kept in an array of 64-bit words, integers and pointers alike.
 */
#ifndef TRACES_CALLS_TABLE_H
#define TRACES_CALLS_TABLE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of objects: X(enum, name in the text, C type) */
#define VOBJS(X)                                                                                   \
	X(CTX, "ctx", struct ibv_context)                                                          \
	X(PD, "pd", struct ibv_pd)                                                                 \
	X(MR, "mr", struct ibv_mr)                                                                 \
	X(MW, "mw", struct ibv_mw)                                                                 \
	X(CQ, "cq", struct ibv_cq)                                                                 \
	X(SRQ, "srq", struct ibv_srq)                                                              \
	X(QP, "qp", struct ibv_qp)                                                                 \
	X(AH, "ah", struct ibv_ah)                                                                 \
	X(CH, "ch", struct ibv_comp_channel)                                                       \
	X(XRCD, "xrcd", struct ibv_xrcd)                                                           \
	X(TD, "td", struct ibv_td)                                                                 \
	X(DM, "dm", struct ibv_dm)                                                                 \
	X(WQ, "wq", struct ibv_wq)                                                                 \
	X(IND, "ind", struct ibv_rwq_ind_table)                                                    \
	X(FLOW, "flow", struct ibv_flow)                                                           \
	X(CNT, "counters", struct ibv_counters)                                                    \
	X(ID, "id", struct rdma_cm_id)                                                             \
	X(EVCH, "evch", struct rdma_event_channel)                                                 \
	X(EV, "ev", struct rdma_cm_event)

/* C types of results. */
#define VR_void	 void
#define VR_int	 int
#define VR_err	 int
#define VR_m1	 int
#define VR_rereg int
#define VR_count ssize_t
#define VR_index int
#define VR_fork	 enum ibv_fork_status
#define VR_devs	 struct ibv_device **
#define VR_ctxs	 struct ibv_context **
#define VR_ctx	 struct ibv_context *
#define VR_pd	 struct ibv_pd *
#define VR_mr	 struct ibv_mr *
#define VR_mw	 struct ibv_mw *
#define VR_cq	 struct ibv_cq *
#define VR_cq_ex struct ibv_cq_ex *
#define VR_srq	 struct ibv_srq *
#define VR_qp	 struct ibv_qp *
#define VR_ah	 struct ibv_ah *
#define VR_ch	 struct ibv_comp_channel *
#define VR_xrcd	 struct ibv_xrcd *
#define VR_td	 struct ibv_td *
#define VR_dm	 struct ibv_dm *
#define VR_wq	 struct ibv_wq *
#define VR_ind	 struct ibv_rwq_ind_table *
#define VR_flow	 struct ibv_flow *
#define VR_cnt	 struct ibv_counters *
#define VR_evch	 struct rdma_event_channel *

/*
 * C types of arguments. end_*: the call destroys the object. out_*: the call stores a pointer
 * there.
 */
#define VA_dev	    struct ibv_device *
#define VA_ctx	    struct ibv_context *
#define VA_end_ctx  struct ibv_context *
#define VA_pd	    struct ibv_pd *
#define VA_end_pd   struct ibv_pd *
#define VA_mr	    struct ibv_mr *
#define VA_end_mr   struct ibv_mr *
#define VA_mw	    struct ibv_mw *
#define VA_end_mw   struct ibv_mw *
#define VA_cq	    struct ibv_cq *
#define VA_end_cq   struct ibv_cq *
#define VA_out_cq   struct ibv_cq **
#define VA_srq	    struct ibv_srq *
#define VA_end_srq  struct ibv_srq *
#define VA_qp	    struct ibv_qp *
#define VA_end_qp   struct ibv_qp *
#define VA_end_ah   struct ibv_ah *
#define VA_ch	    struct ibv_comp_channel *
#define VA_end_ch   struct ibv_comp_channel *
#define VA_end_xrcd struct ibv_xrcd *
#define VA_end_td   struct ibv_td *
#define VA_dm	    struct ibv_dm *
#define VA_end_dm   struct ibv_dm *
#define VA_wq	    struct ibv_wq *
#define VA_end_wq   struct ibv_wq *
#define VA_end_ind  struct ibv_rwq_ind_table *
#define VA_flow	    struct ibv_flow *
#define VA_end_flow struct ibv_flow *
#define VA_cnt	    struct ibv_counters *
#define VA_end_cnt  struct ibv_counters *
#define VA_id	    struct rdma_cm_id *
#define VA_end_id   struct rdma_cm_id *
#define VA_out_id   struct rdma_cm_id **
#define VA_evch	    struct rdma_event_channel *
#define VA_end_evch struct rdma_event_channel *
#define VA_out_ev   struct rdma_cm_event **
#define VA_end_ev   struct rdma_cm_event *

#define VA_int	    int
#define VA_u8	    uint8_t
#define VA_u16	    uint16_t
#define VA_u32	    uint32_t
#define VA_u64	    uint64_t
#define VA_uint	    unsigned int
#define VA_size	    size_t
#define VA_handle   uint32_t /* differs from run to run */
#define VA_fd	    int /* a descriptor, which differs as well */
#define VA_addr	    void * /* the program's memory */
#define VA_iova	    uint64_t
#define VA_context  void * /* returned to the program unchanged: not recorded */
#define VA_access   int /* enum ibv_access_flags */
#define VA_uaccess  unsigned int
#define VA_rereg    int /* enum ibv_rereg_mr_flags */
#define VA_qpmask   int /* enum ibv_qp_attr_mask */
#define VA_srqmask  int /* enum ibv_srq_attr_mask */
#define VA_ps	    enum rdma_port_space
#define VA_event    enum ibv_event_type
#define VA_cmevent  enum rdma_cm_event_type
#define VA_mwtype   enum ibv_mw_type
#define VA_advice   enum ibv_advise_mr_advice
#define VA_wropcode enum ibv_wr_opcode
#define VA_str	    const char *
#define VA_out_int  int *
#define VA_out_u32  uint32_t *
#define VA_out_qpn  uint32_t *
#define VA_out_be16 __be16 *
#define VA_be16	    __be16
#define VA_gid	    const union ibv_gid *
#define VA_out_gid  union ibv_gid *
#define VA_sockaddr struct sockaddr *
/* Bytes and arrays; the next argument is their number. */
#define VA_bytes    const void *
#define VA_optval   void *
#define VA_out_u64s uint64_t *
#define VA_sges	    struct ibv_sge *
#define VA_out_gids struct ibv_gid_entry * /* the result is their number */

/* Structs. Their fields in struct_*.c say what goes in and what comes out. */
#define VA_event_get	  struct ibv_async_event *
#define VA_event_ack	  struct ibv_async_event *
#define VA_device_attr	  struct ibv_device_attr *
#define VA_query_input	  const struct ibv_query_device_ex_input *
#define VA_device_attr_ex struct ibv_device_attr_ex *
#define VA_port_attr	  struct ibv_port_attr *
#define VA_gid_entry	  struct ibv_gid_entry *
#define VA_values	  struct ibv_values_ex *
#define VA_td_attr	  struct ibv_td_init_attr *
#define VA_domain_attr	  struct ibv_parent_domain_init_attr *
#define VA_xrcd_attr	  struct ibv_xrcd_init_attr *
#define VA_mw_bind	  struct ibv_mw_bind *
#define VA_dm_attr	  struct ibv_alloc_dm_attr *
#define VA_cq_attr_ex	  struct ibv_cq_init_attr_ex *
#define VA_cq_mod	  struct ibv_modify_cq_attr *
#define VA_srq_init	  struct ibv_srq_init_attr *
#define VA_srq_init_ex	  struct ibv_srq_init_attr_ex *
#define VA_srq_set	  struct ibv_srq_attr * /* its mask is the next argument */
#define VA_srq_get	  struct ibv_srq_attr *
#define VA_qp_init	  struct ibv_qp_init_attr *
#define VA_qp_init_ex	  struct ibv_qp_init_attr_ex *
#define VA_qp_init_get	  struct ibv_qp_init_attr *
#define VA_qp_open	  struct ibv_qp_open_attr *
#define VA_qp_set	  struct ibv_qp_attr * /* its mask is the next argument */
#define VA_qp_get	  struct ibv_qp_attr * /* its mask is the next argument */
#define VA_qp_cm	  struct ibv_qp_attr * /* the next argument points to its mask */
#define VA_out_qpmask	  int *
#define VA_rate_limit	  struct ibv_qp_rate_limit_attr *
#define VA_ece_set	  struct ibv_ece *
#define VA_ece_get	  struct ibv_ece *
#define VA_ah_attr	  struct ibv_ah_attr *
#define VA_ah_get	  struct ibv_ah_attr *
#define VA_wc		  struct ibv_wc *
#define VA_grh		  struct ibv_grh *
#define VA_wq_init	  struct ibv_wq_init_attr *
#define VA_wq_set	  struct ibv_wq_attr *
#define VA_ind_init	  struct ibv_rwq_ind_table_init_attr *
#define VA_flow_attr	  struct ibv_flow_attr *
#define VA_cnt_attr	  struct ibv_counters_init_attr *
#define VA_cnt_attach	  struct ibv_counter_attach_attr *
#define VA_hints	  const struct rdma_addrinfo *
#define VA_addrinfo	  struct rdma_addrinfo *
#define VA_out_addrinfo	  struct rdma_addrinfo **
#define VA_conn_param	  struct rdma_conn_param *
#define VA_mc_attr	  struct rdma_cm_join_mc_attr_ex *

/*
 * VCALL_MAP(F, arguments...) - F(index, kind, name) for each argument of a row.
 */
#define VCALL_MAP(F, ...)			       VCALL_MAP_N(F, ##__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(F, ##__VA_ARGS__)
#define VCALL_MAP_N(F, a0, a1, a2, a3, a4, a5, n, ...) VCALL_MAP_##n
#define VCALL_STRIP(...)			       __VA_ARGS__
#define VCALL_AP_(F, ...)			       F(__VA_ARGS__)
#define VCALL_AP(F, i, a)			       VCALL_AP_(F, i, VCALL_STRIP a)
#define VCALL_MAP_0(F)
#define VCALL_MAP_1(F, a)		 VCALL_AP(F, 0, a)
#define VCALL_MAP_2(F, a, b)		 VCALL_MAP_1(F, a) VCALL_AP(F, 1, b)
#define VCALL_MAP_3(F, a, b, c)		 VCALL_MAP_2(F, a, b) VCALL_AP(F, 2, c)
#define VCALL_MAP_4(F, a, b, c, d)	 VCALL_MAP_3(F, a, b, c) VCALL_AP(F, 3, d)
#define VCALL_MAP_5(F, a, b, c, d, e)	 VCALL_MAP_4(F, a, b, c, d) VCALL_AP(F, 4, e)
#define VCALL_MAP_6(F, a, b, c, d, e, f) VCALL_MAP_5(F, a, b, c, d, e) VCALL_AP(F, 5, f)

/*
 * The calls of the control path: X(name, result, way, arguments...).
 *
 * Ways: SYM: an exported function. INL: an inline of verbs.h that calls a pointer in struct
 * verbs_context or ibv_context_ops; the recorder has the table of these. END: as SYM, but librdmacm
 * ends objects by it that the program knows, too. OWN: reached in a way of its own.
 *
 * A call that verbs.h turns into another one is recorded as the other: ibv_create_qp_ex() with
 * nothing but a PD is ibv_create_qp(). Not recorded are calls that only free a returned list or
 * read it (ibv_free_device_list(), ibv_get_device_name(), rdma_get_src_port(), the ..._str()).
 */
/* clang-format off */
#define VCALLS(X)                                                                                  \
	X(ibv_get_device_list, devs, OWN, (out_int, num_devices))                                  \
	X(ibv_open_device, ctx, SYM, (dev, device))                                                \
	X(ibv_close_device, m1, END, (end_ctx, context))                                           \
	X(ibv_import_device, ctx, SYM, (fd, cmd_fd))                                               \
	X(ibv_fork_init, err, SYM)                                                                 \
	X(ibv_is_fork_initialized, fork, SYM)                                                      \
	X(ibv_get_async_event, m1, SYM, (ctx, context), (event_get, event))                        \
	X(ibv_ack_async_event, void, SYM, (event_ack, event))                                      \
	X(ibv_query_device, err, SYM, (ctx, context), (device_attr, attr))                         \
	X(ibv_query_device_ex, err, OWN, (ctx, context), (query_input, input),                     \
	  (device_attr_ex, attr))                                                                  \
	X(ibv_query_port, err, SYM, (ctx, context), (u8, port_num), (port_attr, attr))             \
	X(ibv_query_gid, m1, SYM, (ctx, context), (u8, port_num), (int, index), (out_gid, gid))    \
	X(ibv_query_gid_ex, err, OWN, (ctx, context), (u32, port_num), (u32, gid_index),           \
	  (gid_entry, entry), (u32, flags))                                                        \
	X(ibv_query_gid_table, count, OWN, (ctx, context), (out_gids, entries),                    \
	  (size, max_entries), (u32, flags))                                                       \
	X(ibv_query_gid_type, m1, SYM, (ctx, context), (u8, port_num), (uint, index),              \
	  (out_u32, type))                                                                         \
	X(ibv_query_pkey, m1, SYM, (ctx, context), (u8, port_num), (int, index), (out_be16, pkey)) \
	X(ibv_get_pkey_index, index, SYM, (ctx, context), (u8, port_num), (be16, pkey))            \
	X(ibv_query_rt_values_ex, err, INL, (ctx, context), (values, values))                      \
	X(ibv_alloc_pd, pd, SYM, (ctx, context))                                                   \
	X(ibv_dealloc_pd, err, END, (end_pd, pd))                                                  \
	X(ibv_import_pd, pd, SYM, (ctx, context), (handle, pd_handle))                             \
	X(ibv_unimport_pd, void, SYM, (end_pd, pd))                                                \
	X(ibv_alloc_td, td, INL, (ctx, context), (td_attr, attr))                                  \
	X(ibv_dealloc_td, err, INL, (end_td, td))                                                  \
	X(ibv_alloc_parent_domain, pd, INL, (ctx, context), (domain_attr, attr))                   \
	X(ibv_open_xrcd, xrcd, INL, (ctx, context), (xrcd_attr, attr))                             \
	X(ibv_close_xrcd, err, INL, (end_xrcd, xrcd))                                              \
	X(ibv_reg_mr, mr, SYM, (pd, pd), (addr, addr), (size, length), (access, access))           \
	X(ibv_reg_mr_iova, mr, SYM, (pd, pd), (addr, addr), (size, length), (iova, iova),          \
	  (access, access))                                                                        \
	X(ibv_reg_mr_iova2, mr, SYM, (pd, pd), (addr, addr), (size, length), (iova, iova),         \
	  (uaccess, access))                                                                       \
	X(ibv_reg_dmabuf_mr, mr, SYM, (pd, pd), (u64, offset), (size, length), (iova, iova),       \
	  (fd, fd), (access, access))                                                              \
	X(ibv_reg_dm_mr, mr, INL, (pd, pd), (dm, dm), (u64, dm_offset), (size, length),            \
	  (uaccess, access))                                                                       \
	X(ibv_alloc_null_mr, mr, INL, (pd, pd))                                                    \
	X(ibv_import_mr, mr, SYM, (pd, pd), (handle, mr_handle))                                   \
	X(ibv_unimport_mr, void, SYM, (end_mr, mr))                                                \
	X(ibv_rereg_mr, rereg, SYM, (mr, mr), (rereg, flags), (pd, pd), (addr, addr),              \
	  (size, length), (access, access))                                                        \
	X(ibv_dereg_mr, err, SYM, (end_mr, mr))                                                    \
	X(ibv_advise_mr, err, INL, (pd, pd), (advice, advice), (u32, flags), (sges, sg_list),      \
	  (u32, num_sge))                                                                          \
	X(ibv_alloc_mw, mw, INL, (pd, pd), (mwtype, type))                                         \
	X(ibv_dealloc_mw, err, INL, (end_mw, mw))                                                  \
	X(ibv_bind_mw, err, INL, (qp, qp), (mw, mw), (mw_bind, bind))                              \
	X(ibv_alloc_dm, dm, INL, (ctx, context), (dm_attr, attr))                                  \
	X(ibv_free_dm, err, INL, (end_dm, dm))                                                     \
	X(ibv_import_dm, dm, SYM, (ctx, context), (handle, dm_handle))                             \
	X(ibv_unimport_dm, void, SYM, (end_dm, dm))                                                \
	X(ibv_create_comp_channel, ch, SYM, (ctx, context))                                        \
	X(ibv_destroy_comp_channel, err, SYM, (end_ch, channel))                                   \
	X(ibv_create_cq, cq, SYM, (ctx, context), (int, cqe), (context, cq_context),               \
	  (ch, channel), (int, comp_vector))                                                       \
	X(ibv_create_cq_ex, cq_ex, INL, (ctx, context), (cq_attr_ex, attr))                        \
	X(ibv_resize_cq, err, SYM, (cq, cq), (int, cqe))                                           \
	X(ibv_modify_cq, err, INL, (cq, cq), (cq_mod, attr))                                       \
	X(ibv_destroy_cq, err, SYM, (end_cq, cq))                                                  \
	X(ibv_create_srq, srq, SYM, (pd, pd), (srq_init, attr))                                    \
	X(ibv_create_srq_ex, srq, INL, (ctx, context), (srq_init_ex, attr))                        \
	X(ibv_modify_srq, err, SYM, (srq, srq), (srq_set, attr), (srqmask, attr_mask))             \
	X(ibv_query_srq, err, SYM, (srq, srq), (srq_get, attr))                                    \
	X(ibv_get_srq_num, err, INL, (srq, srq), (out_qpn, srq_num))                               \
	X(ibv_destroy_srq, err, SYM, (end_srq, srq))                                               \
	X(ibv_create_qp, qp, SYM, (pd, pd), (qp_init, attr))                                       \
	X(ibv_create_qp_ex, qp, INL, (ctx, context), (qp_init_ex, attr))                           \
	X(ibv_open_qp, qp, INL, (ctx, context), (qp_open, attr))                                   \
	X(ibv_modify_qp, err, SYM, (qp, qp), (qp_set, attr), (qpmask, attr_mask))                  \
	X(ibv_modify_qp_rate_limit, err, INL, (qp, qp), (rate_limit, attr))                        \
	X(ibv_query_qp, err, SYM, (qp, qp), (qp_get, attr), (qpmask, attr_mask),                   \
	  (qp_init_get, init_attr))                                                                \
	X(ibv_query_qp_data_in_order, int, SYM, (qp, qp), (wropcode, op), (u32, flags))            \
	X(ibv_query_ece, err, SYM, (qp, qp), (ece_get, ece))                                       \
	X(ibv_set_ece, err, SYM, (qp, qp), (ece_set, ece))                                         \
	X(ibv_destroy_qp, err, SYM, (end_qp, qp))                                                  \
	X(ibv_create_ah, ah, SYM, (pd, pd), (ah_attr, attr))                                       \
	X(ibv_init_ah_from_wc, m1, SYM, (ctx, context), (u8, port_num), (wc, wc), (grh, grh),      \
	  (ah_get, attr))                                                                          \
	X(ibv_create_ah_from_wc, ah, SYM, (pd, pd), (wc, wc), (grh, grh), (u8, port_num))          \
	X(ibv_destroy_ah, err, SYM, (end_ah, ah))                                                  \
	X(ibv_attach_mcast, err, SYM, (qp, qp), (gid, gid), (u16, lid))                            \
	X(ibv_detach_mcast, err, SYM, (qp, qp), (gid, gid), (u16, lid))                            \
	X(ibv_create_wq, wq, INL, (ctx, context), (wq_init, attr))                                 \
	X(ibv_modify_wq, err, INL, (wq, wq), (wq_set, attr))                                       \
	X(ibv_destroy_wq, err, INL, (end_wq, wq))                                                  \
	X(ibv_create_rwq_ind_table, ind, INL, (ctx, context), (ind_init, attr))                    \
	X(ibv_destroy_rwq_ind_table, err, INL, (end_ind, table))                                   \
	X(ibv_create_flow, flow, INL, (qp, qp), (flow_attr, attr))                                 \
	X(ibv_destroy_flow, err, INL, (end_flow, flow))                                            \
	X(ibv_create_counters, cnt, INL, (ctx, context), (cnt_attr, attr))                         \
	X(ibv_destroy_counters, err, INL, (end_cnt, counters))                                     \
	X(ibv_attach_counters_point_flow, err, INL, (cnt, counters), (cnt_attach, attr),           \
	  (flow, flow))                                                                            \
	X(ibv_read_counters, err, INL, (cnt, counters), (out_u64s, values), (u32, ncounters),      \
	  (u32, flags))                                                                            \
	X(rdma_create_event_channel, evch, SYM)                                                    \
	X(rdma_destroy_event_channel, void, SYM, (end_evch, channel))                              \
	X(rdma_create_id, m1, SYM, (evch, channel), (out_id, id), (context, context), (ps, ps))    \
	X(rdma_destroy_id, m1, SYM, (end_id, id))                                                  \
	X(rdma_migrate_id, m1, SYM, (id, id), (evch, channel))                                     \
	X(rdma_get_devices, ctxs, OWN, (out_int, num_devices))                                     \
	X(rdma_getaddrinfo, m1, SYM, (str, node), (str, service), (hints, hints),                  \
	  (out_addrinfo, res))                                                                     \
	X(rdma_bind_addr, m1, SYM, (id, id), (sockaddr, addr))                                     \
	X(rdma_resolve_addr, m1, SYM, (id, id), (sockaddr, src_addr), (sockaddr, dst_addr),        \
	  (int, timeout_ms))                                                                       \
	X(rdma_resolve_route, m1, SYM, (id, id), (int, timeout_ms))                                \
	X(rdma_create_ep, m1, SYM, (out_id, id), (addrinfo, res), (pd, pd), (qp_init, attr))       \
	X(rdma_destroy_ep, void, SYM, (end_id, id))                                                \
	X(rdma_get_request, m1, SYM, (id, listen), (out_id, id))                                   \
	X(rdma_listen, m1, SYM, (id, id), (int, backlog))                                          \
	X(rdma_connect, m1, SYM, (id, id), (conn_param, param))                                    \
	X(rdma_accept, m1, SYM, (id, id), (conn_param, param))                                     \
	X(rdma_establish, m1, SYM, (id, id))                                                       \
	X(rdma_reject, m1, SYM, (id, id), (bytes, private_data), (u8, private_data_len))           \
	X(rdma_reject_ece, m1, SYM, (id, id), (bytes, private_data), (u8, private_data_len))       \
	X(rdma_disconnect, m1, SYM, (id, id))                                                      \
	X(rdma_notify, m1, SYM, (id, id), (event, event))                                          \
	X(rdma_get_cm_event, m1, SYM, (evch, channel), (out_ev, event))                            \
	X(rdma_ack_cm_event, m1, SYM, (end_ev, event))                                             \
	X(rdma_create_qp, m1, SYM, (id, id), (pd, pd), (qp_init, attr))                            \
	X(rdma_create_qp_ex, m1, SYM, (id, id), (qp_init_ex, attr))                                \
	X(rdma_destroy_qp, void, SYM, (id, id))                                                    \
	X(rdma_init_qp_attr, m1, SYM, (id, id), (qp_cm, attr), (out_qpmask, attr_mask))            \
	X(rdma_create_srq, m1, SYM, (id, id), (pd, pd), (srq_init, attr))                          \
	X(rdma_create_srq_ex, m1, SYM, (id, id), (srq_init_ex, attr))                              \
	X(rdma_destroy_srq, void, SYM, (id, id))                                                   \
	X(rdma_join_multicast, m1, SYM, (id, id), (sockaddr, addr), (context, context))            \
	X(rdma_join_multicast_ex, m1, SYM, (id, id), (mc_attr, attr), (context, context))          \
	X(rdma_leave_multicast, m1, SYM, (id, id), (sockaddr, addr))                               \
	X(rdma_set_option, m1, SYM, (id, id), (int, level), (int, optname), (optval, optval),      \
	  (size, optlen))                                                                          \
	X(rdma_set_local_ece, m1, SYM, (id, id), (ece_set, ece))                                   \
	X(rdma_get_remote_ece, m1, SYM, (id, id), (ece_get, ece))
/* clang-format on */

#endif
